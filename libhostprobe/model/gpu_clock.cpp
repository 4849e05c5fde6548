// gpu_clock.cpp: see gpu_clock.h.
#include "gpu_clock.h"

#include <algorithm>
#include <cmath>

#include "middle.h"

namespace hostprobe::analysis {
namespace {

constexpr double kAroundNs = 2e9;           // bases so near tell of each other: the clocks keep their rates meanwhile
constexpr double kRateNs = 0.2e9;           // from so long a span on their rates are told apart
constexpr double kMostClockDrift = 500e-6;  // of any clock
constexpr double kMostSeenNs = 100e3;       // a base seen later bounds nothing
constexpr double kTight = 1.5;  // of what is usual: bases seen as quickly tell the rate, and what an event takes

bool is_seen(const GpuClockBase& base) { return base.latest_ns - base.earliest_ns <= kMostSeenNs; }

// As of those that nothing disturbed.
double quick_of(std::vector<double> some) {
  if (some.empty()) return 0;
  const auto quick = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 10);
  std::nth_element(some.begin(), quick, some.end());
  return *quick;
}

// How long an event in an empty stream takes. Of bases that were seen late nobody knows when they were there.
double empty_event(const std::vector<GpuClockBase>& bases) {
  std::vector<double> between, waits;
  for (const GpuClockBase& base : bases)
    if (is_seen(base) && base.waited_ns > 0) between.push_back(base.latest_ns - base.earliest_ns);
  const double most_ns = kTight * quick_of(between);
  for (const GpuClockBase& base : bases)
    if (is_seen(base) && base.waited_ns > 0 && base.latest_ns - base.earliest_ns <= most_ns)
      waits.push_back(base.waited_ns - (base.latest_ns - base.earliest_ns) / 2);
  return std::max(0.0, quick_of(std::move(waits)));
}

struct Bound {
  double device_ns = 0, earliest_ns = 0, latest_ns = 0;
  bool is_seen() const { return latest_ns - earliest_ns <= kMostSeenNs; }
  double middle_ns() const { return (earliest_ns + latest_ns) / 2; }
};

double usual_wait_ns(const std::vector<Bound>& bounds) {
  std::vector<double> waits;
  for (const Bound& one : bounds)
    if (one.is_seen()) waits.push_back(one.latest_ns - one.earliest_ns);
  return middle_of(waits);
}

// By how much the host's clock runs faster: from the first to the last of those that were seen at once.
double rate_of(const std::vector<Bound>& bounds) {
  const double most_ns = kTight * usual_wait_ns(bounds);
  const Bound *first = nullptr, *last = nullptr;
  for (const Bound& one : bounds) {
    if (one.latest_ns - one.earliest_ns > most_ns) continue;
    if (first == nullptr) first = &one;
    last = &one;
  }
  if (first == nullptr || last->device_ns - first->device_ns < kRateNs) return 1;
  const double rate = (last->middle_ns() - first->middle_ns()) / (last->device_ns - first->device_ns);
  return std::abs(rate - 1) <= kMostClockDrift ? rate : 1;
}

// The moment of one base, which lies between what all around it allow: in the middle, as likely too early as too late. Where they
// contradict each other, as when the rate is wrong, the later bound holds: a query comes late and an event never early.
double moment_of(const std::vector<Bound>& bounds, std::size_t at, double rate) {
  double least = -1e300, most = 1e300;
  for (std::size_t i = at; i-- > 0 && bounds[at].device_ns - bounds[i].device_ns <= kAroundNs;) {
    const double since = rate * (bounds[at].device_ns - bounds[i].device_ns);
    least = std::max(least, bounds[i].earliest_ns + since);
    if (bounds[i].is_seen()) most = std::min(most, bounds[i].latest_ns + since);
  }
  for (std::size_t i = at; i < bounds.size() && bounds[i].device_ns - bounds[at].device_ns <= kAroundNs; ++i) {
    const double until = rate * (bounds[i].device_ns - bounds[at].device_ns);
    least = std::max(least, bounds[i].earliest_ns - until);
    if (bounds[i].is_seen()) most = std::min(most, bounds[i].latest_ns - until);
  }
  if (most > 1e299) return bounds[at].earliest_ns;
  return least < most ? (least + most) / 2 : least;
}

// The next base tells how fast the clock ran meanwhile; behind the last one it went on as before.
double rate_behind(const std::vector<Bound>& bounds, const std::vector<double>& moments_ns, std::size_t at,
                   double usual) {
  if (at + 1 == bounds.size()) return usual;
  const double device_ns = bounds[at + 1].device_ns - bounds[at].device_ns;
  const double rate = device_ns > 0 ? (moments_ns[at + 1] - moments_ns[at]) / device_ns : 1;
  return std::abs(rate - 1) <= kMostClockDrift ? rate : 1;
}

}  // namespace

GpuClock::GpuClock(std::vector<GpuClockBase> bases) {
  std::sort(bases.begin(), bases.end(),
            [](const GpuClockBase& l, const GpuClockBase& r) { return l.number < r.number; });
  std::map<std::uint32_t, std::vector<GpuClockBase>> contexts;
  std::vector<double> errors;
  for (GpuClockBase& base : bases) {
    if (is_seen(base)) errors.push_back((base.latest_ns - base.earliest_ns) / 2);
    contexts[base.context].push_back(base);
  }
  for (const auto& [context, own] : contexts) place(own);
  error_ns_ = middle_of(errors);
  empty_event_ns_ = empty_event(bases);
}

// Those of one context, by number. Where one says that it is the first again, the clock starts anew.
void GpuClock::place(const std::vector<GpuClockBase>& bases) {
  for (std::size_t begin = 0; begin < bases.size();) {
    std::vector<Bound> bounds;
    std::size_t end = begin;
    double device_ns = 0;
    for (; end < bases.size() && (end == begin || bases[end].since_ns > 0); ++end) {
      if (end > begin) device_ns += bases[end].since_ns;
      const double latest_ns = std::isnan(bases[end].latest_ns) ? 1e300 : bases[end].latest_ns;
      bounds.push_back({device_ns, bases[end].earliest_ns, latest_ns});
    }
    const double rate = rate_of(bounds);
    std::vector<double> moments_ns;
    for (std::size_t i = 0; i < bounds.size(); ++i) moments_ns.push_back(moment_of(bounds, i, rate));
    for (std::size_t i = begin; i < end; ++i)
      placed_[bases[i].number] = {moments_ns[i - begin], rate_behind(bounds, moments_ns, i - begin, rate),
                                  bases[i].device};
    begin = end;
  }
}

std::optional<double> GpuClock::host_ns(std::uint64_t base, double device_ns) const {
  const auto found = placed_.find(base);
  if (found == placed_.end()) return std::nullopt;
  return found->second.host_ns + found->second.rate * device_ns;
}

std::optional<std::uint32_t> GpuClock::device_of(std::uint64_t base) const {
  const auto found = placed_.find(base);
  return found == placed_.end() ? std::nullopt : std::optional(found->second.device);
}

}  // namespace hostprobe::analysis
