// taken_cpus.h: work that is a loss takes a CPU while it is done, and who lacks one meanwhile lacks it by that work.
//
// Room 3. Without the work it would have that CPU: so what it loses is that cause's, and not a lack of CPUs by itself. The same goes for the thread
// that does the work, which would need no CPU. Only of the cause that loses most, and more than the lack: beside little work
// others took the CPUs.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "answer/step_time.h"
#include "lost_parts.h"
#include "step_time_member.h"

namespace hostprobe::analysis {

class TakenCpus {
 public:
  explicit TakenCpus(const std::vector<StepTimeMember>& members) : members_(members) {}

  // What each rank lost in a step, and what it lost while nobody waited for it.
  void add_step(const std::vector<std::vector<LostPart>>& ranks) { add(ranks, true); }
  void add_hidden(const std::vector<std::vector<LostPart>>& ranks) { add(ranks, false); }
  // When all are added.
  void move_lacks(StepTime& time);

 private:
  struct Work {
    Window window;
    double ns;  // of it, on a CPU
    const HostThread* thread;
    std::uint32_t member;
  };
  struct Lack {
    Window window;
    double ns;  // of it
    Cause cause;
    const HostThread* thread;
    std::uint32_t member, sits_on;
  };
  using Place = std::pair<Cause, std::uint32_t>;  // of a lack, and the rank on which it sits

  void add(const std::vector<std::vector<LostPart>>& ranks, bool is_waited_for);
  bool may_use_the_same(const Work& work, const Lack& lack) const;
  double taken_ns(const Lack& lack, const std::vector<Work>& by, double longest_ns) const;
  std::map<Place, double> taken_by(Cause cause) const;

  const std::vector<StepTimeMember>& members_;
  std::map<Cause, std::vector<Work>> work_;
  std::vector<Lack> lacks_;
};

}  // namespace hostprobe::analysis
