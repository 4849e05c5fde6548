// activity_table.h: the table of what ran on the GPU, as a profile or the simulated node tells it.
//
// Room 3.
#pragma once

#include "batches.h"

namespace hostprobe::tables {

Table activity_table();

}  // namespace hostprobe::tables
