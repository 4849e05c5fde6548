// flame_section.cpp: see flame_section.h.
#include "flame_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "amount.h"
#include "chart.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

struct Node {
  std::size_t parent = 0, frame = 0, depth = 0;
  double ms = 0, own_ms = 0;
  double begin = 0, next = 0;  // ms from the left: of it, and of its next child
};

// What is not as it should be in a document is left out, and with it what stands on it.
std::vector<Node> nodes_of(const JsonValue& tree) {
  std::vector<Node> nodes;
  for (const JsonValue& row : list_in(tree, "nodes")) {
    const auto* words = std::get_if<JsonValue::Array>(&row.content());
    if (words == nullptr || words->size() < 3) break;
    const auto number = [words](std::size_t i) { return std::clamp(number_of((*words)[i]).value_or(0), 0.0, 1e15); };
    Node node{static_cast<std::size_t>(number(0)), static_cast<std::size_t>(number(1)), 0, number(2), number(2), 0, 0};
    if (!nodes.empty()) {
      if (node.parent >= nodes.size()) break;
      Node& parent = nodes[node.parent];
      node.depth = parent.depth + 1;
      node.begin = node.next = parent.next;
      parent.next += node.ms;
      parent.own_ms -= node.ms;
    }
    nodes.push_back(node);
  }
  return nodes;
}

std::string frame_of(const JsonValue& tree, const Node& node) {
  const auto& frames = list_in(tree, "frames");
  return node.frame < frames.size() ? text_of(frames[node.frame]) : "";
}

FlameDrawing drawing_of(const JsonValue& tree, const std::vector<Node>& nodes) {
  FlameDrawing drawing;
  drawing.whole = nodes.front().ms;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    const std::string name = frame_of(tree, node);
    drawing.frames.push_back({node.begin, node.ms, node.depth - 1, name,
                              fmt::format("{}: {}, {}", name, ms_amount(node.ms),
                                          pct_amount(100 * node.ms / std::max(1e-9, drawing.whole)))});
  }
  return drawing;
}

void add_table(const JsonValue& tree, const std::vector<Node>& nodes, Markup& page) {
  constexpr std::size_t kMostRows = 30;
  std::map<std::string, std::pair<double, double>> by_frame;  // own, with what it called
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    auto& [own, all] = by_frame[frame_of(tree, nodes[i])];
    own += std::max(0.0, nodes[i].own_ms);
    bool is_inside = false;  // of the same function: its time is in that one's
    for (std::size_t up = nodes[i].parent; up != 0 && !is_inside; up = nodes[up].parent)
      is_inside = nodes[up].frame == nodes[i].frame;
    if (!is_inside) all += nodes[i].ms;
  }
  std::vector<std::pair<std::string, std::pair<double, double>>> rows(by_frame.begin(), by_frame.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  page.open("details").element("summary", "As a table");
  Table table("Functions by their own time",
              {{.title = "Function", .is_number = false}, {.title = "Own"}, {.title = "With what it calls"}});
  for (const auto& [name, ms] : rows)
    table.row(
        {name_cell(name), number_cell(ms_amount(ms.first), ms.first), number_cell(ms_amount(ms.second), ms.second)});
  table.write(page, "");
  page.close();
}

bool add_flame(const JsonValue& process, const JsonValue& tree, bool is_first, Markup& page) {
  const std::vector<Node> nodes = nodes_of(tree);
  if (nodes.size() < 2 || nodes.front().ms <= 0) return false;
  const std::string title =
      fmt::format("{}, {}, {} {}{}", who_in(process), text_in(tree, "thread"), text_in(tree, "state"),
                  ms_amount(nodes.front().ms), flag_in(tree, "in_steps") ? " in the steps" : "");
  const auto rank = number_in(process, "rank");
  const std::string of_rank = rank ? fmt::format("{:.0f}", *rank) : "";
  if (is_first)
    page.open("details", {{"class", "flames"}, {"data-rank", of_rank}, {"open", ""}});
  else
    page.open("details", {{"class", "flames"}, {"data-rank", of_rank}});
  page.element("summary", title);
  page.open("figure").open("div", {{"class", "zoom"}});
  page.markup(flame_drawing(drawing_of(tree, nodes), title)).close().close();
  add_table(tree, nodes, page);
  page.close();
  return true;
}

}  // namespace

void add_flames(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "flames"}}).element("h2", "Flame graphs");
  Markup flames;
  bool is_first = true;
  for (const JsonValue& process : list_in(document, "processes"))
    for (const JsonValue& tree : list_in(process, "stacks"))
      if (add_flame(process, tree, is_first, flames)) is_first = false;
  if (is_first) {
    page.element("p", "No thread was sampled while it ran, and no stack was taken of a wait.", {{"class", "nothing"}});
  } else {
    page.element(
        "p",
        "What the threads that matter ran, by samples, and what they waited in: a thread at a time, callers above "
        "what they called. Branches below 1 % are left out. All threads: hostprobe export RUN --flamegraph FILE.");
    page.markup(flames.take());
  }
  page.close();
}

}  // namespace hostprobe::analysis
