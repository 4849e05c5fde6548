// record_batches.h: the rows of a table of records: process by process, thread by thread, by begin.
//
// Room 3.
#pragma once

#include "record_row.h"

namespace hostprobe::tables {

// `table` must outlive it.
Table table_of_records(const RecordTable& table);

}  // namespace hostprobe::tables
