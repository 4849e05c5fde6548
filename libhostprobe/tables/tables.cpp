// tables.cpp: see tables.h.
#include "tables.h"

#include <fmt/format.h>

#include "activity_table.h"
#include "answer_tables.h"
#include "record_batches.h"
#include "record_tables.h"

namespace hostprobe::tables {
namespace {

std::vector<Table> made_tables() {
  std::vector<Table> tables;
  for (const RecordTable& table : record_tables()) tables.push_back(table_of_records(table));
  tables.push_back(activity_table());
  for (const auto& make : {processes_table, threads_table, steps_table, step_rows_table, findings_table,
                           wait_sites_table, collective_sites_table})
    tables.push_back(make());
  return tables;
}

}  // namespace

const std::vector<Table>& all_tables() {
  static const std::vector<Table> kTables = made_tables();
  return kTables;
}

const Table& table_named(std::string_view name) {
  for (const Table& table : all_tables())
    if (table.name == name) return table;
  throw BadRequest(fmt::format("no table {}; the tables are {}", name, listed(all_tables())));
}

}  // namespace hostprobe::tables
