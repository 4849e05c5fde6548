// lost_parts.cpp: see lost_parts.h.
#include "lost_parts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace hostprobe::analysis {
namespace {

constexpr double kTouchNs = 1000;  // waits that follow each other so closely are one

Window common(const Window& l, const Window& r) {
  return {std::max(l.begin_ns, r.begin_ns), std::min(l.end_ns, r.end_ns)};
}

bool begins_before(const LostPart& l, const LostPart& r) { return l.window.begin_ns < r.window.begin_ns; }

std::span<const LostPart> parts_inside(const std::vector<LostPart>& parts, const Window& window) {
  const auto first = std::partition_point(parts.begin(), parts.end(),
                                          [&](const LostPart& part) { return part.window.end_ns <= window.begin_ns; });
  return {first, std::partition_point(first, parts.end(),
                                      [&](const LostPart& part) { return part.window.begin_ns < window.end_ns; })};
}

bool is_delay(const LostPart& part) { return part.cause != Cause::kGpuBound && part.cause != Cause::kTransfer; }

}  // namespace

void LostParts::enter(const Window& step) {
  const bool follows = !parts_.empty() && std::abs(step.begin_ns - step_.end_ns) <= kTouchNs;
  if (follows)
    keep_before();
  else
    forget_before();
  step_ = step;
  step_origin_ = origins_;
  parts_.assign(on_gpu_.size(), {});
  put_.assign(on_gpu_.size(), {});
  waits_.assign(on_gpu_.size(), {});
}

void LostParts::forget_before() {
  before_steps_.clear();
  before_.assign(on_gpu_.size(), {});
  charged_.assign(on_gpu_.size(), {});
}

void LostParts::keep_before() {
  constexpr std::size_t kMostKept = 4;
  before_steps_.push_back({step_.begin_ns, step_origin_});
  if (before_steps_.size() > kMostKept) before_steps_.erase(before_steps_.begin());
  const auto& [begin_ns, first_origin] = before_steps_.front();
  for (std::size_t i = 0; i < before_.size(); ++i) {
    std::erase_if(before_[i], [&](const LostPart& part) { return part.window.end_ns <= begin_ns; });
    before_[i].insert(before_[i].end(), parts_[i].begin(), parts_[i].end());
    charged_[i].erase(charged_[i].begin(), charged_[i].lower_bound(first_origin));
  }
}

Window LostParts::laid(const Window& window) const {
  if (!is_laying()) return window;
  const auto at = [this](double ns) { return over_.begin_ns + shortened() * (ns - own_.begin_ns); };
  return {at(window.begin_ns), at(window.end_ns)};
}

void LostParts::add(std::uint32_t member, const LostPart& part) {
  if (part.ns <= 0) return;
  if (is_laying())
    laid_.push_back({member, part});
  else
    add_own(member, part);
}

void LostParts::add_own(std::uint32_t member, const LostPart& part) {
  LostPart& own = parts_[member].emplace_back(part);
  own.origin = origins_++;
  own.origin_ns = own.ns;
}

// Of each cause that is laid over a shorter time, how much of it is left of one.
std::map<Cause, double> LostParts::kept_parts() const {
  std::map<Cause, double> own_ns, kept;
  for (const LaidPart& laid : laid_) own_ns[laid.part.cause] += laid.part.ns;
  std::vector<std::pair<Cause, double>> causes(own_ns.begin(), own_ns.end());
  std::stable_sort(causes.begin(), causes.end(), [](const auto& l, const auto& r) { return l.second > r.second; });
  double left_ns = over_.length_ns() - laid_wait_ns_;
  for (const auto& [cause, ns] : causes) {
    const double kept_ns = std::clamp(left_ns, 0.0, ns);
    kept[cause] = kept_ns / ns;
    left_ns -= kept_ns;
  }
  return kept;
}

void LostParts::lay_no_more() {
  std::map<Cause, double> kept = kept_parts();
  double at_ns = over_.begin_ns;
  for (auto& [member, part] : laid_) {
    part.at = part.window;
    part.ns *= kept[part.cause];
    part.window = {at_ns, at_ns + part.ns};
    at_ns = part.window.end_ns;
    if (part.ns > 0) add_own(member, part);
  }
  laid_.clear();
  laid_wait_ns_ = 0;
  own_ = over_ = {0, 0};
}

void LostParts::add_wait(std::uint32_t member, const PeerWait& added) {
  PeerWait wait = added;
  wait.window = laid(added.window);
  wait.ns *= shortened();
  if (is_laying()) laid_wait_ns_ += wait.ns;
  std::vector<PeerWait>& waits = waits_[member];
  if (!waits.empty() && waits.back().last == wait.last && wait.window.begin_ns <= waits.back().window.end_ns + kTouchNs)
    waits.back().window.end_ns = std::max(waits.back().window.end_ns, wait.window.end_ns), waits.back().ns += wait.ns;
  else
    waits.push_back(wait);
}

double LostParts::waiting_ns(std::uint32_t member, const Window& window) const {
  const std::vector<PeerWait>& waits = waits_[member];
  auto one = std::partition_point(waits.begin(), waits.end(),
                                  [&](const PeerWait& wait) { return wait.window.end_ns <= window.begin_ns; });
  double ns = 0;
  for (; one != waits.end() && one->window.begin_ns < window.end_ns; ++one)
    ns += one->ns * common(one->window, window).length_ns() / one->window.length_ns();
  return ns;
}

std::uint32_t LostParts::last_of(const OpenWait& open) const {
  if (open.wait.last >= 0) return static_cast<std::uint32_t>(open.wait.last);
  std::uint32_t last = open.member;
  double least_ns = 1e300;
  for (std::uint32_t i = 0; i < waits_.size(); ++i) {
    const double ns = i == open.member ? 1e300 : waiting_ns(i, open.wait.window);
    if (ns < least_ns) last = i, least_ns = ns;
  }
  return last;
}

std::vector<LostPart> LostParts::parts_in(std::uint32_t member, const Window& window) const {
  const auto before = parts_inside(before_[member], window), own = parts_inside(parts_[member], window),
             put = parts_inside(put_[member], window);
  std::vector<LostPart> all(before.begin(), before.end());
  std::merge(own.begin(), own.end(), put.begin(), put.end(), std::back_inserter(all), begins_before);
  return all;
}

// Of the work of a slow GPU what it took longer is a loss. Of a part what lies in the window.
void LostParts::make_loss(std::uint32_t member, const Window& window, LostPart& part) const {
  if (part.cause == Cause::kGpuBound && !part.waits && slow_[member] > 1) {
    part.cause = Cause::kSlowGpu;
    part.ns *= 1 - 1 / slow_[member];
    part.origin_ns = part.ns;
  }
  const double inside = common(part.window, window).length_ns() / std::max(1.0, part.window.length_ns());
  part.ns *= std::clamp(inside, 0.0, 1.0);
}

// What a rank lost meanwhile.
std::vector<LostPart> LostParts::losses_of(std::uint32_t member, const Window& window) const {
  std::vector<LostPart> losses = parts_in(member, window);
  for (LostPart& part : losses) make_loss(member, window, part);
  std::erase_if(losses, [](const LostPart& part) { return !is_delay(part); });
  return losses;
}

// The same without what it waited for, by cause.
std::map<Cause, double> LostParts::own_losses_of(std::uint32_t member, const Window& window) const {
  std::map<Cause, double> own_ns;
  for (const std::vector<LostPart>* parts : {&before_[member], &parts_[member]})
    for (LostPart part : parts_inside(*parts, window)) {
      if (part.waits) continue;
      make_loss(member, window, part);
      if (is_delay(part)) own_ns[part.cause] += part.ns;
    }
  return own_ns;
}

// What of a loss the waiting one has not waited for yet, nor lost itself.
double LostParts::uncharged_ns(const LostPart& loss, std::uint32_t member) const {
  if (loss.member == member) return 0;
  const auto found = charged_[member].find(loss.origin);
  return std::min(loss.ns, loss.origin_ns - (found == charged_[member].end() ? 0 : found->second));
}

// What the other one lost meanwhile, beyond what the waiting one itself lost by the same.
std::vector<LostPart> LostParts::delays_of(std::uint32_t last, std::uint32_t member, const Window& since) const {
  std::map<Cause, double> own_ns = own_losses_of(member, since);
  std::vector<LostPart> delays;
  for (LostPart& delay : losses_of(last, since)) {
    delay.ns = uncharged_ns(delay, member);
    double& own = own_ns[delay.cause];
    const double both_ns = std::min(own, delay.ns);
    own -= both_ns;
    delay.ns -= both_ns;
    if (delay.ns > 0) delays.push_back(delay);
  }
  return delays;
}

void LostParts::put(std::uint32_t member, LostPart part) {
  if (part.ns <= 0) return;
  part.waits = true;
  // They come nearly in order, so their place is near the end.
  std::vector<LostPart>& parts = put_[member];
  parts.insert(std::upper_bound(parts.begin(), parts.end(), part, begins_before), part);
}

void LostParts::put_delay(const OpenWait& open, LostPart delay, double& left_ns) {
  charged_[open.member][delay.origin] += delay.ns;
  left_ns -= delay.ns;
  delay.window = open.wait.window;
  delay.is_repeated = true;
  put(open.member, delay);
}

// Since both had last met: all of it made the one wait.
void LostParts::put_delays(const OpenWait& open, std::uint32_t last, const Window& since, double& left_ns) {
  const std::vector<LostPart> delays = delays_of(last, open.member, since);
  double sum_ns = 0;
  for (const LostPart& delay : delays) sum_ns += delay.ns;
  const double part = sum_ns > 0 ? std::min(1.0, left_ns / sum_ns) : 0;
  for (LostPart delay : delays) {
    delay.ns *= part;
    put_delay(open, delay, left_ns);
  }
}

// One that was ahead when they met, as where a stream of its own transfers, waits later for what the other itself lost before, the last first.
void LostParts::put_older_delays(const OpenWait& open, std::uint32_t last, double& left_ns) {
  const std::vector<LostPart> delays = delays_of(last, open.member, {known_since_ns(), open.wait.window.end_ns});
  for (auto delay = delays.rbegin(); delay != delays.rend() && left_ns > 0; ++delay) {
    if (delay->waits) continue;
    LostPart one = *delay;
    one.ns = std::min(one.ns, left_ns);
    put_delay(open, one, left_ns);
  }
}

// Each wait looks at all parts: without steps these are too many.
bool LostParts::is_worth_looking_back(std::uint32_t member, std::uint32_t last) const {
  constexpr std::size_t kMostLooks = 2'000'000;
  return waits_[member].size() * (before_[last].size() + parts_[last].size() + put_[last].size()) <= kMostLooks;
}

void LostParts::resolve(const OpenWait& open) {
  const Window& window = open.wait.window;
  const std::uint32_t last = last_of(open);
  if (last == open.member)
    return put(open.member, {window, open.wait.ns, Cause::kWaitsForRank, open.member, open.wait.spot});
  // While the last one waits as well, data are on their way, or both wait for a rank that the run has no trace of.
  const double both_ns = open.wait.last >= 0 ? 0 : std::min(open.wait.ns, waiting_ns(last, window));
  double left_ns = open.wait.ns - both_ns;
  const Cause both = all_are_here_ ? Cause::kTransfer : Cause::kWaitsForRank;
  put(open.member, {window, both_ns, both, open.member, open.wait.spot});
  const bool have_met = open.wait.met_ns > kNeverNs;
  put_delays(open, last, {have_met ? std::max(known_since_ns(), open.wait.met_ns) : step_.begin_ns, window.end_ns},
             left_ns);
  if (have_met && left_ns > kTouchNs && is_worth_looking_back(open.member, last)) put_older_delays(open, last, left_ns);
  put(open.member, {window, left_ns, on_gpu_[last] == 0 ? Cause::kUnevenWork : Cause::kGpuBound, last, {}});
}

void LostParts::resolve() {
  std::vector<OpenWait> all;
  for (std::uint32_t i = 0; i < waits_.size(); ++i)
    for (const PeerWait& wait : waits_[i]) all.push_back({i, wait});
  std::stable_sort(all.begin(), all.end(),
                   [](const OpenWait& l, const OpenWait& r) { return l.wait.window.end_ns < r.wait.window.end_ns; });
  for (const OpenWait& open : all) resolve(open);
  for (std::size_t i = 0; i < put_.size(); ++i) {
    const auto middle = static_cast<std::ptrdiff_t>(parts_[i].size());
    parts_[i].insert(parts_[i].end(), put_[i].begin(), put_[i].end());
    std::inplace_merge(parts_[i].begin(), parts_[i].begin() + middle, parts_[i].end(), begins_before);
  }
}

}  // namespace hostprobe::analysis
