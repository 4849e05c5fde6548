// wait_slopes.cpp: see wait_slopes.h.
#include "wait_slopes.h"

#include <algorithm>
#include <cmath>

#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFewest = 8;  // posts, of which a slope can be told

// Since the post before: when the waiter came, and when it was woken.
struct Wait {
  double came_ns, woken_ns;
};

// Of one pair of threads.
struct Pair {
  double before_ns = 0;
  std::size_t own_waits = 0;
  std::vector<Wait> waits;

  double slope() {
    if (2 * own_waits > waits.size()) return 0;
    if (waits.size() < kFewest) return 1;
    leave_out_later_posts();
    const auto count = static_cast<double>(waits.size());
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const Wait& wait : waits) {
      x += wait.came_ns, y += wait.woken_ns;
      xx += wait.came_ns * wait.came_ns, xy += wait.came_ns * wait.woken_ns;
    }
    const double spread = xx - x * x / count;
    // Within a microsecond it always came at the same moment.
    return spread < 1e6 * count ? 1 : std::clamp((xy - x * y / count) / spread, 0.0, 1.0);
  }

 private:
  // A post that nobody waited for leaves no record: then two are further apart, and the waiter comes later by as much, whatever the
  // other thread does.
  void leave_out_later_posts() {
    constexpr double kFurther = 1.5;
    const auto by_coming = [](const Wait& l, const Wait& r) { return l.came_ns < r.came_ns; };
    std::sort(waits.begin(), waits.end(), by_coming);
    const Wait last{kFurther * waits[waits.size() / 4].came_ns, 0};
    const auto end = std::upper_bound(waits.begin(), waits.end(), last, by_coming);
    waits.resize(std::max<std::size_t>(kFewest, static_cast<std::size_t>(end - waits.begin())));
  }
};

// What the driver's threads and NCCL's do follows from the GPU's work and from transfers, which have places of their own in the graph.
bool serves_gpu(const HostThread& thread) {
  const Role role = thread.track == nullptr ? Role::kOther : thread.track->role;
  return role == Role::kCudaInternal || role == Role::kNcclProgress || role == Role::kNcclService ||
         role == Role::kNcclOther;
}

// A wait for a thread that is known, between the two moments.
bool has_waited(const HostThread& thread, double from_ns, double until_ns) {
  for (std::ptrdiff_t i = thread.call_at(until_ns); i >= 0; --i) {
    const HostCall& call = thread.calls[static_cast<std::size_t>(i)];
    if (call.end_ns <= from_ns) return false;
    if (call.type == HostCallType::kWait && call.end_ns <= until_ns) return true;
  }
  return false;
}

}  // namespace

WaitSlopes::WaitSlopes(const PathGraph& graph) {
  std::map<std::pair<std::int32_t, std::int32_t>, Pair> pairs;
  for (std::size_t own = 0; own < graph.host.threads.size(); ++own)
    for (const HostCall& call : graph.host.threads[own].calls) {
      if (call.type != HostCallType::kWait || call.waker < 0) continue;
      Pair& pair = pairs[{static_cast<std::int32_t>(own), call.waker}];
      if (pair.before_ns > 0 && call.begin_ns >= pair.before_ns) {
        pair.waits.push_back({call.begin_ns - pair.before_ns, call.post_ns - pair.before_ns});
        pair.own_waits +=
            has_waited(graph.host.threads[static_cast<std::size_t>(call.waker)], pair.before_ns, call.post_ns);
      }
      pair.before_ns = call.post_ns;
    }
  for (auto& [threads, pair] : pairs)
    slopes_[threads] = serves_gpu(graph.host.threads[static_cast<std::size_t>(threads.second)]) ? 1 : pair.slope();
}

std::vector<WaitSlopes> wait_slopes(const std::vector<PathGraph>& parts) {
  std::vector<WaitSlopes> slopes;
  for (const PathGraph& graph : parts) slopes.emplace_back(graph);
  return slopes;
}

double WaitSlopes::of(std::int32_t waiter, std::int32_t waker) const {
  const auto found = slopes_.find({waiter, waker});
  return found == slopes_.end() ? 0 : found->second;
}

}  // namespace hostprobe::analysis
