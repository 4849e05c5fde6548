// dump_files.h: what the triggers of a process in mode flight wrote into files of their own, beside its trace.
//
// Room 3. A dump that is damaged or somebody else's costs its own
// records only, and those are in the counters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace.h"

namespace hostprobe::analysis {

bool is_dump_path(std::string_view path);

struct DumpDamages {
  std::vector<Damage> lasting;
  std::vector<Damage> tails;  // a dump that ends in the middle: of a live process it is being written
};

// Adds the records of all dumps of trace.path to its threads.
DumpDamages add_dumps(Trace& trace);

}  // namespace hostprobe::analysis
