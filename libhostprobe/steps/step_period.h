// step_period.h: what repeats once in a step, found in the calls of one thread.
//
// Room pure/. Tokens in, a cut out. Levels repeat inside each other (layer, micro-batch, step, evaluation): a step is
// the level that holds the rare calls once and all others in equal number. What has no such level has no period.
#pragma once

#include "kind_index.h"

namespace hostprobe {

inline constexpr std::size_t kLeastAnchors = 4;  // fewer do not show a period
inline constexpr double kLeastShare = 0.5;       // of all tokens, that steps of the usual sort must hold
inline constexpr double kLeastSpan = 0.3;        // of the time
inline constexpr std::size_t kLeastRounds = 8;
inline constexpr double kMostMicroBatches = 64;
// Launches of one kernel between two synchronises. Chosen, not measured: up to three were wrongly taken for a step, and no step of a
// program was seen with as few.
inline constexpr std::uint32_t kFewKernels = 4;

constexpr bool is_compute(StepToken type) {
  return type == StepToken::kLaunch || type == StepToken::kGraph || type == StepToken::kCollective;
}
constexpr bool is_sync(StepToken type) { return type == StepToken::kSync || type == StepToken::kSyncInput; }
constexpr bool is_copy(StepToken type) { return type == StepToken::kCopy || type == StepToken::kInput; }
constexpr bool is_input(StepToken type) { return is_copy(type) || is_sync(type); }
constexpr bool is_graph(StepToken type) { return type == StepToken::kGraph; }
constexpr bool feeds(StepToken type) { return type == StepToken::kInput || type == StepToken::kSyncInput; }

// Bytes of memory that a search among so many tokens takes, at most.
constexpr std::size_t period_bytes(std::size_t tokens) { return 128 * tokens + 4096; }

class Periods {
 public:
  Periods(const Token* tokens, std::size_t count, bool with_shape, void* memory)
      : tokens_(tokens), count_(count), with_shape_(with_shape) {
    Workspace space(memory, period_bytes(count));
    ok_ = index_.make(tokens, count, with_shape, true, space) && take(space);
    if (!ok_) return;
    sums_[0] = 0;
    for (std::size_t i = 0; i < count; ++i) sums_[i + 1] = sums_[i] + mixed(kind_of_token(tokens[i]));
  }

  bool find(StepCut& cut) {
    if (!ok_) return false;
    const std::uint32_t levels = list_levels();
    bool found = false;
    Level step;
    for (std::uint32_t i = 0; i < levels; ++i) {
      // Calls that come equally often make the same level.
      if (i > 0 && levels_[i].length() == levels_[i - 1].length()) continue;
      Level level{levels_[i], &tallies_[found && step.tally == &tallies_[0] ? 1 : 0]};
      fill(level);
      if (level.tally->kinds < 2 || !has(level, is_compute) || (found && !is_step_of(level, step))) continue;
      step = level;
      found = true;
    }
    if (found) cut = cut_of(step);
    return found;
  }

  // Where no two steps need to hold the same calls: calls that come in turns, the shortest such round in which the program
  // waits for the GPU.
  bool find_rounds(StepCut& cut) const {
    if (!ok_) return false;
    bool found = false;
    std::size_t most = kLeastRounds;
    for (std::uint32_t sync = 0; sync < index_.kinds; ++sync) {
      if (!is_sync(token(sync).type) || index_.places_of(sync) <= most || !covers(sync)) continue;
      for (std::uint32_t other = 0; other < index_.kinds; ++other) {
        if (!is_compute(token(other).type) || !take_turns(sync, other)) continue;
        cut = StepCut{kind_of(sync), kind_of(sync), true, with_shape_, true};
        most = index_.places_of(sync);
        found = true;
        break;
      }
    }
    return found;
  }

 private:
  // One of the usual segments between calls of one kind, most of which hold the same calls.
  struct Segment {
    std::uint32_t anchor = 0, begin = 0, end = 0;
    std::uint32_t length() const { return end - begin; }
    bool comes_before(const Segment& other) const {
      return length() != other.length() ? length() < other.length() : anchor < other.anchor;
    }
  };
  // Calls of each kind in a segment; in `runs` those in succession are one.
  struct Tally {
    std::uint32_t *count = nullptr, *runs = nullptr, *held = nullptr;
    std::uint32_t kinds = 0;
  };
  struct Level {
    Segment segment;
    Tally* tally = nullptr;
    std::uint32_t count(std::uint32_t kind) const { return tally->count[kind]; }
    std::uint32_t run_count(std::uint32_t kind) const { return tally->runs[kind]; }
  };
  // Segments with the same calls.
  struct Usual {
    std::uint64_t sum = 0;
    std::uint32_t count = 0, at = 0;
    double ns = 0;
  };

  bool take(Workspace& space) {
    sums_ = space.take<std::uint64_t>(count_ + 1);
    slots_ = space.take<std::uint32_t>(slots_for(count_));
    usual_ = space.take<Usual>(count_);
    levels_ = space.take<Segment>(count_ / kLeastAnchors + 1);
    bool all = sums_ != nullptr && slots_ != nullptr && usual_ != nullptr && levels_ != nullptr;
    for (Tally& tally : tallies_) {
      tally = {space.take<std::uint32_t>(index_.kinds), space.take<std::uint32_t>(index_.kinds),
               space.take<std::uint32_t>(index_.kinds), 0};
      all = all && tally.count != nullptr && tally.runs != nullptr && tally.held != nullptr;
      if (!all) return false;
      set_all(tally.count, index_.kinds, std::uint32_t{0});
      set_all(tally.runs, index_.kinds, std::uint32_t{0});
    }
    return all;
  }

  std::uint64_t kind_of_token(const Token& one) const { return with_shape_ ? one.shape : one.work; }
  const Token& token(std::uint32_t kind) const { return tokens_[index_.of(kind)[0]]; }
  std::uint64_t kind_of(std::uint32_t id) const { return kind_of_token(token(id)); }

  // Shortest first. How many.
  std::uint32_t list_levels() {
    std::uint32_t count = 0;
    for (std::uint32_t kind = 0; kind < index_.kinds; ++kind) count += level_of(kind, levels_[count]);
    for (std::uint32_t gap = count / 2; gap > 0; gap /= 2)
      for (std::uint32_t i = gap; i < count; ++i) {
        const Segment one = levels_[i];
        std::uint32_t at = i;
        for (; at >= gap && one.comes_before(levels_[at - gap]); at -= gap) levels_[at] = levels_[at - gap];
        levels_[at] = one;
      }
    return count;
  }

  Usual& usual_of(std::uint64_t sum, std::size_t slots, std::uint32_t& used) {
    std::size_t at = mixed(sum) & (slots - 1);
    while (slots_[at] != 0 && usual_[slots_[at] - 1].sum != sum) at = (at + 1) & (slots - 1);
    if (slots_[at] == 0) {
      usual_[used] = {sum, 0, 0, 0};
      slots_[at] = ++used;
    }
    return usual_[slots_[at] - 1];
  }

  bool level_of(std::uint32_t kind, Segment& out) {
    const std::uint32_t size = index_.places_of(kind);
    const std::uint32_t* at = index_.of(kind);
    if (size < kLeastAnchors) return false;
    const std::size_t slots = slots_for(size);
    set_all(slots_, slots, std::uint32_t{0});
    std::uint32_t used = 0;
    const Usual* most = nullptr;
    for (std::uint32_t i = 0; i + 1 < size; ++i) {
      Usual& one = usual_of(sums_[at[i + 1]] - sums_[at[i]], slots, used);
      if (one.count++ == 0) one.at = i;
      one.ns += tokens_[at[i + 1]].begin_ns - tokens_[at[i]].begin_ns;
      if (most == nullptr || one.count > most->count) most = &one;
    }
    const Segment segment{kind, at[most->at], at[most->at + 1]};
    if (most->count + 1 < kLeastAnchors || !is_most(std::size_t{segment.length()} * most->count, most->ns))
      return false;
    out = segment;
    return true;
  }

  bool is_most(std::size_t tokens, double ns) const {
    return static_cast<double>(tokens) >= kLeastShare * static_cast<double>(count_) &&
           ns >= kLeastSpan * (tokens_[count_ - 1].end_ns - tokens_[0].begin_ns);
  }
  bool covers(std::uint32_t kind) const {
    const std::uint32_t first = index_.of(kind)[0], last = index_.of(kind)[index_.places_of(kind) - 1];
    return is_most(last - first, tokens_[last].begin_ns - tokens_[first].begin_ns);
  }
  // Of the two, hardly ever one comes twice in succession.
  bool take_turns(std::uint32_t one, std::uint32_t other) const {
    const std::uint32_t *a = index_.of(one), *b = index_.of(other);
    const std::size_t as = index_.places_of(one), bs = index_.places_of(other);
    if (as > bs + bs / 50 + 1 || bs > as + as / 50 + 1) return false;
    std::size_t alone = 0, at = 0;
    for (std::size_t i = 0; i + 1 < as; ++i) {
      std::size_t between = 0;
      while (at < bs && b[at] < a[i]) ++at;
      for (std::size_t look = at; look < bs && b[look] < a[i + 1]; ++look) ++between;
      alone += between != 1;
    }
    return alone * 20 <= as;
  }

  void fill(const Level& level) {
    Tally& tally = *level.tally;
    for (std::uint32_t i = 0; i < tally.kinds; ++i) tally.count[tally.held[i]] = tally.runs[tally.held[i]] = 0;
    tally.kinds = 0;
    const std::uint32_t begin = level.segment.begin;
    for (std::uint32_t i = begin; i < level.segment.end; ++i) {
      const std::uint32_t kind = index_.kind[i];
      if (tally.count[kind]++ == 0) tally.held[tally.kinds++] = kind;
      tally.runs[kind] += i == begin || kind != index_.kind[i - 1];
    }
  }

  bool has(const Level& level, bool (*is)(StepToken)) const {
    for (std::uint32_t i = 0; i < level.tally->kinds; ++i)
      if (is(token(level.tally->held[i]).type)) return true;
    return false;
  }
  std::uint64_t largest_collective(const Level& level) const {
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < level.tally->kinds; ++i) {
      const Token& one = token(level.tally->held[i]);
      if (one.type == StepToken::kCollective && one.bytes > most) most = one.bytes;
    }
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
    const std::uint32_t times = longer.run_count(shorter.segment.anchor);
    for (std::uint32_t i = 0; i < longer.tally->kinds; ++i) {
      const std::uint32_t kind = longer.tally->held[i], count = longer.count(kind), usual = times * shorter.count(kind);
      const Token& one = token(kind);
      if (!is_compute(one.type)) continue;
      if (usual != 0) {
        extra.ordinary += count > usual ? count - usual : usual - count;
        continue;
      }
      extra.compute += count;
      if (one.type == StepToken::kCollective && one.bytes > extra.collective_bytes) extra.collective_bytes = one.bytes;
    }
    return extra;
  }

  // Which of two levels is the step: what comes besides in the longer one must be more than what a checkpoint, a
  // logged number or an evaluation adds to some steps.
  bool is_step_of(const Level& longer, const Level& shorter) const {
    const std::uint32_t times = longer.run_count(shorter.segment.anchor);
    if (longer.segment.length() == shorter.segment.length() || times < 2) return false;
    const Extra extra = extra_of(longer, shorter);
    if (extra.compute == 0) return false;
    if (!has(shorter, is_input)) return true;
    // Who waits for the GPU several times in a step is given new data once in it. One graph a token is decoding: the data is a prompt.
    const bool is_fed = has(longer, feeds) && !has(shorter, feeds) && !has(shorter, is_graph);
    // Every so many launches it waits, and what is left of them at the step's end is less than that.
    if (extra.ordinary > (is_fed ? shorter.segment.length() : 0)) return false;
    if (is_fed && waits_for_few_kernels(shorter)) return true;
    if (times > kMostMicroBatches) return false;
    if (extra.collective_bytes > largest_collective(shorter)) return true;
    if (has(shorter, is_sync)) return is_fed;
    return extra.compute * std::uint64_t{100} >= longer.segment.length() / times;
  }

  // Of one kind. No step is that small.
  bool waits_for_few_kernels(const Level& level) const {
    if (level.segment.length() > kFewKernels + 1 || level.tally->kinds != 2) return false;
    const StepToken one = token(level.tally->held[0]).type, other = token(level.tally->held[1]).type;
    return (one == StepToken::kLaunch && is_sync(other)) || (other == StepToken::kLaunch && is_sync(one));
  }

  bool is_once(const Level& level, std::uint32_t kind) const { return level.count(kind) == 1; }

  double gap_after(const Level& level, std::uint32_t at) const {
    const Segment& segment = level.segment;
    const std::uint32_t kind = index_.kind[at], next = index_.kind[at + 1 == segment.end ? segment.begin : at + 1];
    double total_ns = 0;
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < index_.places_of(kind); ++i) {
      const std::uint32_t place = index_.of(kind)[i];
      if (place + 1 >= count_ || index_.kind[place + 1] != next) continue;
      total_ns += tokens_[place + 1].begin_ns - tokens_[place].end_ns;
      ++count;
    }
    return count == 0 ? 0 : total_ns / static_cast<double>(count);
  }

  StepCut cut(const Level& level, std::uint32_t arm, std::uint32_t at, bool at_end) const {
    return {kind_of(arm), kind_of(at), at_end, with_shape_, has(level, is_sync)};
  }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // A step ends where the program last waits for the GPU, or begins with its first copy, or else at its longest gap.
  StepCut cut_of(const Level& level) const {
    std::uint32_t sync = kNone, any = kNone;
    double sync_ns = 0, any_ns = 0;
    for (std::uint32_t at = level.segment.begin; at < level.segment.end; ++at) {
      if (!is_once(level, index_.kind[at])) continue;
      const double gap_ns = gap_after(level, at);
      if (is_sync(tokens_[at].type) && (sync == kNone || gap_ns > sync_ns)) sync = at, sync_ns = gap_ns;
      if (any == kNone || gap_ns > any_ns) any = at, any_ns = gap_ns;
    }
    if (sync != kNone) return cut(level, index_.kind[sync], index_.kind[sync], true);
    StepCut copy;
    if (first_copy(level, copy)) return copy;
    if (any != kNone) return cut(level, index_.kind[any], index_.kind[any], true);
    // The anchor comes once at least in succession: what comes behind it.
    std::uint32_t behind = level.segment.begin;
    while (behind + 1 < level.segment.end && index_.kind[behind] == level.segment.anchor) ++behind;
    return cut(level, level.segment.anchor, index_.kind[behind], false);
  }

  // Behind the longest stretch without copies, if something in it comes once in a step, or the copy does itself.
  bool first_copy(const Level& level, StepCut& out) const {
    std::uint32_t stretch = 0, best = 0, once = kNone, arm = kNone, first = kNone;
    const std::uint32_t length = level.segment.length();
    for (std::uint32_t i = 0; i < 2 * length; ++i) {  // round and round: a stretch may begin before the anchor
      const std::uint32_t kind = index_.kind[level.segment.begin + i % length];
      if (!is_copy(token(kind).type)) {
        ++stretch;
        if (level.run_count(kind) == 1) once = kind;
        continue;
      }
      const std::uint32_t armed = is_once(level, kind) ? kind : once;
      if (armed != kNone && stretch > best) {
        best = stretch;
        arm = armed;
        first = kind;
      }
      stretch = 0;
      once = kNone;
    }
    if (arm == kNone) return false;
    out = cut(level, arm, first, false);
    return true;
  }

  const Token* tokens_;
  std::size_t count_;
  bool with_shape_;
  bool ok_ = false;
  KindIndex index_;
  std::uint64_t* sums_ = nullptr;  // of the tokens before; equal differences are equal multisets
  std::uint32_t* slots_ = nullptr;
  Usual* usual_ = nullptr;
  Segment* levels_ = nullptr;
  Tally tallies_[2];
};

// Of calls in order; `memory` has period_bytes(count), aligned to 16. The time is linear in them. False: there is none.
inline bool find_period(const Token* tokens, std::size_t count, void* memory, StepCut& cut) {
  if (count < 2 * kLeastAnchors) return false;
  if (Periods(tokens, count, true, memory).find(cut)) return true;
  Periods by_name(tokens, count, false, memory);
  return by_name.find(cut) || by_name.find_rounds(cut);
}

}  // namespace hostprobe
