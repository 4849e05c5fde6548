// tables.h: all tables of a run, in the order in which they are listed.
//
// Room 3.
#pragma once

#include <string_view>
#include <vector>

#include "batches.h"

namespace hostprobe::tables {

const std::vector<Table>& all_tables();
// Throws BadRequest.
const Table& table_named(std::string_view name);

}  // namespace hostprobe::tables
