// answer_tables.h: the tables of what was found out, made of the answer.
//
// Room 3.
#pragma once

#include "batches.h"

namespace hostprobe::tables {

// Of the processes, and what each has lists of (process_tables.cpp).
Table processes_table();
Table threads_table();
Table steps_table();
Table wait_sites_table();
// For joins over many hosts (step_row_table.cpp).
Table step_rows_table();
// Of the run (run_tables.cpp).
Table findings_table();
Table collective_sites_table();

}  // namespace hostprobe::tables
