// table_trace.cpp: see table_trace.h.
#include "table_trace.h"

#include <memory>
#include <optional>

#include "import/kineto/profile_event.h"
#include "table_kernel.h"
#include "table_process.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostProcesses = 4096;  // each holds a file open

// One line, its cells unquoted. False: a quote is never closed.
bool split(const std::string& line, std::vector<std::string>& cells) {
  cells.assign(1, {});
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_quotes && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (c == '"')
      in_quotes = !in_quotes;
    else if (c == ',' && !in_quotes)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return !in_quotes;
}

std::optional<Column> column_named(const std::string& name) {
  for (std::size_t i = 0; i < kColumnCount; ++i)
    if (kTracerColumns[i].name == name) return static_cast<Column>(i);
  return std::nullopt;
}

// Which column stands where: as the first line names them.
std::vector<std::optional<Column>> columns_of(const std::vector<std::string>& cells, LeftOut& left_out) {
  std::vector<std::optional<Column>> columns;
  for (const std::string& cell : cells) {
    const std::optional<Column> column = column_named(cell);
    if (!column) left_out.add("columns that are not known");
    columns.push_back(column);
  }
  return columns;
}

class Table {
 public:
  Table(const std::string& path, const std::string& run, LeftOut& left_out, const ReadProgress& progress)
      : file_(path, progress), path_(path), run_(run), left_out_(left_out), kernel_(left_out) {}

  TableReading read() {
    TableReading reading;
    if (!read_columns()) {
      reading.problem = "its first line names no column of a table of events";
      return reading;
    }
    std::string line;
    while (file_.line(line))
      if (!line.empty()) add_line(line);
    reading.problem = file_.problem();
    for (auto& [key, process] : processes_) reading.traces.push_back(process->finish());
    if (std::string trace = kernel_.finish(run_, path_); !trace.empty()) reading.traces.push_back(std::move(trace));
    if (reading.traces.empty() && reading.problem.empty()) reading.problem = "no event is in it";
    return reading;
  }

 private:
  bool read_columns() {
    std::string line;
    if (!file_.line(line) || !split(line, cells_)) return false;
    const bool has_names = column_named(cells_[0]).has_value();
    if (!has_names && !(cells_.size() > 5 && whole_number(cells_[0]))) return false;
    // Without names the columns are those of the tracers, in their order.
    if (!has_names)
      for (std::size_t i = 0; i < cells_.size() && i < kColumnCount; ++i) columns_.push_back(static_cast<Column>(i));
    else
      columns_ = columns_of(cells_, left_out_);
    if (!has_names) add_line(line);
    return true;
  }

  void add_line(const std::string& line) {
    if (!split(line, cells_)) return left_out_.add("lines with a quote that is never closed");
    if (cells_.size() > columns_.size()) left_out_.add("lines that are too long");
    row_.clear();
    for (std::size_t i = 0; i < cells_.size() && i < columns_.size(); ++i)
      if (columns_[i]) row_[*columns_[i]] = cells_[i];
    if (!whole_number(row_[Column::kPid]) || !whole_number(row_[Column::kTime]))
      return left_out_.add("lines without a process or a time");
    if (TableKernel::is_kernel_event(row_[Column::kEvent])) return kernel_.add(row_);
    if (row_[Column::kType].empty() && !row_[Column::kEvent].starts_with("sync") &&
        type_of_event(row_[Column::kEvent]).empty())
      return left_out_.add("events '" + row_[Column::kEvent].substr(0, 64) + "'");
    add_row();
  }

  // Ranks on several hosts may have the same process id; a line about a process begins another one.
  void add_row() {
    const std::string& pid = row_[Column::kPid];
    if (row_[Column::kType] == row_type::kProcess) kernel_.add_process(row_);
    if (row_[Column::kType] == row_type::kProcess) current_[pid] = pid + ' ' + std::to_string(processes_.size());
    const std::string& key = current_.try_emplace(pid, pid).first->second;
    auto found = processes_.find(key);
    if (found == processes_.end()) {
      if (processes_.size() >= kMostProcesses)
        return left_out_.add("events of more processes than can be imported at once");
      found = processes_.emplace(key, std::make_unique<TableProcess>(run_, row_, path_, left_out_)).first;
    }
    found->second->add(row_);
  }

  TextFile file_;
  const std::string& path_;
  const std::string& run_;
  LeftOut& left_out_;
  TableKernel kernel_;
  std::vector<std::string> cells_;
  std::vector<std::optional<Column>> columns_;
  TableRow row_;
  std::map<std::string, std::string> current_;  // by process id, the key of its process now
  std::map<std::string, std::unique_ptr<TableProcess>> processes_;
};

}  // namespace

TableReading import_table(const std::string& path, const std::string& run, LeftOut& left_out,
                          const ReadProgress& progress) {
  return Table(path, run, left_out, progress).read();
}

}  // namespace hostprobe::analysis
