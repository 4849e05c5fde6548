// step_period.h: what repeats once in a step, found in the calls of one thread.
//
// Room pure/. Tokens in, a cut out. Calls are loops inside each other (layer, micro-batch, step, what lies between two evaluations): the
// step is the shortest of them that leaves over nothing but what the host looks at. docs/reference/steps.md says why.
#pragma once

#include "loop_rest.h"

namespace hostprobe {

inline constexpr std::size_t kLeastRounds = 8;

// A thread that launches so many times as long as all steps of its optimizer took, without another one, has them in a graph.
inline constexpr double kWithoutOptimizer = 9;

// Bytes of memory that a search among so many tokens takes, at most.
constexpr std::size_t period_bytes(std::size_t tokens) { return 136 * tokens + 4096; }

enum class PeriodResult : std::uint8_t {
  kFound,
  kParts,    // loops that are parts of something that does not repeat
  kUnclear,  // calls repeat, and none of the loops that they make has to be the step
  kNone,
};

class Periods {
 public:
  Periods(const Token* tokens, std::size_t count, bool with_shape, void* memory) : tokens_(tokens), count_(count) {
    Workspace space(memory, period_bytes(count));
    ok_ = loops_.make(tokens, count, with_shape, space);
  }

  // `strict`: no loop whose rest changes the state, if at uneven distances.
  PeriodResult find(bool strict, StepCut& cut) {
    if (!ok_) return PeriodResult::kNone;
    const std::uint32_t none = loops_.size();
    std::uint32_t round = none;  // of a program that decodes, if no longer loop shows
    bool any = false;
    for (std::uint32_t i = 0; i < none; ++i) {
      if (!loops_.explains(loops_[i])) continue;
      any = true;
      const LoopRest rest(loops_, loops_[i]);
      if (!is_part(rest)) {
        if (!rest.is_rare() || rest.repeats_graph() || !accounts_for_parts(i)) return PeriodResult::kUnclear;
        return take(rest, loops_[i], cut);
      }
      if (rest.loop_is_broken()) continue;
      if (round == none && !rest.is_even() && rest.loop_is_read() && accounts_for_parts(i)) round = i;
      loops_.note_changes(i, rest.changes());
      if (rest.changes() < fewest_) fewest_ = rest.changes();
    }
    if (strict || round == none) return any ? PeriodResult::kParts : PeriodResult::kNone;
    loops_.explains(loops_[round]);
    return take(LoopRest(loops_, loops_[round]), loops_[round], cut);
  }

  // Where no two steps need to hold the same calls: calls that come in turns, the shortest such round in which the program
  // waits for the GPU, and which accounts for what parts leave over.
  bool find_rounds(StepCut& cut) const {
    if (!ok_) return false;
    bool found = false;
    std::size_t most = kLeastRounds;
    for (std::uint32_t sync = 0; sync < index().kinds; ++sync) {
      if (!is_sync(loops_.token(sync).type) || index().places_of(sync) <= most || !covers(sync) ||
          index().places_of(sync) / 2 > fewest_)
        continue;
      for (std::uint32_t other = 0; other < index().kinds; ++other) {
        if (!is_compute(loops_.token(other).type) || !take_turns(sync, other)) continue;
        cut = StepCut{loops_.kind_of(sync), loops_.kind_of(sync), true, loops_.with_shape(), true};
        most = index().places_of(sync);
        found = true;
        break;
      }
    }
    return found;
  }

 private:
  const KindIndex& index() const { return loops_.index(); }

  // A longer loop is around it where its rest changes the state at even distances, or often. Where it does at uneven ones and the program
  // reads what each round gives there may be no longer loop: it decodes.
  static bool is_part(const LoopRest& rest) {
    return rest.loop_is_broken() || rest.is_even() || (!rest.is_rare() && rest.changes() >= kLeastAnchors);
  }

  // A loop around others accounts for what each of them leaves over, and no loop comes between, which would show where the nearest leaves
  // over something four times in each of its bodies. The body is at hand.
  bool accounts_for_parts(std::uint32_t loop) const {
    std::uint32_t fewest = 0;
    for (std::uint32_t i = 0; i < loop; ++i) {
      const std::uint32_t changes = loops_[i].changes;
      if (changes == 0 || loops_.body().count[index().kind[loops_[i].begin]] < 2) continue;
      if (fewest == 0 || changes < fewest) fewest = changes;
    }
    return fewest == 0 || (loops_[loop].count <= 2 * fewest + kLeastAnchors &&
                           fewest < kLeastAnchors * kLeastAnchors * loops_[loop].places);
  }

  PeriodResult take(const LoopRest& rest, const Loop& loop, StepCut& cut) {
    if (!cut_of(loop, cut)) return PeriodResult::kUnclear;
    cut.is_certain = rest.loop_is_read() && (rest.changes() == 0 || rest.changes() >= kLeastAnchors);
    return PeriodResult::kFound;
  }

  bool is_most(std::size_t tokens, double ns) const {
    return 2 * tokens >= count_ && ns >= kLeastSpan * (tokens_[count_ - 1].end_ns - tokens_[0].begin_ns);
  }
  bool covers(std::uint32_t kind) const {
    const std::uint32_t first = index().of(kind)[0], last = index().of(kind)[index().places_of(kind) - 1];
    return is_most(last - first, tokens_[last].begin_ns - tokens_[first].begin_ns);
  }
  // Of the two, hardly ever one comes twice in succession.
  bool take_turns(std::uint32_t one, std::uint32_t other) const {
    const std::uint32_t *a = index().of(one), *b = index().of(other);
    const std::size_t as = index().places_of(one), bs = index().places_of(other);
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

  static std::uint32_t next_in(const Loop& loop, std::uint32_t at) { return at + 1 == loop.end ? loop.begin : at + 1; }

  // Between a call of a body and what follows, in all of them; only where it comes once in a body, or the two do.
  double gap_after(const Loop& loop, std::uint32_t at) const {
    const std::uint32_t kind = index().kind[at], next = index().kind[next_in(loop, at)];
    const std::uint32_t pair = loops_.anchors().kind[next_in(loop, at)];
    const bool by_pair = index().places_of(kind) > 2 * loop.places;
    const std::uint32_t places = by_pair ? loops_.anchors().places_of(pair) : index().places_of(kind);
    if (places == 0 || places > 2 * loop.places) return -1;
    double total_ns = 0;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < places; ++i) {
      const std::uint32_t place = by_pair ? loops_.anchors().of(pair)[i] : index().of(kind)[i] + 1;
      if (place == 0 || place >= count_ || index().kind[place] != next) continue;
      total_ns += tokens_[place].begin_ns - tokens_[place - 1].end_ns;
      ++count;
    }
    return count == 0 ? -1 : total_ns / count;
  }

  // Where a body is cut: at the end of a call, or at its begin.
  struct Border {
    std::uint32_t at = 0;
    bool at_end = false;
    double weight = -1;  // of two of a sort the heavier one
  };

  // A step ends where the program last waits for the GPU, or begins with its first copy, or else at its longest gap. Not each of these can be
  // told from other places by the calls before it.
  bool cut_of(const Loop& loop, StepCut& cut) {
    return cut_at_gap(loop, true, cut) || arm(loop, first_copy(loop), cut) || cut_at_gap(loop, false, cut);
  }

  bool cut_at_gap(const Loop& loop, bool at_sync, StepCut& cut) {
    Border before;
    for (std::uint32_t tried = 0; tried < kBordersTried; ++tried) {
      Border longest;
      for (std::uint32_t at = loop.begin; at < loop.end; ++at) {
        if (at_sync && !is_sync(tokens_[at].type)) continue;
        const double gap_ns = gap_after(loop, at);
        const bool is_left = tried == 0 || gap_ns < before.weight || (gap_ns == before.weight && at < before.at);
        if (gap_ns >= 0 && is_left && gap_ns >= longest.weight) longest = {at, true, gap_ns};
      }
      if (longest.weight < 0) return false;
      if (arm(loop, longest, cut) || arm(loop, {next_in(loop, longest.at), false, 0}, cut)) return true;
      before = longest;
    }
    return false;
  }

  // Behind the longest stretch without copies; round and round, for a body may begin anywhere.
  Border first_copy(const Loop& loop) const {
    Border copy;
    std::uint32_t since_copy = 0;
    for (std::uint32_t i = 0; i < 2 * loop.length(); ++i) {
      const std::uint32_t at = loop.begin + i % loop.length();
      const bool is_one = is_copy(tokens_[at].type);
      if (is_one && since_copy > copy.weight) copy = {at, false, static_cast<double>(since_copy)};
      since_copy = is_one ? 0 : since_copy + 1;
    }
    return copy;
  }

  // What comes nearest before it and with which each step is cut once.
  bool arm(const Loop& loop, const Border& border, StepCut& cut) {
    if (border.weight < 0) return false;
    const std::uint32_t length = loop.length();
    std::uint32_t best = ~std::uint32_t{0}, tried = 0;
    Tally& seen = loops_.rest();
    seen.fill(index(), loop.begin, loop.begin);
    for (std::uint32_t i = 0; i < length && tried < kArmsTried; ++i) {
      const std::uint32_t at = loop.begin + (border.at - loop.begin + length - i) % length, kind = index().kind[at];
      if (seen.count[kind] != 0) continue;
      seen.count[kind] = 1;
      seen.held[seen.kinds++] = kind;
      const StepCut one{loops_.kind_of(kind), loops_.kind_of(index().kind[border.at]), border.at_end,
                        loops_.with_shape(), false};
      if (!cuts_only_at(one, loop, border.at)) continue;
      ++tried;
      const std::uint32_t cuts = cuts_in_all(one);
      if (cuts < best) best = cuts, cut = one;
    }
    return tried > 0;
  }

  // Round and round: the first time only says where it is armed.
  bool cuts_only_at(const StepCut& cut, const Loop& loop, std::uint32_t border) const {
    StepCutter cutter(cut);
    double at_ns = 0;
    bool cuts = false;
    for (std::uint32_t round = 0; round < 2; ++round)
      for (std::uint32_t i = loop.begin; i < loop.end; ++i) {
        if (!cutter.ends(tokens_[i], at_ns) || round == 0) continue;
        if (i != border) return false;
        cuts = true;
      }
    return cuts;
  }

  std::uint32_t cuts_in_all(const StepCut& cut) const {
    StepCutter cutter(cut);
    std::uint32_t cuts = 0;
    double at_ns = 0;
    for (std::size_t i = 0; i < count_; ++i) cuts += cutter.ends(tokens_[i], at_ns);
    return cuts;
  }

  static constexpr std::uint32_t kBordersTried = 8;
  static constexpr std::uint32_t kArmsTried = 8;  // each is a walk over all calls

  const Token* tokens_;
  std::size_t count_;
  bool ok_ = false;
  std::uint32_t fewest_ = ~std::uint32_t{0};  // changes that any part leaves over
  Loops loops_;
};

// Of calls in order; `memory` has period_bytes(count), aligned to 16. The time is linear in them. False: there is none.
inline bool find_period(const Token* tokens, std::size_t count, void* memory, StepCut& cut) {
  if (count < 2 * kLeastAnchors) return false;
  const PeriodResult by_shape = Periods(tokens, count, true, memory).find(false, cut);
  if (by_shape == PeriodResult::kFound) return true;
  Periods by_name(tokens, count, false, memory);
  const PeriodResult result = by_name.find(by_shape != PeriodResult::kNone, cut);
  if (result == PeriodResult::kFound) return true;
  return by_shape != PeriodResult::kUnclear && result != PeriodResult::kUnclear && by_name.find_rounds(cut);
}

}  // namespace hostprobe
