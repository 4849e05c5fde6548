// schema.h: a table's definition as an ArrowSchema.
//
// Room 3.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "arrow_abi.h"
#include "table.h"

namespace hostprobe::tables {

using Metadata = std::vector<std::pair<std::string, std::string>>;

void make_schema(const TableName& table, const std::vector<std::size_t>& columns, const Metadata& metadata,
                 ArrowSchema* out);

}  // namespace hostprobe::tables
