// view_state.h: what of the view is on the screen, and what a key changes in it or asks for.
//
// Room 3. Pure: whoever reads the keyboard calls it, and does what is asked.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "live_view.h"

namespace hostprobe::analysis {

enum class RankOrder { kRank, kStep, kCause, kCpu };
enum class Panel { kThreads, kStacks, kFixes, kHelp };

const char* order_name(RankOrder order);

// Keys that are no characters.
inline constexpr int kKeyUp = 0x110000, kKeyDown = 0x110001, kKeyEscape = 27;

struct ViewState {
  RankOrder order = RankOrder::kRank;
  std::string cause = {};  // that `kCause` orders by; "": all but the GPU's
  pid_t chosen = 0;        // 0: the first row
  Panel panel = Panel::kThreads;
  std::size_t scroll = 0;                // lines of the stacks above the panel
  std::vector<std::string> stacks = {};  // lines
  std::vector<std::string> fixes = {};   // that there are
  std::set<std::string> fixes_on = {};   // put in place from here
  std::string note = {};                 // what the last request came to
};

enum class Wish { kNothing, kQuit, kTrigger, kStacks, kFix };

struct Request {
  Wish wish = Wish::kNothing;
  std::string fix = {};
  bool on = false;
};

// The ranks as they stand on the screen.
std::vector<const LiveRank*> ordered_ranks(const LiveView& view, const ViewState& state);
// nullptr: there are no ranks.
const LiveRank* chosen_rank(const LiveView& view, const ViewState& state);
// Of all ranks together, heaviest first.
std::vector<CausePart> all_causes(const LiveView& view);

Request press(ViewState& state, const LiveView& view, int key);

}  // namespace hostprobe::analysis
