// chart.h: drawings of a page, as SVG that needs no script: bars of shares, ranges, and maps of cells.
//
// Room 3. Colours are those of page.css, by class, so that a page is light or dark as its reader has it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hostprobe::analysis {

struct BarPart {
  std::string style;  // a class of page.css
  double amount = 0;
  std::string title;  // what it is, for who points at it
};

// Parts side by side; `whole` is what the full width stands for.
std::string stacked_bar(const std::vector<BarPart>& parts, double whole, std::string_view label);

struct RangeBar {
  double value = 0;
  std::optional<double> low, high;
  double from = 0, to = 100;  // of the whole drawing
};
// A mark at the value, its range behind it, a line at 0.
std::string range_bar(const RangeBar& bar, std::string_view label);

// How values are spread: the middle half as a box, the middle nine tenths as a line, the median as a mark.
struct BoxBar {
  double p5 = 0, p25 = 0, p50 = 0, p75 = 0, p95 = 0;
  double to = 1;  // of the whole drawing, which begins at 0
};
std::string box_bar(const BoxBar& box, std::string_view style, std::string_view label);

struct CellMap {
  std::size_t columns = 0, rows = 0;
  int row_height = 14;                                            // pixels
  std::function<int(std::size_t column, std::size_t row)> level;  // 0: none; -1: not known
};
// `id` is what scripts know it by.
std::string cell_map(const CellMap& map, std::string_view id, std::string_view label);

struct Strip {
  std::vector<double> heights;      // of each column, of `most`; less than 0: not known
  std::vector<std::string> styles;  // a class of each
  double most = 1;
  struct Mark {
    std::size_t column = 0;
    std::string style, title;
  };
  std::vector<Mark> marks;  // above the columns
};
std::string strip(const Strip& strip, std::string_view id, std::string_view label);

struct Layer {
  std::string style;
  std::vector<double> heights;  // of each column
};
// Layers on top of each other, the first at the bottom.
std::string layered_strip(const std::vector<Layer>& layers, double most, std::string_view label);

// Spans of time in lanes below each other, and arrows between them.
struct LaneDrawing {
  struct Span {
    double at = 0, length = 0;
    std::string style, title;
  };
  struct Lane {
    std::string title;
    bool is_head = false;  // of those below it
    std::vector<Span> spans;
  };
  struct Arrow {
    std::size_t from = 0, to = 0;  // lanes
    double at = 0;
  };
  double to = 1;  // the drawing begins at 0
  std::vector<Lane> lanes;
  std::vector<Arrow> arrows;
};
std::string lane_drawing(const LaneDrawing& drawing, std::string_view label);

// Frames below who called them, as wide as their time.
struct FlameDrawing {
  struct Frame {
    double at = 0, length = 0;
    std::size_t depth = 0;
    std::string name, title;
  };
  double whole = 1;
  std::vector<Frame> frames;
};
std::string flame_drawing(const FlameDrawing& drawing, std::string_view label);

}  // namespace hostprobe::analysis
