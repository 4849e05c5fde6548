// host_clocks.cpp: see host_clocks.h.
#include "host_clocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kLeastSights = 8;
constexpr std::size_t kMostSights = 800;  // of which lines are judged; more make them no better
constexpr std::size_t kLines = 200;       // that are tried
constexpr double kMostDrift = 1e-3;       // more is no clock

struct Line {
  double offset = 0;  // at the first sight
  double drift = 0;
  double half_strip = std::numeric_limits<double>::infinity();  // half of all sights lie so near

  double at(double since_first_ns) const { return offset + drift * since_first_ns; }
};

struct Point {
  double at = 0;  // since the first sight
  double difference = 0;
};

// The narrowest strip of this drift that holds half of the points.
Line narrowest(const std::vector<Point>& points, double drift, std::vector<double>& rest) {
  rest.clear();
  for (const Point& point : points) rest.push_back(point.difference - drift * point.at);
  std::sort(rest.begin(), rest.end());
  const std::size_t half = rest.size() / 2;
  Line best{0, drift, std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i + half < rest.size(); ++i) {
    const double half_strip = (rest[i + half] - rest[i]) / 2;
    if (half_strip < best.half_strip) best = {rest[i] + half_strip, drift, half_strip};
  }
  return best;
}

// Least squares over the points in the strip: many together know the drift better than the two that a line was laid through.
Line refined(const std::vector<Point>& points, const Line& line) {
  double n = 0, sum_at = 0, sum_difference = 0, squares = 0, products = 0;
  for (const Point& point : points) {
    if (std::abs(point.difference - line.offset - line.drift * point.at) > line.half_strip) continue;
    ++n;
    sum_at += point.at;
    sum_difference += point.difference - line.offset;
    squares += point.at * point.at;
    products += point.at * (point.difference - line.offset);
  }
  const double spread = n * squares - sum_at * sum_at;
  if (spread <= 0) return line;
  const double drift = (n * products - sum_at * sum_difference) / spread;
  if (std::abs(drift) > kMostDrift) return line;
  Line result{line.offset + (sum_difference - drift * sum_at) / n, drift, 0};
  std::vector<double> away;
  for (const Point& point : points)
    away.push_back(std::abs(point.difference - result.offset - result.drift * point.at));
  const auto middle = away.begin() + static_cast<std::ptrdiff_t>(away.size() / 2);
  std::nth_element(away.begin(), middle, away.end());
  result.half_strip = *middle;
  return result;
}

// How far the line is from others that are nearly as good, at the first and at the last point.
double ambiguity(const Line& line, const std::vector<Line>& tried, double length) {
  constexpr double kNearlyAsGood = 1.5;
  double most = 0;
  for (const Line& other : tried)
    if (other.half_strip <= kNearlyAsGood * line.half_strip)
      most = std::max({most, std::abs(other.offset - line.offset), std::abs(other.at(length) - line.at(length))});
  return most;
}

struct RobustLine {
  Line line;
  double error = 0;
};

// Lines through two points each, far enough apart; the pairs are drawn the same way every time.
RobustLine robust_line(const std::vector<Point>& points) {
  std::vector<double> rest;
  const double length = points.back().at;
  std::vector<Line> tried = {narrowest(points, 0, rest)};
  std::uint64_t state = 1;
  const auto draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return points[(state >> 33) % points.size()];
  };
  for (std::size_t i = 0; i < kLines; ++i) {
    const Point a = draw(), b = draw();
    if (std::abs(a.at - b.at) < length / 4 || a.at == b.at) continue;
    const double drift = (b.difference - a.difference) / (b.at - a.at);
    if (std::abs(drift) <= kMostDrift) tried.push_back(narrowest(points, drift, rest));
  }
  const Line best = *std::min_element(tried.begin(), tried.end(),
                                      [](const Line& l, const Line& r) { return l.half_strip < r.half_strip; });
  const Line line = refined(points, best);
  return {line, 2 * line.half_strip + ambiguity(line, tried, length)};
}

// All lines that no bound forbids, as a polygon over their values at the first and at the last sight.
class AllowedLines {
 public:
  AllowedLines(double least, double most, double length) : length_(length) {
    const double change = kMostDrift * length;
    corners_ = {{least, least - change}, {most, most - change}, {most, most + change}, {least, least + change}};
  }
  // sign × (value at `at` - bound) <= 0
  void cut(double at, double bound, double sign) {
    const double later = length_ > 0 ? at / length_ : 0;
    const auto over = [&](const Corner& c) { return sign * (c.first * (1 - later) + c.second * later - bound); };
    std::vector<Corner> left;
    for (std::size_t i = 0; i < corners_.size(); ++i) {
      const Corner &a = corners_[i], &b = corners_[(i + 1) % corners_.size()];
      const double over_a = over(a), over_b = over(b);
      if (over_a <= 0) left.push_back(a);
      if ((over_a < 0 && over_b > 0) || (over_a > 0 && over_b < 0)) {
        const double share = over_a / (over_a - over_b);
        left.push_back({a.first + share * (b.first - a.first), a.second + share * (b.second - a.second)});
      }
    }
    corners_ = std::move(left);
  }
  bool empty() const { return corners_.empty(); }
  // How far the line with these values at both ends can be from an allowed one, anywhere between.
  double farthest(double first, double second) const {
    double most = 0;
    for (const Corner& c : corners_) most = std::max({most, std::abs(c.first - first), std::abs(c.second - second)});
    return most;
  }
  std::pair<double, double> middle() const {
    double low_first = corners_[0].first, high_first = low_first, low_second = corners_[0].second;
    double high_second = low_second;
    for (const Corner& c : corners_) {
      low_first = std::min(low_first, c.first);
      high_first = std::max(high_first, c.first);
      low_second = std::min(low_second, c.second);
      high_second = std::max(high_second, c.second);
    }
    return {(low_first + high_first) / 2, (low_second + high_second) / 2};
  }

 private:
  using Corner = std::pair<double, double>;
  double length_;
  std::vector<Corner> corners_;
};

AllowedLines allowed_lines(const std::vector<ClockSight>& sights, double slack_ns) {
  const double begin = sights.front().at_ns, length = sights.back().at_ns - begin;
  double least = sights.front().least, most = sights.front().most;
  for (const ClockSight& sight : sights) {
    least = std::min(least, sight.least);
    most = std::max(most, sight.most);
  }
  AllowedLines lines(least - slack_ns, most + slack_ns, length);
  for (const ClockSight& sight : sights) {
    lines.cut(sight.at_ns - begin, sight.most + slack_ns, 1);
    lines.cut(sight.at_ns - begin, sight.least - slack_ns, -1);
    if (lines.empty()) break;
  }
  return lines;
}

std::vector<Point> points_of(const std::vector<ClockSight>& sights) {
  std::vector<Point> points;
  const std::size_t step = sights.size() / kMostSights + 1;
  for (std::size_t i = 0; i < sights.size(); i += step)
    points.push_back({sights[i].at_ns - sights.front().at_ns, sights[i].ends});
  return points;
}

double worst_breach(const std::vector<ClockSight>& sights, const Line& line) {
  double worst = 0;
  for (const ClockSight& sight : sights) {
    const double here = line.offset + line.drift * (sight.at_ns - sights.front().at_ns);
    worst = std::max({worst, sight.least - here, here - sight.most});
  }
  return worst;
}

}  // namespace

std::optional<HostClock> fit_clock(std::vector<ClockSight> sights, double slack_ns) {
  if (sights.size() < kLeastSights) return std::nullopt;
  std::sort(sights.begin(), sights.end(), [](const ClockSight& l, const ClockSight& r) { return l.at_ns < r.at_ns; });
  const double length = sights.back().at_ns - sights.front().at_ns;
  auto [line, error] = robust_line(points_of(sights));
  error += slack_ns;
  const AllowedLines allowed = allowed_lines(sights, slack_ns);
  if (allowed.empty()) {
    error = std::max(error, worst_breach(sights, line));  // no straight clock: it was set, or it is adjusted
  } else {
    if (worst_breach(sights, line) > slack_ns) {
      const auto [first, second] = allowed.middle();
      line = {first, length > 0 ? (second - first) / length : 0, line.half_strip};
      error = std::numeric_limits<double>::infinity();
    }
    error = std::min(error, allowed.farthest(line.offset, line.offset + line.drift * length));
  }
  HostClock clock;
  clock.at_ns = sights.front().at_ns + line.offset;
  clock.offset_ns = line.offset;
  clock.drift = line.drift / (1 + line.drift);  // per ns of the host's own clock
  clock.error_ns = error;
  clock.moments = sights.size();
  return clock;
}

void HostClocks::add(const std::vector<SharedMoment>& collective) {
  if (collective.empty()) return;
  const auto minus = [](std::uint64_t l, std::uint64_t r) {
    return static_cast<double>(static_cast<std::int64_t>(l - r));
  };
  const SharedMoment& first = *std::min_element(collective.begin(), collective.end(),
                                                [](const auto& l, const auto& r) { return l.host < r.host; });
  for (const SharedMoment& second : collective) {
    if (second.host == first.host || second.host >= hosts_) continue;
    ClockSight sight;
    sight.at_ns = static_cast<double>(first.first_end_ns);
    sight.ends = minus(second.first_end_ns, first.first_end_ns);
    sight.most = minus(second.first_end_ns, first.last_arrival_ns);
    sight.least = minus(second.last_arrival_ns, first.first_end_ns);
    pairs_[{first.host, second.host}].push_back(sight);
  }
}

namespace {

// Of the first against the second of two hosts, whose clocks were fitted the other way round.
HostClock turned(const HostClock& clock) {
  HostClock other = clock;
  other.at_ns = clock.at_ns - clock.offset_ns;
  other.offset_ns = -clock.offset_ns;
  other.drift = -clock.drift / (1 - clock.drift);
  return other;
}

// `clock` is of a host against another one, whose own is `on`.
HostClock chained(const HostClock& clock, const HostClock& on) {
  HostClock sum = clock;
  sum.offset_ns = clock.offset_ns + on.offset_at(clock.at_ns - clock.offset_ns);
  sum.drift = clock.drift + on.drift * (1 - clock.drift);
  sum.error_ns = clock.error_ns + on.error_ns;
  return sum;
}

}  // namespace

std::vector<std::optional<HostClock>> HostClocks::finish(double slack_ns) const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, HostClock> fitted;
  for (const auto& [pair, sights] : pairs_)
    if (const auto clock = fit_clock(sights, slack_ns)) fitted[pair] = *clock;
  std::vector<std::optional<HostClock>> clocks(hosts_);
  if (hosts_ > 0) clocks[0] = HostClock{};
  while (true) {
    // Of all hosts that one step leads to, the one that is then known best goes first.
    std::optional<std::pair<std::uint32_t, HostClock>> best;
    for (const auto& [pair, clock] : fitted) {
      const auto [first, second] = pair;
      if (clocks[first].has_value() == clocks[second].has_value()) continue;
      const bool forward = clocks[first].has_value();
      const HostClock sum = forward ? chained(clock, *clocks[first]) : chained(turned(clock), *clocks[second]);
      if (!best || sum.error_ns < best->second.error_ns) best = {forward ? second : first, sum};
    }
    if (!best) return clocks;
    clocks[best->first] = best->second;
  }
}

}  // namespace hostprobe::analysis
