// stream.h: rows of a table as an ArrowArrayStream.
//
// Room 3. Keeps the run for as long as it is not released. Touches no Python object, so whoever reads it need not hold the
// interpreter's lock; may be released before its end, by any thread.
#pragma once

#include <memory>
#include <vector>

#include "batches.h"

namespace hostprobe::tables {

void make_stream(std::shared_ptr<Run> run, const Table& table, std::vector<std::size_t> columns, TraceRange traces,
                 ArrowArrayStream* out);

}  // namespace hostprobe::tables
