// text_table.cpp: see text_table.h.
#include "text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kBetween = 2;  // columns of the terminal

std::size_t total(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width == 0 ? 0 : width + kBetween;
  return sum == 0 ? 0 : sum - kBetween;
}

}  // namespace

std::vector<std::size_t> TextTable::natural_widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < columns_.size(); ++i) widths[i] = std::max(widths[i], analysis::columns(row.cells[i]));
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (widths[i] > 0) widths[i] = std::max(widths[i], analysis::columns(columns_[i].heading));
  return widths;
}

std::vector<std::size_t> TextTable::fitted_widths(std::size_t width) const {
  const std::vector<std::size_t> natural = natural_widths();
  std::vector<std::size_t> widths = natural;
  const auto is_wider = [&](std::size_t i, std::size_t than) {
    return columns_[i].is_name && widths[i] > columns_[i].least &&
           (than == columns_.size() || widths[i] > widths[than]);
  };
  while (total(widths) > width) {
    std::size_t widest = columns_.size(), spare = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (is_wider(i, widest)) widest = i;
      if (widths[i] > 0 && columns_[i].spare > 0 &&
          (spare == columns_.size() || columns_[i].spare > columns_[spare].spare))
        spare = i;
    }
    if (widest < columns_.size()) {
      --widths[widest];
    } else if (spare < columns_.size()) {
      const int least_wanted = columns_[spare].spare;
      for (std::size_t i = 0; i < columns_.size(); ++i)
        widths[i] = widths[i] == 0 || columns_[i].spare == least_wanted ? 0 : natural[i];
    } else {
      break;
    }
  }
  return widths;
}

std::string TextTable::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0) continue;
    if (!text.empty()) text.append(kBetween, ' ');
    text += columns_[i].is_name ? left(cells[i], widths[i]) : right(cells[i], widths[i]);
  }
  return text;
}

std::string TextTable::text(std::size_t width) const {
  if (rows_.empty()) return {};
  const std::vector<std::size_t> widths = fitted_widths(width);
  Lines out;
  std::vector<std::string> headings;
  for (const TextColumn& column : columns_) headings.push_back(column.heading);
  out.line("{}", line(headings, widths));
  for (const Row& row : rows_) {
    out.line("{}", line(row.cells, widths));
    for (const std::string& note : row.notes) out.add(wrapped(note, "    ", "      ", width));
  }
  return out.take();
}

std::string more_text(std::size_t shown, std::size_t all) {
  return shown >= all ? "" : fmt::format("  … and {} more (--all)\n", all - shown);
}

}  // namespace hostprobe::analysis
