// steps.cpp: see steps.h.
#include "steps.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <vector>

#include "model/step_period.h"
#include "model/timeline.h"
#include "steps/step_period.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFirstSample = 1 << 16;  // tokens
constexpr std::size_t kLargestSample = 1 << 20;
constexpr std::size_t kThreadsTried = 3;

bool may_hold(const Timeline& timeline, const Slice& slice, bool (*is)(const Function&)) {
  return std::any_of(timeline.functions().begin(), timeline.functions().end(), [&](const Function& function) {
    return is(function) && slice.may_hold(static_cast<std::uint16_t>(function.row + 1));
  });
}
using IsMark = bool (*)(const Function&);
bool is_own_mark(const Function& function) { return function.is(kMarksStep) && !function.is(kOfOptimizer); }
bool is_optimizers_mark(const Function& function) { return function.is(kOfOptimizer); }
bool is_gpu_token(const Function& function) {
  return function.step_token != StepToken::kNone && function.step_token != StepToken::kWait;
}
bool is_wait_token(const Function& function) { return function.step_token == StepToken::kWait; }

std::uint64_t count_records(const Timeline& timeline, const Track& track, bool (*is)(const Function&)) {
  std::uint64_t count = 0;
  for (const Slice& slice : track.thread->slices)
    if (may_hold(timeline, slice, is)) count += slice.count;
  return count;
}

// Of one thread, from its first mark to its last.
struct Marks {
  std::uint64_t count = 0;
  Window span{0, 0};

  void add(const Event& event) {
    span.begin_ns = count == 0 ? event.begin_ns : std::min(span.begin_ns, event.begin_ns);
    span.end_ns = count == 0 ? event.end_ns : std::max(span.end_ns, event.end_ns);
    ++count;
  }
};

Marks marks_in(const Timeline& timeline, const Track& track, std::size_t slice, IsMark is_mark) {
  Marks marks;
  timeline.walk(track, SliceRange{slice, slice + 1}, [&marks, is_mark](const Event& event) {
    if (event.type == EventType::kCall && is_mark(*event.function)) marks.add(event);
  });
  return marks;
}

// Only the first and the last slice with a mark are read, unless they are to be counted.
Marks marks_of(const Timeline& timeline, const Track& track, IsMark is_mark, bool count_all) {
  const std::vector<Slice>& slices = track.thread->slices;
  Marks all;
  std::size_t first = 0, last = slices.size();
  const auto take = [&](std::size_t at) {
    const Marks some = marks_in(timeline, track, at, is_mark);
    if (some.count == 0) return false;
    all.span.begin_ns = all.count == 0 ? some.span.begin_ns : std::min(all.span.begin_ns, some.span.begin_ns);
    all.span.end_ns = all.count == 0 ? some.span.end_ns : std::max(all.span.end_ns, some.span.end_ns);
    all.count += some.count;
    return true;
  };
  for (; first < slices.size(); ++first)
    if (may_hold(timeline, slices[first], is_mark) && take(first) && !count_all) break;
  if (count_all || all.count == 0) return all;
  while (--last > first)
    if (may_hold(timeline, slices[last], is_mark) && take(last)) break;
  return all;
}

// Of which only counters are left: they have no place in time, but are marks.
std::uint64_t counted_marks(const Timeline& timeline, const Track& track, IsMark is_mark) {
  std::uint64_t count = 0;
  for (const auto& [key, sum] : track.thread->counters) {
    const std::uint16_t hook = sum_hook(key.first);
    if (hook > 0 && hook <= timeline.functions().size() && is_mark(timeline.functions()[hook - 1u]))
      count += sum.time.count();
  }
  return count;
}
bool has_counted_marks(const Timeline& timeline, IsMark is_mark) {
  return std::any_of(timeline.tracks().begin(), timeline.tracks().end(),
                     [&timeline, is_mark](const Track& track) { return counted_marks(timeline, track, is_mark) > 0; });
}

StepPlan plan_marks(const Timeline& timeline, IsMark is_mark) {
  std::vector<const Track*> marking;
  for (const Track& track : timeline.tracks())
    if (count_records(timeline, track, is_mark) + counted_marks(timeline, track, is_mark) > 0)
      marking.push_back(&track);
  StepPlan plan;
  std::uint64_t most = 0;
  for (const Track* track : marking) {
    const Marks marks = marks_of(timeline, *track, is_mark, marking.size() > 1);
    const std::uint64_t count = marks.count + counted_marks(timeline, *track, is_mark);
    if (count <= most) continue;
    most = count;
    plan = {};
    if (marks.count == 0) continue;
    plan = {StepChoice::kAuto, StepSource::kMarks, track, is_mark == is_optimizers_mark, {}, marks.span};
  }
  return plan;
}

// Calls of one thread.
class Tokens {
 public:
  Tokens(const Timeline& timeline, const Track& track, bool waits)
      : timeline_(timeline), track_(track), waits_(waits) {}

  std::size_t slices() const { return track_.thread->slices.size(); }
  bool has_all(std::size_t most) const {
    std::uint64_t records = 0;
    for (const Slice& slice : track_.thread->slices) records += slice.count;
    return records <= most;
  }

  // Whole slices round the middle that hold about so many calls, or all.
  std::vector<Token> sample(std::size_t most) const {
    SliceRange range{0, slices()};
    if (!has_all(most)) {
      range.begin = range.end = slices() / 2;
      for (std::uint64_t held = 0; held < most && range.end - range.begin < slices();) {
        if (range.end < slices()) held += track_.thread->slices[range.end++].count;
        if (range.begin > 0 && held < most) held += track_.thread->slices[--range.begin].count;
      }
    }
    return read(range);
  }

  bool misses_calls() const { return track_.thread->lost > 0 || track_.thread->entry.skipped > 0; }

  // The longest stretch in which none is missing, or as many of it.
  std::vector<Token> whole_stretch(std::size_t most) const {
    std::vector<Token> longest, own;
    Token token;
    const auto end = [&] {
      if (own.size() > longest.size()) longest.swap(own);
      own.clear();
    };
    timeline_.walk(track_, SliceRange{0, slices()}, [&](const Event& event) {
      if (event.function == nullptr) return end();
      if (own.size() < most && is_one(event, token)) own.push_back(token);
    });
    end();
    return longest;
  }

  std::vector<Token> read(const SliceRange& range) const {
    std::vector<Token> tokens;
    Token token;
    timeline_.walk(track_, range, [&](const Event& event) {
      if (is_one(event, token)) tokens.push_back(token);
    });
    return tokens;
  }

 private:
  bool is_one(const Event& event, Token& token) const {
    return token_of(event, token) && (token.type == StepToken::kWait) == waits_;
  }

  const Timeline& timeline_;
  const Track& track_;
  bool waits_;
};

// The cuts in some tokens, and what lies between them.
struct Cuts {
  std::vector<double> at_ns;
  std::vector<std::uint64_t> held;  // held[i]: the calls from at_ns[i] to at_ns[i + 1], whatever their order

  Cuts(const std::vector<Token>& tokens, const StepCut& cut) {
    StepCutter cutter(cut);
    std::uint64_t sum = 0;
    double at = 0;
    for (const Token& token : tokens) {
      sum += token.work;
      if (!cutter.ends(token, at)) continue;
      if (!at_ns.empty()) held.push_back(sum);
      at_ns.push_back(at);
      sum = 0;
    }
  }
  // Nothing: there is no usual one.
  std::optional<std::uint64_t> usual() const {
    std::unordered_map<std::uint64_t, std::size_t> counts;
    for (const std::uint64_t sum : held) ++counts[sum];
    for (const auto& [sum, count] : counts)
      if (2 * count >= held.size() && count > 1) return sum;
    return std::nullopt;
  }
};

// The first usual step begins where start-up ends; what comes behind the last one is no step either.
bool find_span(const Tokens& tokens, const StepCut& cut, const std::optional<std::uint64_t>& usual, Window& span) {
  const auto is_usual = [&usual](std::uint64_t held) { return !usual || held == *usual; };
  for (std::size_t end = 1, size = 1; end <= tokens.slices(); size *= 2) {
    const Cuts cuts(tokens.read({0, end}), cut);
    const auto first = std::find_if(cuts.held.begin(), cuts.held.end(), is_usual);
    if (first != cuts.held.end()) {
      span.begin_ns = cuts.at_ns[static_cast<std::size_t>(first - cuts.held.begin())];
      break;
    }
    if (end == tokens.slices()) return false;
    end = std::min(end + size, tokens.slices());
  }
  for (std::size_t begin = tokens.slices(), size = 1;; size *= 2) {
    begin -= std::min(begin, size);
    const Cuts cuts(tokens.read({begin, tokens.slices()}), cut);
    const auto last = std::find_if(cuts.held.rbegin(), cuts.held.rend(), is_usual);
    if (last != cuts.held.rend()) {
      span.end_ns = cuts.at_ns[static_cast<std::size_t>(cuts.held.rend() - last)];
      return span.end_ns > span.begin_ns;
    }
    if (begin == 0) return false;
  }
}

StepPlan detect(const Timeline& timeline, const Track& track, bool waits) {
  const Tokens tokens(timeline, track, waits);
  // What comes behind a gap looks like another step, so where there are gaps they are looked for between two of them.
  const bool has_gaps = tokens.misses_calls();
  for (std::size_t most = has_gaps ? kLargestSample : kFirstSample;; most *= 4) {
    const bool is_last = most >= kLargestSample || tokens.has_all(most);
    const std::vector<Token> sample = has_gaps ? tokens.whole_stretch(most) : tokens.sample(most);
    const std::optional<StepCut> cut = waits ? find_wait_period(sample) : find_period(sample);
    if (cut && (cut->is_certain || is_last)) {
      StepPlan plan{StepChoice::kAuto, StepSource::kDetected, &track, false, *cut, {}};
      const auto usual = waits ? std::nullopt : Cuts(sample, *cut).usual();
      return find_span(tokens, *cut, usual, plan.span) ? plan : StepPlan{};
    }
    if (is_last) return {};
  }
}

// The main thread speaks for a process where it has a part in what is launched; else the thread that launches most.
std::vector<const Track*> leading(const Timeline& timeline) {
  std::vector<std::pair<std::uint64_t, const Track*>> counts;
  std::uint64_t most = 0;
  for (const Track& track : timeline.tracks()) {
    const std::uint64_t count = count_records(timeline, track, is_gpu_token);
    if (count > 0) counts.emplace_back(count, &track);
    most = std::max(most, count);
  }
  for (auto& [count, track] : counts)
    if (track->role == Role::kMain && count * 10 >= most) count += most;
  std::stable_sort(counts.begin(), counts.end(), [](const auto& l, const auto& r) { return l.first > r.first; });
  std::vector<const Track*> tracks;
  for (const auto& [count, track] : counts)
    if (tracks.size() < kThreadsTried) tracks.push_back(track);
  return tracks;
}

StepPlan plan_detected(const Timeline& timeline) {
  const std::vector<const Track*> tracks = leading(timeline);
  for (const Track* track : tracks)
    if (StepPlan plan = detect(timeline, *track, false); plan.source != StepSource::kNone) return plan;
  // Waits come as they like: only a rank of a job is sure to make steps at all.
  if (!tracks.empty() || timeline.trace().header.rank < 0) return {};
  for (const Track& track : timeline.tracks())
    if (track.role == Role::kMain && count_records(timeline, track, is_wait_token) > 0)
      return detect(timeline, track, true);
  return {};
}

// Of one thread; 0: none.
double last_launch_ns(const Timeline& timeline, const Track& track) {
  double last_ns = 0;
  for (std::size_t at = track.thread->slices.size(); at-- > 0 && last_ns == 0;)
    if (may_hold(timeline, track.thread->slices[at], is_gpu_token))
      timeline.walk(track, SliceRange{at, at + 1}, [&last_ns](const Event& event) {
        if (event.type == EventType::kCall && is_gpu_token(*event.function)) last_ns = std::max(last_ns, event.end_ns);
      });
  return last_ns;
}

// Its optimizer's steps are less than a tenth of the time in which it launches: they were captured into a graph, which runs since then.
bool launches_without(const Timeline& timeline, const StepPlan& optimizers) {
  if (optimizers.track == nullptr) return false;
  const double behind_ns = last_launch_ns(timeline, *optimizers.track) - optimizers.span.end_ns;
  return behind_ns > kWithoutOptimizer * (optimizers.span.end_ns - optimizers.span.begin_ns);
}

}  // namespace

StepPlan plan_steps(const Timeline& timeline, StepChoice choice) {
  StepPlan plan;
  const bool is_auto = choice == StepChoice::kAuto;
  if (is_auto || choice == StepChoice::kMarks) plan = plan_marks(timeline, is_own_mark);
  bool marked = plan.source != StepSource::kNone || has_counted_marks(timeline, is_own_mark);
  if (is_auto && !marked) {
    plan = plan_marks(timeline, is_optimizers_mark);
    plan.by_optimizer = marked = plan.source != StepSource::kNone || has_counted_marks(timeline, is_optimizers_mark);
    if (launches_without(timeline, plan))
      if (StepPlan detected = plan_detected(timeline); detected.source != StepSource::kNone) plan = std::move(detected);
  }
  if (choice == StepChoice::kDetected || (is_auto && !marked)) plan = plan_detected(timeline);
  plan.choice = choice;
  return plan;
}

}  // namespace hostprobe::analysis
