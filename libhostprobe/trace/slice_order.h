// slice_order.h: the slices of a thread by running number, each record in one of them only.
//
// Room 3. The same record can be found in the file, in a dump and in the segment: the writer moves it while we read, or a
// kill came in between.
#pragma once

#include <vector>

#include "trace.h"

namespace hostprobe::analysis {

// Of a record that is kRecordAggregated in one place and not in another, the latter is kept: the counters that were read do not
// know of it. Otherwise the one that was found first stays.
void order_slices(std::vector<Slice>& slices);

}  // namespace hostprobe::analysis
