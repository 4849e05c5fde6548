// chart.cpp: see chart.h.
#include "chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "markup.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr double kBarUnits = 200;
constexpr double kStripUnits = 100;
constexpr double kMarkUnits = 12;  // above the columns of a strip

std::string svg_begin(std::string_view style, double width, double height, std::string_view label) {
  return fmt::format(
      "<svg class=\"{}\" viewBox=\"0 0 {:.6g} {:.6g}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"",
      style, width, height, html_escaped(label));
}

std::string title_of(std::string_view title) {
  return title.empty() ? std::string() : fmt::format("<title>{}</title>", html_escaped(title));
}

// A drawing of data that cannot be drawn has no NaN in it, which no browser takes.
double within(double value, double from, double to) {
  return std::isfinite(value) ? std::clamp(value, from, to) : from;
}

// Cells of one level side by side are one line, as thick as a row is high.
void add_runs(const CellMap& map, std::map<int, std::string>& paths) {
  for (std::size_t row = 0; row < map.rows; ++row)
    for (std::size_t column = 0; column < map.columns;) {
      const int level = map.level(column, row);
      std::size_t end = column + 1;
      while (end < map.columns && map.level(end, row) == level) ++end;
      if (level != 0) paths[level] += fmt::format("M{} {}h{}", column, row, end - column);
      column = end;
    }
}

}  // namespace

std::string stacked_bar(const std::vector<BarPart>& parts, double whole, std::string_view label) {
  std::string out = svg_begin("bar", kBarUnits, 10, label) + ">";
  double at = 0;
  for (const BarPart& part : parts) {
    const double width = whole > 0 ? within(kBarUnits * part.amount / whole, 0, kBarUnits - at) : 0;
    if (width < 0.2) continue;
    out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"10\">{}</rect>",
                       html_escaped(part.style), at, width, title_of(part.title));
    at += width;
  }
  return out + "</svg>";
}

std::string range_bar(const RangeBar& bar, std::string_view label) {
  const auto x = [&bar](double value) {
    return bar.to > bar.from ? within(kBarUnits * (value - bar.from) / (bar.to - bar.from), 0, kBarUnits) : 0;
  };
  std::string out = svg_begin("bar range", kBarUnits, 10, label) + ">";
  out += fmt::format("<rect class=\"ground\" width=\"{:.0f}\" height=\"10\"/>", kBarUnits);
  const double zero = x(0), value = x(bar.value);
  out += fmt::format("<rect class=\"amount\" x=\"{:.1f}\" y=\"2\" width=\"{:.1f}\" height=\"6\"/>",
                     std::min(zero, value), std::abs(value - zero));
  if (bar.low && bar.high)
    out += fmt::format("<rect class=\"between\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"10\"/>", x(*bar.low),
                       std::max(1.0, x(*bar.high) - x(*bar.low)));
  if (bar.from < 0) out += fmt::format("<rect class=\"zero\" x=\"{:.1f}\" width=\"0.6\" height=\"10\"/>", zero);
  return out + "</svg>";
}

std::string box_bar(const BoxBar& box, std::string_view style, std::string_view label) {
  const auto x = [&box](double value) { return box.to > 0 ? within(kBarUnits * value / box.to, 0, kBarUnits) : 0; };
  const auto part = [&](double from, double to, double y, double height, std::string_view kind) {
    return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>", kind, x(from), y,
                       std::max(0.6, x(to) - x(from)), height);
  };
  return svg_begin("bar", kBarUnits, 10, label) + ">" + part(box.p5, box.p95, 4.5, 1, style) +
         part(box.p25, box.p75, 1, 8, style) + part(box.p50, box.p50, 0, 10, "zero") + "</svg>";
}

std::string cell_map(const CellMap& map, std::string_view id, std::string_view label) {
  std::map<int, std::string> paths;
  add_runs(map, paths);
  std::string out = svg_begin("map", static_cast<double>(map.columns), static_cast<double>(map.rows), label);
  out += fmt::format(" id=\"{}\" height=\"{}\">", id, map.rows * static_cast<std::size_t>(map.row_height));
  out += "<g transform=\"translate(0,.5)\">";
  for (const auto& [level, path] : paths)
    out += fmt::format("<path class=\"{}\" d=\"{}\"/>", level < 0 ? "unseen" : fmt::format("level{}", level), path);
  return out + "</g></svg>";
}

std::string strip(const Strip& strip, std::string_view id, std::string_view label) {
  std::map<std::string, std::string> paths;
  for (std::size_t column = 0; column < strip.heights.size(); ++column) {
    if (strip.heights[column] < 0) continue;
    // A column that is there can be seen, however short.
    const double height = within(kStripUnits * strip.heights[column] / strip.most, 1, kStripUnits);
    paths[strip.styles[column]] += fmt::format("M{}.5 {:.0f}v-{:.1f}", column, kStripUnits + kMarkUnits, height);
  }
  std::string out = svg_begin("strip", static_cast<double>(std::max<std::size_t>(1, strip.heights.size())),
                              kStripUnits + kMarkUnits, label);
  out += fmt::format(" id=\"{}\" height=\"110\">", id);
  for (const auto& [style, path] : paths)
    out += fmt::format("<path class=\"{}\" d=\"{}\"/>", html_escaped(style), path);
  for (const Strip::Mark& mark : strip.marks)
    out += fmt::format("<path class=\"mark {}\" d=\"M{}.5 0v{:.0f}\">{}</path>", html_escaped(mark.style), mark.column,
                       kMarkUnits - 2, title_of(mark.title));
  return out + "</svg>";
}

std::string layered_strip(const std::vector<Layer>& layers, double most, std::string_view label) {
  std::size_t columns = 1;
  for (const Layer& layer : layers) columns = std::max(columns, layer.heights.size());
  std::vector<double> tops(columns);
  std::string out = svg_begin("strip", static_cast<double>(columns), kStripUnits, label) + " height=\"110\">";
  for (const Layer& layer : layers) {
    std::string path;
    for (std::size_t column = 0; column < layer.heights.size(); ++column) {
      const double height =
          most > 0 ? within(kStripUnits * layer.heights[column] / most, 0, kStripUnits - tops[column]) : 0;
      if (height < 0.1) continue;
      path += fmt::format("M{}.5 {:.1f}v-{:.1f}", column, kStripUnits - tops[column], height);
      tops[column] += height;
    }
    if (!path.empty()) out += fmt::format("<path class=\"{}\" d=\"{}\"/>", html_escaped(layer.style), path);
  }
  return out + "</svg>";
}

namespace {

constexpr double kLaneUnits = 1000, kLaneHeight = 16, kTitleUnits = 150;
constexpr std::size_t kLaneTitle = 20, kFlameName = 120;

double lane_top(std::size_t lane) { return kLaneHeight * static_cast<double>(lane); }

void add_lane_row(const LaneDrawing& drawing, std::size_t number, std::string& out) {
  const LaneDrawing::Lane& lane = drawing.lanes[number];
  const double y = lane_top(number);
  out += fmt::format("<text class=\"{}\" x=\"0\" y=\"{:.0f}\">{}</text>", lane.is_head ? "head" : "lane", y + 12,
                     html_escaped(shortened(lane.title, kLaneTitle)));
  out += fmt::format("<rect class=\"ground\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"1\"/>", kTitleUnits,
                     y + (lane.is_head ? 0.0 : 8.0), kLaneUnits);
  for (const LaneDrawing::Span& span : lane.spans) {
    const double x = within(kLaneUnits * span.at / drawing.to, 0, kLaneUnits);
    const double width = within(kLaneUnits * span.length / drawing.to, 0.5, kLaneUnits - x);
    out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{}\">{}</rect>",
                       html_escaped(span.style), kTitleUnits + x, y + 2, width, lane.is_head ? 13 : 11,
                       title_of(span.title));
  }
}

void add_arrow(const LaneDrawing& drawing, const LaneDrawing::Arrow& arrow, std::string& out) {
  if (arrow.from >= drawing.lanes.size() || arrow.to >= drawing.lanes.size()) return;
  const double x = kTitleUnits + within(kLaneUnits * arrow.at / drawing.to, 0, kLaneUnits);
  const double begin = lane_top(arrow.from) + kLaneHeight / 2, end = lane_top(arrow.to) + kLaneHeight / 2;
  const double tip = end > begin ? -4 : 4;
  out += fmt::format(
      "<path class=\"arrow\" d=\"M{:.1f} {:.0f}V{:.0f}m-2.5 {}l2.5 {}l2.5 {}\"><title>{} lets {} go on</title></path>",
      x, begin, end, tip, -tip, tip, html_escaped(drawing.lanes[arrow.from].title),
      html_escaped(drawing.lanes[arrow.to].title));
}

}  // namespace

std::string lane_drawing(const LaneDrawing& drawing, std::string_view label) {
  const double height = lane_top(drawing.lanes.size());
  std::string out = fmt::format("<svg class=\"lanes\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">",
                                kTitleUnits + kLaneUnits, height, html_escaped(label));
  for (std::size_t i = 0; i < drawing.lanes.size(); ++i) add_lane_row(drawing, i, out);
  for (const LaneDrawing::Arrow& arrow : drawing.arrows) add_arrow(drawing, arrow, out);
  return out + "</svg>";
}

// Places are parts of the width, so that the text in a frame keeps its size where the drawing grows.
std::string flame_drawing(const FlameDrawing& drawing, std::string_view label) {
  constexpr std::size_t kFrameHeight = 17, kColours = 4;
  constexpr double kLeastForText = 2.5;  // per cent of the width
  std::size_t depths = 1;
  for (const FlameDrawing::Frame& frame : drawing.frames) depths = std::max(depths, frame.depth + 1);
  std::string out = fmt::format("<svg class=\"flame\" width=\"100%\" height=\"{}\" role=\"img\" aria-label=\"{}\">",
                                depths * kFrameHeight, html_escaped(label));
  for (const FlameDrawing::Frame& frame : drawing.frames) {
    const double x = drawing.whole > 0 ? within(100 * frame.at / drawing.whole, 0, 100) : 0;
    const double width = drawing.whole > 0 ? within(100 * frame.length / drawing.whole, 0, 100 - x) : 0;
    if (width < 0.05) continue;
    std::size_t sum = 0;
    for (const char one : frame.name) sum = 31 * sum + static_cast<unsigned char>(one);
    out += fmt::format("<svg x=\"{:.2f}%\" y=\"{}\" width=\"{:.2f}%\" height=\"{}\">", x, frame.depth * kFrameHeight,
                       width, kFrameHeight - 1);
    out += fmt::format("<rect class=\"flame{}\" width=\"100%\" height=\"100%\">{}</rect>", sum % kColours + 1,
                       title_of(frame.title));
    if (width >= kLeastForText)
      out += fmt::format("<text x=\"3\" y=\"12\">{}</text>", html_escaped(shortened(frame.name, kFlameName)));
    out += "</svg>";
  }
  return out + "</svg>";
}

}  // namespace hostprobe::analysis
