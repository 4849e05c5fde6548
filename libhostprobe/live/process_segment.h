// process_segment.h: the shared memory that a running process records into.
//
// Room 3.
#pragma once

#include <istream>
#include <vector>

#include "format/segment.h"

namespace hostprobe::analysis {

struct FoundSegment {
  SegmentHeader* header = nullptr;  // attached: to be given to shmdt; nullptr: there is none that we may see
  bool denied = false;              // there is one, of another user
};

// `writes`: it is going to be written to. Never throws for what it does not find.
FoundSegment find_segment(int pid, bool writes);

// Ids of the attached segments that process `pid` made, from a table as /proc/sysvipc/shm has it.
std::vector<int> segments_made_by(std::istream& table, int pid);

}  // namespace hostprobe::analysis
