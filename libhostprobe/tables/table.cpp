// table.cpp: see table.h.
#include "table.h"

#include <fmt/format.h>

#include <algorithm>

#include "batches.h"

namespace hostprobe::tables {
namespace {

std::vector<TableName> all_names() {
  std::vector<TableName> names;
  for (const RecordTable& table : record_tables()) {
    names.push_back({table.name, table.meaning, {}, true});
    for (const RecordColumn& column : table.columns) names.back().columns.push_back(column.name);
  }
  names.push_back(activity_table());
  for (TableName& table : answer_tables()) names.push_back(std::move(table));
  return names;
}

template <typename Named>
std::string listed(const std::vector<Named>& all) {
  std::string text;
  for (const Named& one : all) text += (text.empty() ? "" : ", ") + std::string(one.name);
  return text;
}

}  // namespace

const std::vector<TableName>& table_names() {
  static const std::vector<TableName> kNames = all_names();
  return kNames;
}

const TableName& table_named(std::string_view name) {
  for (const TableName& table : table_names())
    if (table.name == name) return table;
  throw BadRequest(fmt::format("no table {}; the tables are {}", name, listed(table_names())));
}

std::vector<std::size_t> columns_named(const TableName& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                    [&name](const ColumnName& column) { return column.name == name; });
    const auto place = static_cast<std::size_t>(found - table.columns.begin());
    if (found == table.columns.end())
      throw BadRequest(fmt::format("no column {} in {}; its columns are {}", name, table.name, listed(table.columns)));
    if (std::find(places.begin(), places.end(), place) != places.end())
      throw BadRequest(fmt::format("column {} is asked for twice", name));
    places.push_back(place);
  }
  return places;
}

std::unique_ptr<Batches> open_batches(std::shared_ptr<Run> run, const TableName& table,
                                      std::vector<std::size_t> columns, TraceRange traces) {
  if (!table.by_process) return answer_batches(std::move(run), table, std::move(columns));
  for (const RecordTable& one : record_tables())
    if (one.name == table.name) return record_batches(std::move(run), one, columns, traces);
  return activity_batches(std::move(run), table, std::move(columns), traces);
}

}  // namespace hostprobe::tables
