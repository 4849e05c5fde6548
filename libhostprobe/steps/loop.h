// loop.h: the loops that the calls of a thread are made of, and how much of the calls each of them explains.
//
// Room pure/. A loop is a body, held as how often it has calls of each kind, and the calls at which it is cut into segments. Segments that
// hold what the body holds cost nothing; of any other all that differs has to be written out.
#pragma once

#include "kind_index.h"

namespace hostprobe {

inline constexpr std::size_t kLeastAnchors = 4;  // fewer do not show a period: two equal distances may be chance
inline constexpr double kLeastSpan = 0.3;        // of the time: else it is a phase of the program, such as its start

// Calls of each kind in a stretch; in `runs` those in succession are one.
struct Tally {
  std::uint32_t *count = nullptr, *runs = nullptr, *held = nullptr;
  std::uint32_t kinds = 0, all_runs = 0;

  bool take(std::uint32_t all_kinds, Workspace& space) {
    count = space.take<std::uint32_t>(all_kinds);
    runs = space.take<std::uint32_t>(all_kinds);
    held = space.take<std::uint32_t>(all_kinds);
    if (count == nullptr || runs == nullptr || held == nullptr) return false;
    set_all(count, all_kinds, std::uint32_t{0});
    set_all(runs, all_kinds, std::uint32_t{0});
    return true;
  }
  void fill(const KindIndex& index, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = 0; i < kinds; ++i) count[held[i]] = runs[held[i]] = 0;
    kinds = all_runs = 0;
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t kind = index.kind[i];
      if (count[kind]++ == 0) held[kinds++] = kind;
      const bool is_new = i == begin || kind != index.kind[i - 1];
      runs[kind] += is_new;
      all_runs += is_new;
    }
  }
};

// A segment that most others between anchors of its kind are like. An anchor is a call of one kind behind a call of another: calls of a
// single kind need not come once in a loop, as those of an optimizer, but there is one step from the layers to the optimizer.
struct Loop {
  std::uint32_t anchor = 0, begin = 0, end = 0;
  std::uint32_t places = 0;   // of the anchor
  std::uint32_t count = 0;    // of segments that hold the same
  std::uint32_t changes = 0;  // how often its rest changes the state, once that is known
  std::uint64_t sum = 0;      // of the kinds in it

  std::uint32_t length() const { return end - begin; }
  bool has_same_body(const Loop& other) const { return length() == other.length() && sum == other.sum; }
  // Of those with the same body first the one whose anchor comes least elsewhere: it cuts nothing else in two.
  bool comes_before(const Loop& other) const {
    if (length() != other.length()) return length() < other.length();
    if (sum != other.sum) return sum < other.sum;
    const std::uint64_t own = std::uint64_t{count} * other.places, others = std::uint64_t{other.count} * places;
    return own != others ? own > others : anchor < other.anchor;
  }
};

class Loops {
 public:
  bool make(const Token* tokens, std::size_t count, bool with_shape, Workspace& space) {
    tokens_ = tokens;
    count_ = count;
    with_shape_ = with_shape;
    const auto kind_behind = [this](std::size_t i) { return std::uint64_t{kind_before(i)}; };
    const auto pair_at = [=, this](std::size_t i) { return kind_behind(i) << 32 | index_.kind[i]; };
    // Each graph is a whole that the program captured.
    const auto is_anchor = [=, this](std::size_t i) {
      return kind_behind(i) != index_.kind[i] + std::uint64_t{1} || tokens[i].type == StepToken::kGraph;
    };
    return room_.take(count, space) && index_.make(tokens, count, with_shape, room_, space) &&
           anchors_.make(count, pair_at, is_anchor, room_, space) && take(space) && (list(), true);
  }

  // Shortest first.
  std::uint32_t size() const { return size_; }
  const Loop& operator[](std::uint32_t i) const { return loops_[i]; }
  void note_changes(std::uint32_t i, std::uint32_t changes) { loops_[i].changes = changes; }
  const KindIndex& index() const { return index_; }
  const KindIndex& anchors() const { return anchors_; }
  const std::uint32_t* places_of(const Loop& loop) const { return anchors_.of(loop.anchor); }
  const Token* tokens() const { return tokens_; }
  const Token& token(std::uint32_t kind) const { return tokens_[index_.of(kind)[0]]; }
  std::uint64_t kind_of(std::uint32_t id) const { return kind_of_token(token(id)); }
  bool with_shape() const { return with_shape_; }
  std::uint64_t sum(std::uint32_t begin, std::uint32_t end) const { return sums_[end] - sums_[begin]; }
  // Room for as many numbers as there are calls, free between two calls of anything here.
  std::uint32_t* room() const { return room_.slots; }
  std::uint64_t* hash_room() const { return room_.hashes; }
  const Tally& body() const { return body_; }
  Tally& rest() { return rest_; }

  bool body_has(bool (*is)(StepToken)) const {
    for (std::uint32_t i = 0; i < body_.kinds; ++i)
      if (is(token(body_.held[i]).type)) return true;
    return false;
  }

  // Whether most calls need not be written out where this body is written once; the body is then at hand.
  bool explains(const Loop& loop) {
    body_.fill(index_, loop.begin, loop.end);
    const bool is_graph = tokens_[loop.begin].type == StepToken::kGraph;
    if ((body_.kinds < 2 && !is_graph) || !body_has(is_compute)) return false;
    const std::uint32_t* at = places_of(loop);
    const std::size_t slots = slots_for(loop.places);
    set_all(room_.slots, slots, std::uint32_t{0});
    std::uint32_t used = 0;
    std::size_t explained = 0;
    double ns = 0;
    for (std::uint32_t i = 0; i + 1 < loop.places; ++i) {
      const std::uint32_t length = runs_[at[i + 1]] - runs_[at[i]];
      Usual& one = usual_of(sum(at[i], at[i + 1]), slots, used);
      // What differs in the same way once more is written out already.
      if (one.count == 0) one.at = saved_by(loop, at[i], at[i + 1]);
      const std::uint32_t saved = one.count++ == 0 || one.sum == loop.sum || one.at == 0 ? one.at : length - 1;
      explained += saved;
      if (length > 0) ns += (tokens_[at[i + 1]].begin_ns - tokens_[at[i]].begin_ns) * saved / length;
    }
    const double all_ns = tokens_[count_ - 1].end_ns - tokens_[0].begin_ns;
    if (2 * ns >= all_ns && explained >= kLeastAnchors * std::size_t{body_.all_runs}) return true;
    return 2 * explained >= runs_[count_] + 2 * std::size_t{body_.all_runs} && ns >= kLeastSpan * all_ns;
  }

 private:
  struct Usual {
    std::uint64_t sum = 0;
    std::uint32_t count = 0, at = 0;
    double ns = 0;
  };

  std::uint64_t kind_of_token(const Token& one) const { return with_shape_ ? one.shape : one.work; }

  // Plus one; 0: none. A program that checks each kernel waits everywhere, so what it waits for tells no place from another.
  std::uint32_t kind_before(std::size_t i) const {
    const bool looks_further = !is_read(tokens_[i].type);
    while (looks_further && i > 0 && is_read(tokens_[i - 1].type)) --i;
    return i == 0 ? 0 : index_.kind[i - 1] + 1;
  }

  bool take(Workspace& space) {
    sums_ = space.take<std::uint64_t>(count_ + 1);
    runs_ = space.take<std::uint32_t>(count_ + 1);
    usual_ = space.take<Usual>(count_);
    loops_ = space.take<Loop>(2 * (count_ / kLeastAnchors) + 1);
    if (sums_ == nullptr || runs_ == nullptr || usual_ == nullptr || loops_ == nullptr) return false;
    sums_[0] = runs_[0] = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      sums_[i + 1] = sums_[i] + mixed(kind_of_token(tokens_[i]));
      runs_[i + 1] = runs_[i] + (i == 0 || index_.kind[i] != index_.kind[i - 1]);
    }
    return body_.take(index_.kinds, space) && rest_.take(index_.kinds, space);
  }

  void list() {
    std::uint32_t count = 0;
    for (std::uint32_t anchor = 0; anchor < anchors_.kinds; ++anchor) count += loops_of(anchor, loops_ + count);
    for (std::uint32_t gap = count / 2; gap > 0; gap /= 2)
      for (std::uint32_t i = gap; i < count; ++i) {
        const Loop one = loops_[i];
        std::uint32_t at = i;
        for (; at >= gap && one.comes_before(loops_[at - gap]); at -= gap) loops_[at] = loops_[at - gap];
        loops_[at] = one;
      }
    for (std::uint32_t i = 0; i < count; ++i)
      if (size_ == 0 || !loops_[i].has_same_body(loops_[size_ - 1])) loops_[size_++] = loops_[i];
  }

  Usual& usual_of(std::uint64_t sum, std::size_t slots, std::uint32_t& used) {
    std::size_t at = mixed(sum) & (slots - 1);
    while (room_.slots[at] != 0 && usual_[room_.slots[at] - 1].sum != sum) at = (at + 1) & (slots - 1);
    if (room_.slots[at] == 0) {
      usual_[used] = {sum, 0, 0, 0};
      room_.slots[at] = ++used;
    }
    return usual_[room_.slots[at] - 1];
  }

  // The body is what most segments hold, or, where every second one holds more, what the second most do. How many were found.
  std::uint32_t loops_of(std::uint32_t anchor, Loop* out) {
    const std::uint32_t size = anchors_.places_of(anchor);
    const std::uint32_t* at = anchors_.of(anchor);
    if (size < kLeastAnchors) return 0;
    const std::size_t slots = slots_for(size);
    set_all(room_.slots, slots, std::uint32_t{0});
    std::uint32_t used = 0;
    const Usual *most = &usual_[0], *second = nullptr;
    for (std::uint32_t i = 0; i + 1 < size; ++i) {
      Usual& one = usual_of(sum(at[i], at[i + 1]), slots, used);
      if (one.count++ == 0) one.at = i;
      one.ns += tokens_[at[i + 1]].begin_ns - tokens_[at[i]].begin_ns;
    }
    for (std::uint32_t i = 1; i < used; ++i) {
      const Usual* one = &usual_[i];
      if (one->count > most->count)
        second = most, most = one;
      else if (second == nullptr || one->count > second->count)
        second = one;
    }
    std::uint32_t found = 0;
    for (const Usual* one = most; one != nullptr; one = one == most ? second : nullptr) {
      const Loop loop{anchor, at[one->at], at[one->at + 1], size, one->count, 0, one->sum};
      if (one->count + 1 >= kLeastAnchors && is_worth(loop, *one)) out[found++] = loop;
    }
    return found;
  }

  // Half of the calls, or of the time, may lie in segments that hold more, so that a quarter is enough here.
  bool is_worth(const Loop& loop, const Usual& segments) const {
    return 4 * std::size_t{runs_[loop.end] - runs_[loop.begin]} * segments.count >= runs_[count_] ||
           4 * segments.ns >= tokens_[count_ - 1].end_ns - tokens_[0].begin_ns;
  }

  // Of a segment, what need not be written out: that it differs is one, what is more is one each, what is less has to be said with its
  // place.
  std::uint32_t saved_by(const Loop& loop, std::uint32_t begin, std::uint32_t end) {
    if (sum(begin, end) == loop.sum) return body_.all_runs;
    rest_.fill(index_, begin, end);
    std::uint32_t same = 0;
    for (std::uint32_t i = 0; i < rest_.kinds; ++i) {
      const std::uint32_t kind = rest_.held[i];
      same += rest_.runs[kind] < body_.runs[kind] ? rest_.runs[kind] : body_.runs[kind];
    }
    const std::uint32_t cost = 1 + (rest_.all_runs - same) + 2 * (body_.all_runs - same);
    return cost < rest_.all_runs ? rest_.all_runs - cost : 0;
  }

  const Token* tokens_ = nullptr;
  std::size_t count_ = 0;
  bool with_shape_ = false;
  NumberRoom room_;
  KindIndex index_, anchors_;
  std::uint64_t* sums_ = nullptr;  // of the tokens before; equal differences are equal multisets
  std::uint32_t* runs_ = nullptr;  // that began before; as often as one likes the same call is one
  Usual* usual_ = nullptr;
  Loop* loops_ = nullptr;
  std::uint32_t size_ = 0;
  Tally body_, rest_;
};

}  // namespace hostprobe
