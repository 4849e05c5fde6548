// activity_cause.cpp: see activity_cause.h.
#include "activity_cause.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace hostprobe::analysis {
namespace {

// Which call an id names.
struct CallPlace {
  std::uint64_t correlation = 0;
  std::int64_t begin_ns = 0;
  std::uint32_t process = 0;
  std::uint32_t call = 0;
};

bool is_before(const CallPlace& l, const CallPlace& r) {
  return std::tie(l.correlation, l.begin_ns, l.process) < std::tie(r.correlation, r.begin_ns, r.process);
}

using Places = std::vector<CallPlace>;

// How well the calls of one process fit the work that a profile has under one process id.
struct Fit {
  std::uint64_t alone = 0;   // work whose id no other process has
  std::uint64_t before = 0;  // work that began before the call
  double delay_ns = 0;       // from calls to work, in all

  bool is_better_than(const Fit& other) const {
    if (alone != other.alone) return alone > other.alone;
    return before != other.before ? before < other.before : delay_ns < other.delay_ns;
  }
};

class Causes {
 public:
  explicit Causes(const std::vector<ProfileProcess*>& processes) {
    std::size_t most = 0, callers = 0;
    for (std::uint32_t p = 0; p < processes.size(); ++p) {
      const std::vector<ProfileCall>& calls = processes[p]->calls;
      callers += calls.empty() ? 0 : 1;
      if (calls.size() > most) fallback_ = p;
      most = std::max(most, calls.size());
      for (std::uint32_t c = 0; c < calls.size(); ++c)
        if (calls[c].correlation != 0) places_.push_back({calls[c].correlation, calls[c].span.begin_ns, p, c});
    }
    std::sort(places_.begin(), places_.end(), is_before);
    may_clash_ = callers > 1;
  }

  // Before of() is asked.
  void learn(const std::vector<ProfileActivity>& activities) {
    if (!may_clash_) return;
    for (const ProfileActivity& activity : activities) add_fit(activity);
    for (const auto& [owner_and_process, fit] : fits_) {
      const auto [owner, process] = owner_and_process;
      const auto best = owners_.try_emplace(owner, process).first;
      if (fit.is_better_than(fits_.at({owner, best->second}))) best->second = process;
    }
  }

  ActivityCause of(const ProfileActivity& activity) const {
    if (may_clash_)
      if (const auto owner = owners_.find(activity.owner); owner != owners_.end())
        if (const CallPlace* own = last_before(activity, owner->second)) return {own->process, own->call};
    const CallPlace wanted{activity.correlation, activity.span.begin_ns, kNoCall, 0};
    auto found = std::upper_bound(places_.begin(), places_.end(), wanted, is_before);
    if (found != places_.begin() && std::prev(found)->correlation == activity.correlation) --found;
    if (activity.correlation == 0 || found == places_.end() || found->correlation != activity.correlation)
      return {fallback_, kNoCall};
    return {found->process, found->call};
  }

 private:
  std::pair<Places::const_iterator, Places::const_iterator> of_id(std::uint64_t correlation) const {
    if (correlation == 0) return {places_.end(), places_.end()};
    const auto is_less = [](const CallPlace& l, const CallPlace& r) { return l.correlation < r.correlation; };
    return std::equal_range(places_.begin(), places_.end(), CallPlace{correlation, 0, 0, 0}, is_less);
  }

  // The process's last call of that id before the work; nullptr: it has none.
  const CallPlace* last_before(const ProfileActivity& activity, std::uint32_t process) const {
    const CallPlace* last = nullptr;
    const auto [begin, end] = of_id(activity.correlation);
    for (auto at = begin; at != end && at->begin_ns <= activity.span.begin_ns; ++at)
      if (at->process == process) last = &*at;
    return last;
  }

  void add_fit(const ProfileActivity& activity) {
    const auto [begin, end] = of_id(activity.correlation);
    std::map<std::uint32_t, const CallPlace*> last;  // by process
    for (auto at = begin; at != end; ++at) {
      const CallPlace*& own = last.try_emplace(at->process, nullptr).first->second;
      if (at->begin_ns <= activity.span.begin_ns) own = &*at;
    }
    for (const auto& [process, place] : last) {
      Fit& fit = fits_[{activity.owner, process}];
      fit.alone += last.size() == 1 ? 1 : 0;
      fit.before += place == nullptr ? 1 : 0;
      if (place != nullptr) fit.delay_ns += static_cast<double>(activity.span.begin_ns - place->begin_ns);
    }
  }

  Places places_;
  std::uint32_t fallback_ = 0;
  bool may_clash_ = false;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Fit> fits_;  // by owner of work and process
  std::map<std::uint32_t, std::uint32_t> owners_;                // process whose calls made an owner's work
};

}  // namespace

std::vector<ActivityCause> causes_of(const std::vector<ProfileActivity>& activities,
                                     const std::vector<ProfileProcess*>& processes) {
  Causes all(processes);
  all.learn(activities);
  std::vector<ActivityCause> causes;
  causes.reserve(activities.size());
  for (const ProfileActivity& activity : activities) causes.push_back(all.of(activity));
  return causes;
}

}  // namespace hostprobe::analysis
