// step_period.cpp: see step_period.h.
#include "step_period.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kLeastAnchors = 4;  // fewer do not show a period
constexpr double kLeastShare = 0.5;       // of all tokens, that steps of the usual sort must hold
constexpr double kLeastSpan = 0.3;        // of the time
constexpr double kEvenShare = 0.75;       // of the intervals of a wait that may stand for steps
constexpr std::size_t kLeastEven = 16;
constexpr std::size_t kLeastRounds = 8;
constexpr double kMostMicroBatches = 64;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}
std::uint64_t mixed(std::uint64_t own, std::uint64_t more) { return mixed(own + (more + 1) * 0x9e3779b97f4a7c15); }

bool is_compute(StepToken type) { return type == StepToken::kLaunch || type == StepToken::kCollective; }

using Counts = std::map<std::uint32_t, std::uint32_t>;  // of kinds in a segment

// Segments between calls of one kind, most of which hold the same calls.
struct Level {
  std::uint32_t anchor = 0;
  std::size_t begin = 0, end = 0;  // one of the usual segments
  Counts counts;
  Counts runs;  // those in succession are one

  std::size_t length() const { return end - begin; }
  static std::uint32_t in(const Counts& counts, std::uint32_t kind) {
    const auto found = counts.find(kind);
    return found == counts.end() ? 0 : found->second;
  }
  std::uint32_t count(std::uint32_t kind) const { return in(counts, kind); }
  std::uint32_t run_count(std::uint32_t kind) const { return in(runs, kind); }
};

class Periods {
 public:
  Periods(const std::vector<Token>& tokens, bool with_shape) : tokens_(tokens), with_shape_(with_shape) {
    std::unordered_map<std::uint64_t, std::uint32_t> ids;
    sums_.push_back(0);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::uint64_t kind = with_shape ? tokens[i].shape : tokens[i].work;
      const auto [found, is_new] = ids.try_emplace(kind, static_cast<std::uint32_t>(ids.size()));
      if (is_new) places_.emplace_back();
      // Several in succession are one place: an optimizer is many launches of one kernel.
      if (kinds_.empty() || kinds_.back() != found->second) places_[found->second].push_back(i);
      kinds_.push_back(found->second);
      sums_.push_back(sums_.back() + mixed(kind));
    }
  }

  std::optional<StepCut> find() const {
    std::map<std::size_t, Level> levels;  // by length: calls that come equally often make the same level
    for (std::uint32_t kind = 0; kind < places_.size(); ++kind) {
      auto level = level_of(kind);
      if (level && !levels.contains(level->length())) levels.emplace(level->length(), std::move(*level));
    }
    const Level* step = nullptr;
    for (auto& [length, level] : levels) {
      for (std::size_t i = level.begin; i < level.end; ++i) {
        ++level.counts[kinds_[i]];
        if (i == level.begin || kinds_[i] != kinds_[i - 1]) ++level.runs[kinds_[i]];
      }
      if (level.counts.size() < 2 || !has(level, is_compute)) continue;
      if (step == nullptr || is_step_of(level, *step)) step = &level;
    }
    if (step == nullptr) return std::nullopt;
    return cut_of(*step);
  }

  // Where no two steps need to hold the same calls: calls that come in turns, the shortest such round in which the program
  // waits for the GPU.
  std::optional<StepCut> find_rounds() const {
    std::optional<StepCut> best;
    std::size_t most = kLeastRounds;
    for (std::uint32_t sync = 0; sync < places_.size(); ++sync) {
      if (token(sync).type != StepToken::kSync || places_[sync].size() <= most || !covers(sync)) continue;
      for (std::uint32_t other = 0; other < places_.size(); ++other) {
        if (!is_compute(token(other).type) || !take_turns(sync, other)) continue;
        best = StepCut{kind_of(sync), kind_of(sync), true, with_shape_, true};
        most = places_[sync].size();
        break;
      }
    }
    return best;
  }

 private:
  struct Usual {
    std::size_t count = 0, at = 0;
    double ns = 0;
  };

  const Token& token(std::uint32_t kind) const { return tokens_[places_[kind].front()]; }

  std::optional<Level> level_of(std::uint32_t kind) const {
    const std::vector<std::size_t>& at = places_[kind];
    if (at.size() < kLeastAnchors) return std::nullopt;
    std::unordered_map<std::uint64_t, Usual> classes;
    const Usual* most = nullptr;
    for (std::size_t i = 0; i + 1 < at.size(); ++i) {
      Usual& one = classes[sums_[at[i + 1]] - sums_[at[i]]];
      one.at = one.count++ == 0 ? i : one.at;
      one.ns += tokens_[at[i + 1]].begin_ns - tokens_[at[i]].begin_ns;
      if (most == nullptr || one.count > most->count) most = &one;
    }
    const Level level{kind, at[most->at], at[most->at + 1], {}, {}};
    if (most->count + 1 < kLeastAnchors || !is_most(level.length() * most->count, most->ns)) return std::nullopt;
    return level;
  }

  bool is_most(std::size_t tokens, double ns) const {
    return static_cast<double>(tokens) >= kLeastShare * static_cast<double>(tokens_.size()) &&
           ns >= kLeastSpan * (tokens_.back().end_ns - tokens_.front().begin_ns);
  }
  bool covers(std::uint32_t kind) const {
    const std::size_t first = places_[kind].front(), last = places_[kind].back();
    return is_most(last - first, tokens_[last].begin_ns - tokens_[first].begin_ns);
  }
  // Of the two, hardly ever one comes twice in succession.
  bool take_turns(std::uint32_t one, std::uint32_t other) const {
    const std::vector<std::size_t>&a = places_[one], &b = places_[other];
    if (a.size() > b.size() + b.size() / 50 + 1 || b.size() > a.size() + a.size() / 50 + 1) return false;
    std::size_t alone = 0, at = 0;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) {
      std::size_t between = 0;
      while (at < b.size() && b[at] < a[i]) ++at;
      for (std::size_t look = at; look < b.size() && b[look] < a[i + 1]; ++look) ++between;
      alone += between != 1;
    }
    return alone * 20 <= a.size();
  }

  bool has(const Level& level, bool (*is)(StepToken)) const {
    return std::any_of(level.counts.begin(), level.counts.end(),
                       [&](const auto& one) { return is(token(one.first).type); });
  }
  bool ends_in_sync(const Level& level) const {
    return has(level, [](StepToken type) { return type == StepToken::kSync; });
  }
  bool has_input(const Level& level) const {
    return has(level, [](StepToken type) { return type == StepToken::kCopy || type == StepToken::kSync; });
  }
  std::uint64_t largest_collective(const Level& level) const {
    std::uint64_t most = 0;
    for (const auto& [kind, count] : level.counts)
      if (token(kind).type == StepToken::kCollective) most = std::max(most, token(kind).bytes);
    return most;
  }

  // What a segment of the longer level holds besides those of the shorter one.
  struct Extra {
    std::uint32_t compute = 0;   // launches and collectives that the shorter one has none of
    std::uint32_t ordinary = 0;  // those it has some of, more or fewer
    std::uint64_t collective_bytes = 0;
  };
  Extra extra_of(const Level& longer, const Level& shorter) const {
    Extra extra;
    const std::uint32_t times = longer.run_count(shorter.anchor);
    for (const auto& [kind, count] : longer.counts) {
      const Token& one = token(kind);
      if (!is_compute(one.type)) continue;
      const std::uint32_t usual = times * shorter.count(kind);
      if (usual == 0) {
        extra.compute += count;
        if (one.type == StepToken::kCollective) extra.collective_bytes = std::max(extra.collective_bytes, one.bytes);
      } else {
        extra.ordinary += count > usual ? count - usual : usual - count;
      }
    }
    return extra;
  }

  // Which of two levels is the step: what comes besides in the longer one must be more than what a checkpoint, a
  // logged number or an evaluation adds to some steps.
  bool is_step_of(const Level& longer, const Level& shorter) const {
    const std::uint32_t times = longer.run_count(shorter.anchor);
    if (longer.length() == shorter.length() || times < 2) return false;
    const Extra extra = extra_of(longer, shorter);
    if (extra.compute == 0) return false;
    if (!has_input(shorter)) return true;
    if (extra.ordinary > 0 || times > kMostMicroBatches) return false;
    if (extra.collective_bytes > largest_collective(shorter)) return true;
    return !ends_in_sync(shorter) && extra.compute * 100 >= longer.length() / times;
  }

  bool is_once(const Level& level, std::uint32_t kind) const { return level.count(kind) == 1; }

  double gap_after(const Level& level, std::size_t at) const {
    double total_ns = 0;
    std::size_t count = 0;
    for (const std::size_t place : places_[kinds_[at]]) {
      if (place + 1 >= tokens_.size() || kinds_[place + 1] != kinds_[next(level, at)]) continue;
      total_ns += tokens_[place + 1].begin_ns - tokens_[place].end_ns;
      ++count;
    }
    return count == 0 ? 0 : total_ns / static_cast<double>(count);
  }
  std::size_t next(const Level& level, std::size_t at) const { return at + 1 == level.end ? level.begin : at + 1; }

  std::uint64_t kind_of(std::uint32_t id) const { return with_shape_ ? token(id).shape : token(id).work; }
  StepCut cut(const Level& level, std::uint32_t arm, std::uint32_t at, bool at_end) const {
    return {kind_of(arm), kind_of(at), at_end, with_shape_, ends_in_sync(level)};
  }

  // A step ends where the program last waits for the GPU, or begins with its first copy, or else at its longest gap.
  StepCut cut_of(const Level& level) const {
    std::optional<std::size_t> sync, any;
    const auto is_longer_gap = [&](std::size_t at, const std::optional<std::size_t>& than) {
      return !than || gap_after(level, at) > gap_after(level, *than);
    };
    for (std::size_t at = level.begin; at < level.end; ++at) {
      if (!is_once(level, kinds_[at])) continue;
      if (tokens_[at].type == StepToken::kSync && is_longer_gap(at, sync)) sync = at;
      if (is_longer_gap(at, any)) any = at;
    }
    if (sync) return cut(level, kinds_[*sync], kinds_[*sync], true);
    if (const auto copy = first_copy(level)) return *copy;
    if (any) return cut(level, kinds_[*any], kinds_[*any], true);
    // The anchor comes once at least in succession: what comes behind it.
    std::size_t behind = level.begin;
    while (behind + 1 < level.end && kinds_[behind] == level.anchor) ++behind;
    return cut(level, level.anchor, kinds_[behind], false);
  }

  // Behind the longest stretch without copies, if something in it comes once in a step, or the copy does itself.
  std::optional<StepCut> first_copy(const Level& level) const {
    std::size_t stretch = 0, best = 0;
    std::optional<std::uint32_t> once, arm, first;
    const std::size_t length = level.length();
    for (std::size_t i = 0; i < 2 * length; ++i) {  // round and round: a stretch may begin before the anchor
      const std::uint32_t kind = kinds_[level.begin + i % length];
      if (token(kind).type != StepToken::kCopy) {
        ++stretch;
        if (level.run_count(kind) == 1) once = kind;
        continue;
      }
      const auto armed = is_once(level, kind) ? std::optional(kind) : once;
      if (armed && stretch > best) {
        best = stretch;
        arm = armed;
        first = kind;
      }
      stretch = 0;
      once.reset();
    }
    if (!arm) return std::nullopt;
    return cut(level, *arm, *first, false);
  }

  const std::vector<Token>& tokens_;
  bool with_shape_;
  std::vector<std::vector<std::size_t>> places_;  // by kind
  std::vector<std::uint32_t> kinds_;
  std::vector<std::uint64_t> sums_;  // of the tokens before; equal differences are equal multisets
};

}  // namespace

bool token_of(const Event& event, Token& token, bool with_shape) {
  if (event.function == nullptr || event.function->step_token == StepToken::kNone || event.type != EventType::kCall ||
      event.captured || event.at_once || event.timed_out)
    return false;
  const Function& function = *event.function;
  token = {0, 0, function.step_token, event.bytes, event.begin_ns, event.end_ns};
  switch (function.step_token) {
    case StepToken::kLaunch:
      token.work = mixed(function.row, event.work);
      if (with_shape) token.shape = mixed(token.work, event.grid);
      return true;
    case StepToken::kCollective:
      token.work = mixed(mixed(function.row, event.communicator), event.bytes);
      break;
    case StepToken::kSync:
    case StepToken::kEventWait:
    case StepToken::kWait:
      token.work = mixed(function.row, event.site);
      break;
    default:
      token.work = mixed(function.row);
  }
  token.shape = token.work;
  return true;
}

std::optional<StepCut> find_period(const std::vector<Token>& tokens) {
  if (tokens.size() < 2 * kLeastAnchors) return std::nullopt;
  if (const auto cut = Periods(tokens, true).find()) return cut;
  const Periods by_name(tokens, false);
  const auto cut = by_name.find();
  return cut ? cut : by_name.find_rounds();
}

std::optional<StepCut> find_wait_period(const std::vector<Token>& tokens) {
  std::unordered_map<std::uint64_t, std::vector<const Token*>> kinds;
  for (const Token& token : tokens) kinds[token.work].push_back(&token);
  std::optional<StepCut> best;
  double best_ns = 0;
  for (const auto& [kind, own] : kinds) {
    if (own.size() < kLeastEven) continue;
    std::vector<double> gaps;
    double waited_ns = 0;
    for (std::size_t i = 1; i < own.size(); ++i) {
      gaps.push_back(own[i]->begin_ns - own[i - 1]->begin_ns);
      waited_ns += own[i]->end_ns - own[i]->begin_ns;
    }
    std::vector<double> sorted = gaps;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    const double median = sorted[sorted.size() / 2];
    const auto even = std::count_if(gaps.begin(), gaps.end(),
                                    [median](double gap) { return gap > 0.5 * median && gap < 1.5 * median; });
    const double span_ns = own.back()->end_ns - own.front()->begin_ns;
    if (static_cast<double>(even) < kEvenShare * static_cast<double>(gaps.size()) || waited_ns <= best_ns ||
        span_ns < kLeastSpan * (tokens.back().end_ns - tokens.front().begin_ns))
      continue;
    best_ns = waited_ns;
    best = StepCut{kind, kind, true, false, true};
  }
  return best;
}

}  // namespace hostprobe::analysis
