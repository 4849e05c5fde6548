// dump_file.h: the file of a dump, beside the trace.
//
// Room 2 (probe/). The writer thread. A file of its own, so that the oldest can go when they take too much disk; what it holds has been
// aggregated too, so nothing is missing from the totals when it goes.
#pragma once

#include "format/segment.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

// While it lives, blocks go into the dump.
class DumpFile {
 public:
  explicit DumpFile(std::uint32_t number);
  ~DumpFile();
  DumpFile(const DumpFile&) = delete;
  DumpFile& operator=(const DumpFile&) = delete;

  // Counters that make room for others go into the trace: a dump may be removed.
  void aggregate(ChunkHead* chunk, std::uint32_t end);
  std::uint64_t bytes() const { return g_file.bytes; }
  int error() const { return g_file.error; }

 private:
  void swap_files();

  TraceFile trace_;  // the one that blocks do not go into now
};

// How many bytes that gives back.
std::uint64_t remove_dump(std::uint32_t number);

}  // namespace hostprobe::probe
