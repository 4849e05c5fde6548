// record_tables.h: the tables whose rows are records, each of which stands in one of them.
//
// Room 3.
#pragma once

#include "record_row.h"

namespace hostprobe::tables {

// A function's records stand in the first one that takes it.
const std::vector<RecordTable>& record_tables();
const RecordTable* table_of(const analysis::Function& function);  // null: in none

}  // namespace hostprobe::tables
