// view_lines.h: the screen of `hostprobe top`, as lines of styled text.
//
// Room 3. A pure function of the view, what of it is chosen, and the size of the screen. Nothing depends on colour.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "live_view.h"
#include "view_state.h"

namespace hostprobe::analysis {

enum class Look { kPlain, kTitle, kFaint, kAlarm, kChosen, kCause };

struct Span {
  std::string text;
  Look look = Look::kPlain;
  unsigned cause = 0;  // of kCause: which one, by weight
};

using ViewLine = std::vector<Span>;

struct ScreenSize {
  std::size_t width = 80;
  std::size_t height = 0;  // 0: as many lines as there are; then without what only a keyboard needs
  bool utf8 = true;        // else bars and curves are made of ASCII
};

// At most `height` lines of at most `width` columns.
std::vector<ViewLine> view_lines(const LiveView& view, const ViewState& state, const ScreenSize& size);

std::string plain_text(const std::vector<ViewLine>& lines);

// One character for each of `width` groups of lengths, the longest of the group; the highest stands for four medians at most.
std::string curve_text(const std::vector<double>& last_ms, std::size_t width, bool utf8);

// Of each cause the character that it has in bars; no two have the same.
std::vector<char> cause_letters(const std::vector<CausePart>& causes);

}  // namespace hostprobe::analysis
