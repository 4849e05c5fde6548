// activity_table.h: the table of what ran on the GPU, as a profile tells it, or timing events.
//
// Room 3.
#pragma once

#include "batches.h"

namespace hostprobe::tables {

Table activity_table();

}  // namespace hostprobe::tables
