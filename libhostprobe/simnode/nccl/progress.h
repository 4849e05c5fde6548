// The "NCCL Progress" thread of a communicator. It moves the chunks of the run that is on: with something to do it polls
// (sched_yield between rounds, as NCCL), with nothing it sleeps in a condition wait until a launch posts a run.
#pragma once
#include "thread.h"
#include "work.h"

#include <deque>
#include <list>

namespace simnode::nccl {

class Progress {
 public:
  explicit Progress(Communicator& communicator) : communicator_(communicator) {}
  bool start();
  void stop();  // finishes whatever is posted, at once, and joins

  // At launch: the run waits until its kernel begins. Runs begin in the order in which they were posted.
  void post(const std::shared_ptr<Run>& run);
  // From a graph's launch: begun at once, whatever is posted.
  void post_begun(const std::shared_ptr<Run>& run);
  // A launch that failed: takes back the run posted last.
  void take_back(const std::shared_ptr<Run>& run);
  // The kernel starts on its stream: returns when the run is done.
  void begin_and_wait(Run& run, int64_t start_ns);
  // Until nothing is posted; for destroy.
  void drain();

 private:
  static void* run_thread(void* self) __asm__("ncclProxyProgress");  // thread functions have NCCL's symbol names
  void loop();
  std::shared_ptr<Run> current();
  std::shared_ptr<Run> begun_meanwhile();
  void finish(const std::shared_ptr<Run>& run);
  bool look(Run& run, int64_t* until_ns);
  void rest(int fruitless, int64_t until_ns, uint32_t bell);

  Communicator& communicator_;
  Thread thread_;
  WaitPoint posted_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<Run>> runs_;
  std::list<std::shared_ptr<Run>> graph_runs_;
  std::shared_ptr<Run> current_;
};

// One poll round for the run; returns whether anything moved. `until_ns` becomes when to look again, if that is known.
bool advance(Communicator& communicator, Run& run, int64_t* until_ns);
bool finished(const Run& run);
// Whether its next stage costs poll rounds of this rank. The last stages of a collective are the devices' alone.
bool waits_for_polls(const Run& run);

}  // namespace simnode::nccl
