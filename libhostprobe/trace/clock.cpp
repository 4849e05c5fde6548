// clock.cpp: see clock.h.
#include "clock.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace hostprobe::analysis {
namespace {

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t read_ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "hostprobe: no tick counter is known for this processor"
#endif
}

}  // namespace

void TickClock::set_pairs(std::vector<ClockPair> pairs) {
  std::erase_if(pairs, [](const ClockPair& pair) { return pair.ticks == 0 || pair.monotonic_ns == 0; });
  std::sort(pairs.begin(), pairs.end(), [](const ClockPair& l, const ClockPair& r) { return l.ticks < r.ticks; });
  pairs_.clear();
  for (const ClockPair& pair : pairs) {
    if (pairs_.empty() || (pair.ticks > pairs_.back().ticks && pair.monotonic_ns > pairs_.back().monotonic_ns)) {
      pairs_.push_back(pair);
    }
  }
  if (pairs_.empty()) return;
  realtime_offset_ns_ = static_cast<std::int64_t>(pairs_.front().realtime_ns - pairs_.front().monotonic_ns);
  if (known()) {
    ns_per_tick_ = static_cast<double>(pairs_.back().monotonic_ns - pairs_.front().monotonic_ns) /
                   static_cast<double>(pairs_.back().ticks - pairs_.front().ticks);
  }
}

double TickClock::on_line_ns(const ClockPair& left, const ClockPair& right, std::uint64_t ticks) const {
  const double rate =
      static_cast<double>(right.monotonic_ns - left.monotonic_ns) / static_cast<double>(right.ticks - left.ticks);
  const double distance = static_cast<double>(static_cast<std::int64_t>(ticks - left.ticks));
  return static_cast<double>(left.monotonic_ns - pairs_.front().monotonic_ns) + distance * rate;
}

TickClock::Stretch TickClock::stretch_of(std::uint64_t ticks) const {
  if (pairs_.empty()) return {};
  const auto after = std::upper_bound(pairs_.begin(), pairs_.end(), ticks,
                                      [](std::uint64_t t, const ClockPair& pair) { return t < pair.ticks; });
  Stretch stretch;
  const ClockPair& anchor = after == pairs_.begin() ? *after : *(after - 1);
  stretch.begin_ticks = after == pairs_.begin() ? 0 : anchor.ticks;
  stretch.length_ticks = (after == pairs_.end() ? UINT64_MAX : after->ticks) - stretch.begin_ticks;
  stretch.anchor_ticks = anchor.ticks;
  stretch.anchor_ns = static_cast<double>(anchor.monotonic_ns - pairs_.front().monotonic_ns);
  // The rate between two close pairs carries their reading error; over the whole trace it is the most exact.
  const bool inside = after != pairs_.begin() && after != pairs_.end();
  stretch.ns_per_tick = !inside ? ns_per_tick_
                                : static_cast<double>(after->monotonic_ns - anchor.monotonic_ns) /
                                      static_cast<double>(after->ticks - anchor.ticks);
  return stretch;
}

std::uint64_t TickClock::monotonic_ns_of(double since_first_ns) const {
  if (pairs_.empty()) return 0;
  return pairs_.front().monotonic_ns + static_cast<std::uint64_t>(std::llround(since_first_ns));
}

std::optional<double> TickClock::error_ns() const {
  if (pairs_.size() < 3) return std::nullopt;
  double worst = 0;
  for (std::size_t i = 1; i + 1 < pairs_.size(); ++i) {
    const double expected = on_line_ns(pairs_[i - 1], pairs_[i + 1], pairs_[i].ticks);
    const double actual = static_cast<double>(pairs_[i].monotonic_ns - pairs_.front().monotonic_ns);
    worst = std::max(worst, std::abs(expected - actual));
  }
  return worst;
}

ClockPair read_clocks_now() {
  const std::uint64_t before = read_ticks();
  const std::uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t after = read_ticks();
  return {before + (after - before) / 2, monotonic_ns, clock_ns(CLOCK_REALTIME)};
}

std::string current_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

}  // namespace hostprobe::analysis
