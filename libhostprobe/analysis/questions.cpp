// questions.cpp: see questions.h.
#include "questions.h"

#include <utility>

#include "analysis/graph/chain_walk.h"

namespace hostprobe::analysis {
Questions::Questions(const Timeline& timeline, const Window& window, const StepPlan& plan)
    : window_(window),
      everything_(window.is_whole()),
      hook_calls_(timeline),
      chains_(timeline),
      steps_(plan, timeline.trace().strings),
      steady_(timeline, plan),
      idle_(timeline, window),
      others_(timeline, plan) {}

void Questions::merge(Questions&& other) {
  hook_calls_.merge(other.hook_calls_);
  chains_.merge(std::move(other.chains_));
  others_.merge(std::move(other.others_));
  steps_.merge(std::move(other.steps_));
  steady_.merge(std::move(other.steady_));
  idle_.merge(std::move(other.idle_));
}

std::map<ThreadKey, Blocked> Questions::finish(Symbols& symbols, ProcessAnswer& answer, ProcessWork& work) {
  answer.hooks = hook_calls_.finish();
  steady_.finish_whole(symbols, answer);
  chains_.finish();
  work.blocked = std::make_shared<WakeChains>(std::move(chains_));
  set_chains(follow_chains({{work.blocked.get()}}, 0), answer);
  answer.steps = steps_.finish();
  if (everything_) answer.certain_idle = idle_.finish();
  return others_.finish(symbols, window_, answer, work);
}

}  // namespace hostprobe::analysis
