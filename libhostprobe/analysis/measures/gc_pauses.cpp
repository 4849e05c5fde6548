// gc_pauses.cpp: see gc_pauses.h.
#include "gc_pauses.h"

#include <algorithm>

#include "model/window.h"

namespace hostprobe::analysis {
namespace {

bool was_asked(const Trace& trace) {
  return std::any_of(trace.hooks.begin(), trace.hooks.end(),
                     [](const Hook& hook) { return hook.used && hook.role == HookRole::kGarbage; });
}

Window later_half_of(const Trace& trace) {
  TickReader ticks(trace.clock);
  const double begin_ns = trace.header.start.ticks != 0 ? ticks.since_first_ns(trace.header.start.ticks) : 0;
  const double end_ns = std::max(begin_ns, ticks.since_first_ns(trace.last.ticks));
  return {(begin_ns + end_ns) / 2, end_ns};
}

constexpr std::size_t kFewestInThirds = 6;  // of collections, from which on thirds of them say something
constexpr double kLeastHeapGrowth = 0.05;   // of what lived in the first third

double mean(auto begin, auto end, auto value) {
  double sum = 0;
  for (auto one = begin; one != end; ++one) sum += value(*one);
  return begin == end ? 0 : sum / static_cast<double>(end - begin);
}

}  // namespace

GcPauses::GcPauses(const Timeline& timeline, const StepPlan& plan)
    : trace_(timeline.trace()),
      is_told_(was_asked(timeline.trace())),
      has_steps_(plan.source != StepSource::kNone),
      span_(plan.span),
      later_half_(later_half_of(timeline.trace())) {
  answer_.later_half_ns = later_half_.length_ns();
}

void GcPauses::add_pause(const Event& event) {
  // The records of what counters hold, too, tell when it was.
  if (event.type == EventType::kCall) {
    if (has_steps_) answer_.in_steps_ns += inside_ns(span_, event);
    answer_.placed_ns += event.duration_ns;
    answer_.late_ns += inside_ns(later_half_, event);
    add_placed(event);
  }
  if (event.counted) return;
  Histogram& generation = answer_.by_generation[event.work];
  if (event.distribution != nullptr) {
    answer_.time.add(event.distribution->time);
    generation.add(event.distribution->time);
  } else {
    answer_.time.add(event.duration_ns);
    generation.add(event.duration_ns);
  }
}

void GcPauses::add_placed(const Event& event) {
  const double inside = inside_ns(has_steps_ ? span_ : later_half_, event);
  if (inside <= 0) return;
  const Function& function = *event.function;
  GcWork& work = answer_.work;
  const std::uint64_t collected = word(*event.record, function.collected);
  const bool requested = word(*event.record, function.requested) != 0;
  work.ns += inside;
  work.collected += collected;
  if (requested) ++work.requests, work.requests_collected += collected, work.requests_ns += inside;
  if (event.work > 0)
    collections_.push_back(
        {event.begin_ns, event.duration_ns, event.work, word(*event.record, function.blocks), event.stack, requested});
}

// A heap that breathes does not grow: the least of the last third is more than the most of the first one.
LivingBlocks GcPauses::living_blocks(const std::vector<Collection>& collections) {
  std::vector<Collection> counted;
  for (const Collection& one : collections)
    if (one.blocks > 0) counted.push_back(one);
  if (counted.size() < kFewestInThirds) return {};
  const auto third = static_cast<std::ptrdiff_t>(counted.size() / 3);
  const auto first_end = counted.begin() + third, last_begin = counted.end() - third;
  const auto by_blocks = [](const Collection& l, const Collection& r) { return l.blocks < r.blocks; };
  const auto blocks = [](const Collection& one) { return static_cast<double>(one.blocks); };
  const auto at = [](const Collection& one) { return one.at_ns; };
  LivingBlocks living{mean(counted.begin(), first_end, blocks), mean(last_begin, counted.end(), blocks)};
  const double span_ns = mean(last_begin, counted.end(), at) - mean(counted.begin(), first_end, at);
  const bool apart = std::max_element(counted.begin(), first_end, by_blocks)->blocks <
                     std::min_element(last_begin, counted.end(), by_blocks)->blocks;
  if (apart && span_ns > 0 && living.last >= (1 + kLeastHeapGrowth) * living.first)
    living.per_ns = (living.last - living.first) / span_ns;
  return living;
}

void GcPauses::tell_pauses(const std::vector<Collection>& collections, GcWork& work) {
  std::uint64_t oldest = 0;
  for (const Collection& one : collections)
    if (!one.requested) oldest = std::max(oldest, one.generation);
  std::vector<double> pauses;
  for (const Collection& one : collections)
    if (!one.requested && one.generation == oldest) pauses.push_back(one.ns);
  if (pauses.size() < kFewestInThirds) return;
  const auto third = static_cast<std::ptrdiff_t>(pauses.size() / 3);
  const auto itself = [](double ns) { return ns; };
  work.first_pause_ns = mean(pauses.begin(), pauses.begin() + third, itself);
  work.last_pause_ns = mean(pauses.end() - third, pauses.end(), itself);
}

void GcPauses::tell_stack(const std::vector<Collection>& collections, GcWork& work, Symbols& symbols) const {
  const Collection* longest = nullptr;
  for (const Collection& one : collections)
    if (one.requested && one.stack != 0 && (longest == nullptr || one.ns > longest->ns)) longest = &one;
  const auto stack = longest == nullptr ? trace_.stacks.end() : trace_.stacks.find(longest->stack - 1u);
  if (stack != trace_.stacks.end()) work.requests_stack = stack_text(trace_, stack->second, symbols);
}

void GcPauses::merge(const GcPauses& other) {
  answer_.time.add(other.answer_.time);
  answer_.in_steps_ns += other.answer_.in_steps_ns;
  answer_.placed_ns += other.answer_.placed_ns;
  answer_.late_ns += other.answer_.late_ns;
  for (const auto& [generation, time] : other.answer_.by_generation) answer_.by_generation[generation].add(time);
  GcWork& work = answer_.work;
  const GcWork& more = other.answer_.work;
  work.ns += more.ns, work.collected += more.collected;
  work.requests += more.requests, work.requests_collected += more.requests_collected;
  work.requests_ns += more.requests_ns;
  collections_.insert(collections_.end(), other.collections_.begin(), other.collections_.end());
}

std::optional<GcAnswer> GcPauses::finish(Symbols& symbols) const {
  if (!is_told_ && answer_.time.count() == 0) return std::nullopt;
  GcAnswer answer = answer_;
  std::vector<Collection> collections = collections_;
  std::sort(collections.begin(), collections.end(),
            [](const Collection& l, const Collection& r) { return l.at_ns < r.at_ns; });
  answer.work.blocks = living_blocks(collections);
  tell_pauses(collections, answer.work);
  tell_stack(collections, answer.work, symbols);
  return answer;
}

}  // namespace hostprobe::analysis
