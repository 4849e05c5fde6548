// other_calls.cpp: see other_calls.h.
#include "other_calls.h"

#include <utility>

namespace hostprobe::analysis {
namespace {

template <std::size_t... N>
void merge_each(auto& own, auto&& other, std::index_sequence<N...>) {
  (std::get<N>(own).merge(std::move(std::get<N>(other))), ...);
}

template <typename... All>
std::tuple<All...> make_each(const Timeline& timeline, const std::tuple<All...>*) {
  return std::tuple<All...>(All(timeline)...);
}

}  // namespace

OtherCalls::OtherCalls(const Timeline& timeline, const StepPlan& plan)
    : made_of_timeline_(make_each(timeline, static_cast<decltype(made_of_timeline_)*>(nullptr))),
      gc_(timeline, plan),
      gil_(timeline, plan),
      running_(timeline) {}

void OtherCalls::add(const Event& event) {
  std::apply([&event](auto&... one) { (one.add(event), ...); }, made_of_timeline_);
  gc_.add(event);
  gil_.add(event);
  running_.add(event);
}

void OtherCalls::merge(OtherCalls&& other) {
  merge_each(made_of_timeline_, std::move(other.made_of_timeline_),
             std::make_index_sequence<std::tuple_size_v<decltype(made_of_timeline_)>>());
  gc_.merge(other.gc_);
  gil_.merge(std::move(other.gil_));
  running_.merge(std::move(other.running_));
}

std::map<ThreadKey, Blocked> OtherCalls::finish(Symbols& symbols, const Window& window, ProcessAnswer& answer,
                                                ProcessWork& work) {
  work.collectives = std::get<Collectives>(made_of_timeline_).finish();
  work.collective_records =
      std::make_shared<Timeline::Collectives>(std::get<CollectiveRecords>(made_of_timeline_).finish());
  answer.progress = std::get<ProgressThreads>(made_of_timeline_).finish();
  answer.queue = std::get<QueueSamples>(made_of_timeline_).finish();
  answer.regions = std::get<Regions>(made_of_timeline_).finish();
  answer.masks = std::get<Masks>(made_of_timeline_).finish(symbols, answer.start_since_first_ns);
  answer.gc = gc_.finish(symbols);
  answer.gil = gil_.finish();
  answer.running = running_.finish(symbols, window, answer.steps.steps);
  return std::get<BlockedTime>(made_of_timeline_).finish();
}

}  // namespace hostprobe::analysis
