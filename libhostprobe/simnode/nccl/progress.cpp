// See progress.h.
#include "progress.h"

#include "communicator.h"
#include "driver.h"
#include "node/clock.h"
#include "node/priority.h"

#include <sched.h>
#include <algorithm>

namespace simnode::nccl {

namespace {

constexpr int kMovesOfARound = 4;  // all stages of a chunk, but never a whole collective without a yield
constexpr int kYieldRounds = 40;   // fruitless rounds of pure polling; then rounds get rarer
constexpr int64_t kLastSpinNs = 50000;
constexpr int64_t kFirstRestNs = 20000;
constexpr int64_t kLongestRestNs = 5000000;  // a bell ends a rest, so this only bounds how late an abort is seen

// As a thread that does not get a CPU: no call that a tool could take for a wait. It spins at the end, for a sleep alone
// ends late.
void lose_time(int64_t ns) {
  int64_t until = now_ns() + ns, awake = until - kLastSpinNs;
  std::atomic<uint32_t> never{0};
  while (now_ns() < awake) shared_wait(never, 0, awake);
  spin_until(until);
}

}  // namespace

bool Progress::start() { return thread_.start(run_thread, this); }

void* Progress::run_thread(void* self) {
  auto* progress = static_cast<Progress*>(self);
  name_this_thread("NCCL Progress%2d", progress->communicator_.device());
  // A thread whose lateness is planted is to be as late as that, and no later for what the neighbours do.
  if (settings().faults.has(FaultKind::kProxyDelay, progress->communicator_.world_rank()))
    run_as_device();
  else
    run_in_short_slices();
  progress->loop();
  return nullptr;
}

void Progress::stop() {
  posted_.lock();
  stopping_ = true;
  posted_.signal();
  posted_.unlock();
  if (communicator_.segment().fd() >= 0) communicator_.segment().ring(communicator_.rank());
  thread_.join();
  // Whatever is left never moves again; kernels that still begin see that the thread has gone.
  posted_.lock();
  for (auto& run : runs_) finish(run);
  for (auto& run : graph_runs_) finish(run);
  runs_.clear();
  graph_runs_.clear();
  posted_.unlock();
}

void Progress::finish(const std::shared_ptr<Run>& run) {
  run->end_ns = std::max(run->end_ns, run->start_ns);
  run->state.store(Run::kDone, std::memory_order_release);
  shared_wake(run->state);
}

void Progress::post(const std::shared_ptr<Run>& run) {
  posted_.lock();
  if (stopping_)
    finish(run);
  else
    runs_.push_back(run);
  posted_.signal();
  posted_.unlock();
}

void Progress::post_begun(const std::shared_ptr<Run>& run) {
  posted_.lock();
  if (stopping_)
    finish(run);
  else
    graph_runs_.push_back(run);
  posted_.signal();
  posted_.unlock();
  communicator_.segment().ring(communicator_.rank());
}

void Progress::take_back(const std::shared_ptr<Run>& run) {
  posted_.lock();
  std::erase(runs_, run);
  finish(run);
  posted_.signal();
  posted_.unlock();
}

void Progress::begin_and_wait(Run& run, int64_t start_ns) {
  uint32_t posted = Run::kPosted;
  run.start_ns = start_ns;
  if (run.state.compare_exchange_strong(posted, Run::kBegun, std::memory_order_acq_rel))
    communicator_.segment().ring(communicator_.rank());
  uint32_t state;
  while ((state = run.state.load(std::memory_order_acquire)) != Run::kDone) shared_wait(run.state, state, -1);
}

void Progress::drain() {
  posted_.lock();
  while (!runs_.empty() || !graph_runs_.empty()) posted_.wait();
  posted_.unlock();
}

// The run to work on: one that is under way, else a graph's, else the first posted if its kernel has begun. With the lock.
std::shared_ptr<Run> Progress::current() {
  if (current_ != nullptr) return current_;
  if (!graph_runs_.empty()) return current_ = graph_runs_.front();
  if (!runs_.empty() && runs_.front()->state.load(std::memory_order_acquire) == Run::kBegun) current_ = runs_.front();
  return current_;
}

// What one poll round finds to do; returns whether anything moved.
bool Progress::look(Run& run, int64_t* until_ns) {
  bool moved = false;
  for (int i = 0; i < kMovesOfARound && !finished(run) && advance(communicator_, run, until_ns); ++i) moved = true;
  return moved;
}

// As NCCL between polls: give the CPU away. Where ranks outnumber CPUs that alone would starve those who could make
// progress, so after a while this sleeps until somebody rings.
void Progress::rest(int fruitless, int64_t until_ns, uint32_t bell) {
  sched_yield();
  if (fruitless < kYieldRounds) return;
  int64_t longest = std::min(kFirstRestNs << std::min((fruitless - kYieldRounds) / 4, 8), kLongestRestNs);
  int64_t until = now_ns() + longest;
  if (until_ns > 0) until = std::min(until, until_ns);
  communicator_.segment().sleep(communicator_.rank(), bell, until);
}

// A round that was late looks at what there is at its end: what began in it is not another round late.
std::shared_ptr<Run> Progress::begun_meanwhile() {
  posted_.lock();
  std::shared_ptr<Run> run = current();
  posted_.unlock();
  return run;
}

void Progress::loop() {
  int fruitless = 0;
  posted_.lock();
  while (!stopping_) {
    if (runs_.empty() && graph_runs_.empty()) {
      posted_.wait();
      continue;
    }
    std::shared_ptr<Run> run = current();
    posted_.unlock();
    uint32_t bell = communicator_.segment().rank(communicator_.rank()).bell.load(std::memory_order_seq_cst);
    int64_t until_ns = -1;
    double late_us = fault_amount(FaultKind::kProxyDelay, communicator_.world_rank(), now_ns());
    bool polls = late_us <= 0 || run == nullptr || waits_for_polls(*run);
    if (late_us > 0 && polls) lose_time(static_cast<int64_t>(late_us * 1000));
    if (late_us > 0 && run == nullptr) run = begun_meanwhile();
    bool moved = run != nullptr && look(*run, &until_ns);
    bool done = run != nullptr && finished(*run);
    fruitless = moved ? 0 : fruitless + 1;
    // A late thread does not delay what its polls are not needed for: others ring when that is due.
    if (!done && !polls) communicator_.segment().sleep(communicator_.rank(), bell, now_ns() + kLongestRestNs);
    if (!done && polls) rest(fruitless, until_ns, bell);
    posted_.lock();
    if (!done) continue;
    std::erase(runs_, run);
    graph_runs_.remove(run);
    current_ = nullptr;
    finish(run);
    posted_.signal();
  }
  posted_.unlock();
}

}  // namespace simnode::nccl
