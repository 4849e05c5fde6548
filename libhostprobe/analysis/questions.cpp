// questions.cpp: see questions.h.
#include "questions.h"

#include <utility>

#include "analysis/graph/chain_walk.h"

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

Questions::Questions(const Timeline& timeline, const Window& window, const StepPlan& plan)
    : window_(window),
      everything_(window.is_whole()),
      hook_calls_(timeline),
      chains_(timeline),
      steps_(plan),
      steady_(timeline, plan),
      idle_(timeline, window),
      others_(make_each(timeline, static_cast<decltype(others_)*>(nullptr))),
      gc_(timeline, plan),
      gil_(timeline, plan),
      running_(timeline) {}

void Questions::ask_others(const Event& event) {
  std::apply([&event](auto&... one) { (one.add(event), ...); }, others_);
  gc_.add(event);
  gil_.add(event);
  running_.add(event);
}

void Questions::merge(Questions&& other) {
  hook_calls_.merge(other.hook_calls_);
  chains_.merge(std::move(other.chains_));
  merge_each(others_, std::move(other.others_), std::make_index_sequence<std::tuple_size_v<decltype(others_)>>());
  steps_.merge(std::move(other.steps_));
  gc_.merge(other.gc_);
  gil_.merge(std::move(other.gil_));
  running_.merge(std::move(other.running_));
  steady_.merge(std::move(other.steady_));
  idle_.merge(std::move(other.idle_));
}

std::map<ThreadKey, Blocked> Questions::finish(Symbols& symbols, ProcessAnswer& answer, ProcessWork& work) {
  answer.hooks = hook_calls_.finish();
  steady_.finish_whole(symbols, answer);
  chains_.finish();
  work.blocked = std::make_shared<WakeChains>(std::move(chains_));
  set_chains(follow_chains({{work.blocked.get()}}, 0), answer);
  work.collectives = std::get<Collectives>(others_).finish();
  work.collective_records = std::make_shared<Timeline::Collectives>(std::get<CollectiveRecords>(others_).finish());
  answer.progress = std::get<ProgressThreads>(others_).finish();
  answer.queue = std::get<QueueSamples>(others_).finish();
  answer.regions = std::get<Regions>(others_).finish();
  answer.steps = steps_.finish();
  answer.gc = gc_.finish();
  if (everything_) answer.certain_idle = idle_.finish();
  answer.gil = gil_.finish();
  answer.running = running_.finish(symbols, window_, answer.steps.steps);
  return std::get<BlockedTime>(others_).finish();
}

}  // namespace hostprobe::analysis
