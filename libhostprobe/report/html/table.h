// table.h: a table of a page: read as it stands; where scripts run, its columns sort and its rows can be filtered.
//
// Room 3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "markup.h"

namespace hostprobe::analysis {

struct Column {
  std::string title;
  std::string hint = {};  // what it means, on the title
  bool is_number = true;  // to the right
};

struct Cell {
  std::string text = {};
  std::optional<double> order = {};  // by which it sorts; nothing: by the text
  bool is_name = false;              // of another program's
  std::string markup = {};           // a drawing behind the text, ours
};

Cell name_cell(std::string name);
Cell text_cell(std::string text);
// `order` again is what `text` was made of.
Cell number_cell(std::string text, const std::optional<double>& order);

class Table {
 public:
  Table(std::string caption, std::vector<Column> columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}

  // The first cell is the row's head. `rank` is what a reader can pick; nothing: the row stays whatever is picked.
  void row(const std::vector<Cell>& cells, const std::optional<double>& rank = {}, std::string_view style = {});
  bool empty() const { return rows_ == 0; }
  // `nothing` is said where there is no row.
  void write(Markup& page, std::string_view nothing);

 private:
  std::string caption_;
  std::vector<Column> columns_;
  Markup body_;
  std::size_t rows_ = 0;
};

}  // namespace hostprobe::analysis
