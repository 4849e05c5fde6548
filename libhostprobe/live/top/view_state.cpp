// view_state.cpp: see view_state.h.
#include "view_state.h"

#include <algorithm>
#include <map>

namespace hostprobe::analysis {
namespace {

constexpr char kWork[] = "gpu_bound";

double cause_ms(const LiveRank& rank, const std::string& cause) {
  double ms = 0;
  for (const CausePart& part : rank.causes)
    if (cause.empty() ? part.cause != kWork : part.cause == cause) ms += part.ms;
  return ms;
}

double order_value(const LiveRank& rank, const ViewState& state) {
  switch (state.order) {
    case RankOrder::kStep:
      return rank.steps ? rank.steps->last_ms.back() : -1;
    case RankOrder::kCause:
      return cause_ms(rank, state.cause);
    case RankOrder::kCpu:
      return rank.cpu_pct.value_or(-1);
    case RankOrder::kRank:
      break;
  }
  return 0;
}

void choose_neighbour(ViewState& state, const LiveView& view, int by) {
  const std::vector<const LiveRank*> ranks = ordered_ranks(view, state);
  if (ranks.empty()) return;
  const LiveRank* chosen = chosen_rank(view, state);
  const auto at = std::find(ranks.begin(), ranks.end(), chosen) - ranks.begin() + by;
  state.chosen =
      ranks[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, static_cast<std::ptrdiff_t>(ranks.size()) - 1))]
          ->pid;
}

void scroll(ViewState& state, int by) {
  const auto last = static_cast<std::ptrdiff_t>(state.stacks.size());
  state.scroll = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(state.scroll) + by, 0,
                                                                     std::max<std::ptrdiff_t>(0, last - 1)));
}

void next_cause(ViewState& state, const LiveView& view) {
  const std::vector<CausePart> causes = all_causes(view);
  const auto at =
      std::find_if(causes.begin(), causes.end(), [&](const CausePart& one) { return one.cause == state.cause; });
  const bool starts = state.order != RankOrder::kCause || state.cause.empty() || at == causes.end();
  const auto next = starts ? causes.begin() : at + 1;
  state.order = RankOrder::kCause;
  state.cause = next == causes.end() ? "" : next->cause;
}

void toggle(ViewState& state, Panel panel) { state.panel = state.panel == panel ? Panel::kThreads : panel; }

// The fixes are chosen by letters, from a on.
Request press_in_fixes(ViewState& state, int key) {
  state.panel = Panel::kThreads;
  const int at = key - 'a';
  if (at < 0 || static_cast<std::size_t>(at) >= state.fixes.size()) return {};
  const std::string& fix = state.fixes[static_cast<std::size_t>(at)];
  return {Wish::kFix, fix, !state.fixes_on.contains(fix)};
}

}  // namespace

const char* order_name(RankOrder order) {
  switch (order) {
    case RankOrder::kRank:
      return "rank";
    case RankOrder::kStep:
      return "step";
    case RankOrder::kCause:
      return "cause";
    case RankOrder::kCpu:
      return "CPU";
  }
  return "rank";
}

std::vector<const LiveRank*> ordered_ranks(const LiveView& view, const ViewState& state) {
  std::vector<const LiveRank*> ranks;
  for (const LiveRank& rank : view.ranks) ranks.push_back(&rank);
  std::stable_sort(ranks.begin(), ranks.end(), [&](const LiveRank* l, const LiveRank* r) {
    return order_value(*l, state) > order_value(*r, state);
  });
  return ranks;
}

const LiveRank* chosen_rank(const LiveView& view, const ViewState& state) {
  for (const LiveRank& rank : view.ranks)
    if (rank.pid == state.chosen) return &rank;
  const std::vector<const LiveRank*> ranks = ordered_ranks(view, state);
  return ranks.empty() ? nullptr : ranks.front();
}

std::vector<CausePart> all_causes(const LiveView& view) {
  std::map<std::string, double> totals;
  for (const LiveRank& rank : view.ranks)
    for (const CausePart& part : rank.causes) totals[part.cause] += part.ms;
  std::vector<CausePart> causes;
  for (const auto& [cause, ms] : totals) causes.push_back({cause, ms});
  std::stable_sort(causes.begin(), causes.end(), [](const CausePart& l, const CausePart& r) { return l.ms > r.ms; });
  return causes;
}

Request press(ViewState& state, const LiveView& view, int key) {
  state.note.clear();
  if (key == 'q') return {Wish::kQuit};
  if (state.panel == Panel::kFixes) return press_in_fixes(state, key);
  const bool down = key == kKeyDown || key == 'j', up = key == kKeyUp || key == 'k';
  if (down || up) {
    if (state.panel == Panel::kStacks)
      scroll(state, down ? 1 : -1);
    else
      choose_neighbour(state, view, down ? 1 : -1);
    return {};
  }
  switch (key) {
    case '?':
    case 'h':
      toggle(state, Panel::kHelp);
      return {};
    case 'o':
      state.order = static_cast<RankOrder>((static_cast<int>(state.order) + 1) % 4);
      return {};
    case 'c':
      next_cause(state, view);
      return {};
    case 'f':
      state.panel = Panel::kFixes;
      return {};
    case 't':
      return {Wish::kTrigger};
    case 's':
      toggle(state, Panel::kStacks);
      return {state.panel == Panel::kStacks ? Wish::kStacks : Wish::kNothing};
    case kKeyEscape:
      state.panel = Panel::kThreads;
      return {};
    default:
      return {};
  }
}

}  // namespace hostprobe::analysis
