// taken_cpus.cpp: see taken_cpus.h.
#include "taken_cpus.h"

#include <algorithm>

#include "analysis/measures/run_delay.h"
#include "analysis/transfers/lost_share.h"
#include "model/window.h"

namespace hostprobe::analysis {
namespace {

// Of which a thread's own work is a part. Where it waits instead, it takes no CPU.
bool is_of_work(Cause cause) {
  switch (cause) {
    case Cause::kHostWork:
    case Cause::kPythonOverhead:
    case Cause::kJitCompile:
    case Cause::kGcPause:
    case Cause::kPageFaults:
    case Cause::kLaunchBound:
    case Cause::kLockContention:
    case Cause::kGilContention:
    case Cause::kProducerWait:
    case Cause::kDataloaderWait:
      return true;
    default:
      return false;
  }
}

const HostThread* worker_of(const LostPart& part) {
  return part.spot.holder != nullptr ? part.spot.holder : part.spot.thread;
}

double lacks_ns(const StepTime& time) {
  double ns = 0;
  for (const LostTime& lost : time.lost)
    if (is_lack_of_cpu(lost.cause)) ns += lost.ns;
  return ns;
}

// The cause that loses most, where it is one of work and loses more than all lacks of CPUs. kUnexplained: there is none.
Cause heaviest_work(const StepTime& time) {
  std::map<Cause, double> ns;
  for (const LostTime& lost : time.lost)
    if (is_of_work(lost.cause)) ns[lost.cause] += lost.ns;
  const auto most =
      std::max_element(ns.begin(), ns.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
  return most == ns.end() || most->second < lacks_ns(time) ? Cause::kUnexplained : most->first;
}

// The piece of that cause that is waited for most.
LostTime* most_of(StepTime& time, Cause cause) {
  LostTime* most = nullptr;
  for (LostTime& lost : time.lost)
    if (lost.cause == cause && (most == nullptr || lost.ns > most->ns)) most = &lost;
  return most;
}

}  // namespace

void TakenCpus::add(const std::vector<std::vector<LostPart>>& ranks, bool is_waited_for) {
  for (std::uint32_t i = 0; i < ranks.size(); ++i)
    for (const LostPart& part : ranks[i]) {
      const HostThread* thread = worker_of(part);
      if (part.waits || part.is_repeated || part.on_gpu || thread == nullptr) continue;
      const Window& window = part.own_window();
      if (is_lack_of_cpu(part.cause) && is_waited_for)
        lacks_.push_back({window, part.ns, part.cause, thread, i, part.member});
      if (!is_of_work(part.cause) || window.length_ns() <= 0) continue;
      const double on_cpu = std::max(0.0, 1 - thread->in_calls_ns(window) / window.length_ns());
      if (on_cpu > 0) work_[part.cause].push_back({window, on_cpu * part.ns, thread, i});
    }
}

// Threads of one host that may use as many CPUs may use the same.
bool TakenCpus::may_use_the_same(const Work& work, const Lack& lack) const {
  const ProcessAnswer &l = *members_[work.member].answer, &r = *members_[lack.member].answer;
  return l.host == r.host && l.boot_id == r.boot_id && work.thread->track != nullptr && lack.thread->track != nullptr &&
         work.thread->track->thread->entry.cpus == lack.thread->track->thread->entry.cpus;
}

// `by`: by begin.
double TakenCpus::taken_ns(const Lack& lack, const std::vector<Work>& by, double longest_ns) const {
  const double length_ns = lack.window.length_ns();
  if (length_ns <= 0) return 0;
  double others_ns = 0, own_ns = 0;
  auto work = std::lower_bound(by.begin(), by.end(), lack.window.begin_ns - longest_ns,
                               [](const Work& one, double ns) { return one.window.begin_ns < ns; });
  for (; work != by.end() && work->window.begin_ns < lack.window.end_ns; ++work) {
    const double taken_ns = work->ns * inside_ns(work->window, lack.window) / work->window.length_ns();
    if (taken_ns <= 0 || !may_use_the_same(*work, lack)) continue;
    (work->thread == lack.thread ? own_ns : others_ns) += taken_ns;
  }
  // Its own work, which would need no CPU: of the time in which it had one.
  const double own = own_ns > 0 ? own_ns / std::max(own_ns, length_ns - lack.ns) : 0;
  return lack.ns * std::min(1.0, std::max(own, others_ns / length_ns));
}

std::map<TakenCpus::Place, double> TakenCpus::taken_by(Cause cause) const {
  std::map<Place, double> taken;
  const auto found = work_.find(cause);
  if (found == work_.end()) return taken;
  std::vector<Work> by = found->second;
  std::sort(by.begin(), by.end(), [](const Work& l, const Work& r) { return l.window.begin_ns < r.window.begin_ns; });
  double longest_ns = 0;
  for (const Work& work : by) longest_ns = std::max(longest_ns, work.window.length_ns());
  for (const Lack& lack : lacks_) taken[{lack.cause, lack.sits_on}] += taken_ns(lack, by, longest_ns);
  return taken;
}

void TakenCpus::move_lacks(StepTime& time) {
  const Cause cause = heaviest_work(time);
  LostTime* to = cause == Cause::kUnexplained ? nullptr : most_of(time, cause);
  if (to == nullptr) return;
  double moved_ns = 0;
  std::map<Place, double> all, taken = taken_by(cause);
  for (const Lack& lack : lacks_) all[{lack.cause, lack.sits_on}] += lack.ns;
  for (LostTime& lost : time.lost) {
    const Place place{lost.cause, lost.member};
    if (!is_lack_of_cpu(lost.cause) || all[place] <= 0) continue;
    const double part = std::min(1.0, taken[place] / all[place]);
    moved_ns += part * lost.ns;
    move_share(part, lost, *to);
  }
  if (moved_ns <= 0) return;
  if (const auto gain = time.gains.find(cause); gain != time.gains.end())
    for (double* ns : {&gain->second.ns, &gain->second.low_ns, &gain->second.high_ns}) *ns += moved_ns;
  std::erase_if(time.lost, [](const LostTime& lost) { return is_lack_of_cpu(lost.cause) && lost.ns <= 0; });
  std::stable_sort(time.lost.begin(), time.lost.end(),
                   [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
}

}  // namespace hostprobe::analysis
