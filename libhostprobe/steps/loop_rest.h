// loop_rest.h: what a loop leaves over, and whether the program goes on with it or only looks at it.
//
// Room pure/. Between two segments that hold the body of a loop there may be others: what they hold besides is the rest. It is seen where
// it is read back by the host (a loss, an evaluation, a checkpoint); it changes the state where it is not.
#pragma once

#include "loop.h"

namespace hostprobe {

class LoopRest {
 public:
  // `loop` is one whose body `loops` has at hand.
  LoopRest(Loops& loops, const Loop& loop) : loops_(loops), loop_(loop), body_(loops.body()) {
    for (std::uint32_t i = 0; i < body_.kinds; ++i) {
      const Token& one = loops.token(body_.held[i]);
      if (one.type == StepToken::kCollective && one.bytes >= largest_collective_) largest_collective_ = one.bytes + 1;
      if (is_launch(one.type)) has_large_ = has_large_ || one.bytes != 1;
    }
    number_works();
    is_read_ = is_observed();
    is_fed_ = loops.body_has(feeds);
    is_graph_ = is_graph_alone();
    is_captured_ = is_read_ && is_graph_;
    walk();
  }

  // How often the rest changes the state, and whether evenly: then a longer loop is around this one.
  std::uint32_t changes() const { return changes_; }
  bool is_even() const { return is_even_; }
  // So seldom that steps would be off by less than they are told to be; or too few for a longer loop to show, which would then have to have
  // four bodies four times.
  bool is_rare() const {
    return changes_ * 50 <= segments_ ||
           (changes_ < kLeastAnchors && changes_ * kLeastAnchors * kLeastAnchors <= segments_);
  }
  // A graph is what the program repeats: several of one kind and nothing besides are more than a step.
  bool repeats_graph() const {
    for (std::uint32_t i = 0; is_graph_ && i < body_.kinds; ++i)
      if (loops_.token(body_.held[i]).type == StepToken::kGraph && body_.count[body_.held[i]] > 1) return true;
    return false;
  }
  bool loop_is_read() const { return is_read_; }
  // Something else comes at least every second time: a body follows itself. Nor do evaluations come as often, or take more than the rest.
  bool loop_is_broken() const {
    return 2 * foreign_ >= bodies_ || kLeastAnchors * evaluations_ > bodies_ ||
           (evaluated_runs_ > static_cast<double>(bodies_) * body_.all_runs && evaluated_ns_ > bodies_ns_);
  }

 private:
  const Token& at(std::uint32_t i) const { return loops_.tokens()[i]; }

  bool is_observed() const {
    for (std::uint32_t i = 0; i < body_.kinds; ++i)
      if (is_sync(loops_.token(body_.held[i]).type) && observes(body_.held[i])) return true;
    return false;
  }

  bool is_graph_alone() const {
    bool any = false;
    for (std::uint32_t i = 0; i < body_.kinds; ++i) {
      const Token& one = loops_.token(body_.held[i]);
      const bool is_number = (one.type == StepToken::kCollective && one.bytes <= kFewNumbers) ||
                             (one.type == StepToken::kLaunch && one.bytes == 1);
      any = any || one.type == StepToken::kGraph;
      if (is_compute(one.type) && one.type != StepToken::kGraph && !is_number) return false;
    }
    return any;
  }

  enum class Verdict : std::uint8_t {
    kSeen,  // by the host, and nothing else
    kOfANumber,  // launches of a single block, that nobody reads: they change the state if they come evenly, and else are checks
    kChanges,
  };

  // When something came, in segments since the last time.
  struct Gaps {
    std::uint32_t* lengths = nullptr;
    std::uint32_t times = 0, since = 0;

    void add() {
      if (times++ > 0) lengths[times - 2] = since;
      since = 0;
    }
    bool are_even() const { return times >= kLeastAnchors - 1 && has_majority(lengths, times - 1); }
  };

  // What lies between two anchors is the body, or the body with something besides; without the body it belongs to what comes before: an
  // evaluation may hold the anchor several times.
  void walk() {
    const std::uint32_t* places = loops_.places_of(loop_);
    Gaps changes{loops_.room()}, numbers{loops_.room() + loop_.places};
    for (std::uint32_t i = 0; i + 1 < loop_.places;) {
      std::uint32_t next = i + 1;
      const bool is_body = loops_.sum(places[i], places[next]) == loop_.sum;
      if (!is_body) {
        foreign_ += is_foreign(places[i], places[next]);
        while (next + 1 < loop_.places && is_foreign(places[next], places[next + 1])) ++next;
      }
      // Before the first body is the start of the program.
      if (!is_body && segments_ > 0 && next + 1 < loop_.places) {
        const Verdict verdict = judge(places[i], places[next]);
        if (verdict == Verdict::kChanges) changes.add();
        if (verdict == Verdict::kOfANumber) numbers.add();
      }
      segments_ += is_body || segments_ > 0;
      bodies_ += is_body;
      if (is_body) bodies_ns_ += at(places[next]).begin_ns - at(places[i]).begin_ns;
      ++changes.since, ++numbers.since;
      i = next;
    }
    const bool counts_numbers = numbers.times > changes.times && numbers.are_even();
    changes_ = counts_numbers ? numbers.times : changes.times;
    is_even_ = counts_numbers || changes.are_even();
  }

  bool is_foreign(std::uint32_t begin, std::uint32_t end) {
    if (loops_.sum(begin, end) == loop_.sum) return false;
    loops_.rest().fill(loops_.index(), begin, end);
    return copies_in(loops_.rest()) == 0;
  }

  // A longer loop has several segments, so what comes in each of them shows none: they vary.
  static bool has_majority(const std::uint32_t* numbers, std::uint32_t count) {
    std::uint32_t one = 0, votes = 0, equal = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (votes == 0) one = numbers[i];
      votes = numbers[i] == one ? votes + 1 : votes - 1;
    }
    for (std::uint32_t i = 0; i < count; ++i) equal += numbers[i] == one;
    return one > 1 && 2 * equal > count;
  }

  // How often a stretch holds the whole body, by what it computes and waits for.
  std::uint32_t copies_in(const Tally& rest) const {
    std::uint32_t copies = ~std::uint32_t{0};
    for (std::uint32_t i = 0; i < body_.kinds; ++i) {
      const std::uint32_t kind = body_.held[i], times = rest.count[kind] / body_.count[kind];
      const StepToken type = loops_.token(kind).type;
      if ((is_compute(type) || is_sync(type)) && times < copies) copies = times;
    }
    return copies;
  }

  std::uint32_t more_of(const Tally& rest, std::uint32_t kind, std::uint32_t copies) const {
    const std::uint32_t usual = copies * body_.count[kind];
    return rest.count[kind] > usual ? rest.count[kind] - usual : 0;
  }

  static std::uint64_t mark_of(const Token& one) { return mixed(one.work) | 1; }

  // The same kernel in another shape computes the same. A body comes four times, so its works have room.
  void number_works() {
    works_ = slots_for(body_.kinds);
    set_all(loops_.hash_room(), works_, std::uint64_t{0});
    for (std::uint32_t i = 0; i < body_.kinds; ++i)
      slot_of(loops_.token(body_.held[i])) = mark_of(loops_.token(body_.held[i]));
  }
  std::uint64_t& slot_of(const Token& one) const {
    const std::uint64_t mark = mark_of(one);
    std::size_t at = mark >> 1 & (works_ - 1);
    while (loops_.hash_room()[at] != 0 && loops_.hash_room()[at] != mark) at = (at + 1) & (works_ - 1);
    return loops_.hash_room()[at];
  }

  // What a graph holds is not known: any kernel may be among it.
  bool is_new(const Token& one) const { return !is_graph_ && slot_of(one) == 0; }

  // One block of a GPU works on a number, not on weights. A size of 0 is not known.
  bool is_small(const Token& one) const { return one.bytes == 1 && has_large_; }

  // Nothing is launched between it and the next read.
  bool is_read_at_once(std::uint32_t i, std::uint32_t end) const {
    while (i < end && (at(i).type == StepToken::kCollective || is_copy(at(i).type))) ++i;
    return i < end && is_read(at(i).type);
  }

  bool exchanges_more(std::uint32_t begin, std::uint32_t end) const {
    for (std::uint32_t i = begin; i < end; ++i)
      if (at(i).type == StepToken::kCollective && at(i).bytes >= largest_collective_ && at(i).bytes > kFewNumbers &&
          (largest_collective_ == 0 || !is_read_at_once(i, end)))
        return true;
    return false;
  }

  Verdict judge(std::uint32_t begin, std::uint32_t end) {
    Tally& rest = loops_.rest();
    rest.fill(loops_.index(), begin, end);
    const std::uint32_t copies = copies_in(rest);
    if (is_captured_) return Verdict::kSeen;
    if ((!is_fed_ && has(rest, feeds)) || exchanges_more(begin, end)) return Verdict::kChanges;
    return launches_more(begin, end, copies);
  }

  bool has(const Tally& rest, bool (*is)(StepToken)) const {
    for (std::uint32_t i = 0; i < rest.kinds; ++i)
      if (is(loops_.token(rest.held[i]).type)) return true;
    return false;
  }

  // What a body waits for again and again, as one that checks each kernel does, says nothing of what it is behind.
  bool observes(std::uint32_t kind) const { return is_read(loops_.token(kind).type) && body_.count[kind] <= 1; }

  // An evaluation does a part of what the body does, and is read; other work is not one, nor is work that nobody reads.
  Verdict launches_more(std::uint32_t begin, std::uint32_t end, std::uint32_t copies) {
    const Tally& rest = loops_.rest();
    std::uint32_t fresh = 0, known = 0, small = 0, reads = 0;
    for (std::uint32_t i = 0; i < rest.kinds; ++i) {
      const std::uint32_t kind = rest.held[i], more = more_of(rest, kind, copies);
      const Token& one = loops_.token(kind);
      if (observes(kind)) reads += more;
      if (is_launch(one.type)) (is_small(one) ? small : body_.count[kind] == 0 && is_new(one) ? fresh : known) += more;
    }
    if (fresh + known == 0) return small > 0 && reads == 0 ? Verdict::kOfANumber : Verdict::kSeen;
    if (reads == 0 || fresh > known || !leaves_work_out(rest, copies)) return Verdict::kChanges;
    if (fresh > 0 && !is_read_after(begin, end)) return Verdict::kChanges;
    note_evaluation(begin, end, copies);
    return Verdict::kSeen;
  }

  void note_evaluation(std::uint32_t begin, std::uint32_t end, std::uint32_t copies) {
    const double runs = loops_.rest().all_runs, own = runs - copies * body_.all_runs;
    ++evaluations_;
    evaluated_runs_ += own;
    evaluated_ns_ += own / runs * (at(end).begin_ns - at(begin).begin_ns);
  }

  bool leaves_work_out(const Tally& rest, std::uint32_t copies) const {
    for (std::uint32_t i = 0; i < body_.kinds; ++i) {
      const std::uint32_t kind = body_.held[i];
      if (is_launch(loops_.token(kind).type) && more_of(rest, kind, copies) == 0) return true;
    }
    return false;
  }

  bool is_read_after(std::uint32_t begin, std::uint32_t end) const {
    for (std::uint32_t i = end; i-- > begin;) {
      const std::uint32_t kind = loops_.index().kind[i];
      if (observes(kind)) return true;
      if (is_launch(at(i).type) && body_.count[kind] == 0 && !is_small(at(i)) && is_new(at(i))) return false;
    }
    return true;
  }

  static constexpr std::uint64_t kFewNumbers = 64;  // bytes: losses and norms, no gradients

  Loops& loops_;
  const Loop loop_;
  const Tally& body_;
  std::size_t works_ = 0;
  std::uint64_t largest_collective_ = 0;  // and one more; 0: none
  bool has_large_ = false, is_read_ = false, is_fed_ = false, is_graph_ = false, is_captured_ = false, is_even_ = false;
  double evaluated_runs_ = 0, evaluated_ns_ = 0, bodies_ns_ = 0;
  std::uint32_t segments_ = 0, bodies_ = 0, changes_ = 0, foreign_ = 0, evaluations_ = 0;
};

}  // namespace hostprobe
