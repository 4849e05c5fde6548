// text_table.h: rows under headings, as wide as their content needs and as the reader's terminal allows.
//
// Room 3. Where it is too narrow names are shortened first, then whole columns are left out: those that a reader misses least.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hostprobe::analysis {

struct TextColumn {
  std::string heading;
  bool is_name = false;   // set to the left, and may be shortened; numbers are neither
  int spare = 0;          // of columns that may be left out those with the highest go first, together; 0: it stays
  std::size_t least = 8;  // to which a name is shortened
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), {}}); }
  // Below the row that was added last.
  void add_note(std::string note) { rows_.back().notes.push_back(std::move(note)); }
  bool is_empty() const { return rows_.empty(); }
  std::size_t rows() const { return rows_.size(); }

  // Whole lines, the headings first. A column in which nothing stands is left out.
  std::string text(std::size_t width) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<std::string> notes;
  };
  std::vector<std::size_t> natural_widths() const;
  std::vector<std::size_t> fitted_widths(std::size_t width) const;  // 0: left out
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<TextColumn> columns_;
  std::vector<Row> rows_;
};

// "… and 12 more (--all)"; "" where all are shown.
std::string more_text(std::size_t shown, std::size_t all);

}  // namespace hostprobe::analysis
