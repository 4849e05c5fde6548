// table.cpp: see table.h.
#include "table.h"

#include <fmt/format.h>

namespace hostprobe::analysis {
namespace {

void add_cell(const Cell& cell, bool is_head, bool is_number, Markup& row) {
  const std::string tag = is_head ? "th" : "td";
  // Few attributes: a table of a thousand ranks is most of a page.
  const std::string order = cell.order ? fmt::format(" data-v=\"{:.5g}\"", *cell.order) : "";
  row.markup(fmt::format("<{}{}{}{}>", tag, is_head ? " scope=\"row\"" : "", is_number ? " class=\"n\"" : "", order));
  const std::string text =
      is_head && cell.text.empty() ? "–" : cell.text;  // a head that says nothing cannot be read out
  cell.is_name ? row.name(text) : row.text(text);
  row.markup(cell.markup).markup("</" + tag + ">");
}

}  // namespace

Cell name_cell(std::string name) { return {.text = std::move(name), .is_name = true}; }

Cell text_cell(std::string text) { return {.text = std::move(text)}; }

Cell number_cell(std::string text, const std::optional<double>& order) {
  return {.text = std::move(text), .order = order};
}

void Table::row(const std::vector<Cell>& cells, const std::optional<double>& rank, std::string_view style) {
  ++rows_;
  body_.markup(fmt::format("<tr{}{}>", rank ? fmt::format(" data-rank=\"{:.0f}\"", *rank) : "",
                           style.empty() ? "" : fmt::format(" class=\"{}\"", style)));
  for (std::size_t i = 0; i < cells.size(); ++i)
    add_cell(cells[i], i == 0, i > 0 && i < columns_.size() && columns_[i].is_number, body_);
  body_.markup("</tr>\n");
}

void Table::write(Markup& page, std::string_view nothing) {
  if (rows_ == 0) {
    if (!nothing.empty()) page.element("p", nothing, {{"class", "nothing"}}).markup("\n");
    return;
  }
  // What is wider than the window scrolls, by the keyboard too.
  page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", caption_}});
  page.open("table").element("caption", caption_).open("thead").open("tr");
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    page.markup(fmt::format("<th scope=\"col\"{}{}>", column.is_number && i > 0 ? " class=\"n\"" : "",
                            column.hint.empty() ? "" : " title=\"" + html_escaped(column.hint) + "\""));
    page.text(column.title).markup("</th>");
  }
  page.close().close().open("tbody").markup(body_.take()).close().close().close();
}

}  // namespace hostprobe::analysis
