// SIMNODE_ACTIVITIES: what runs on the simulated devices, kernel by kernel, in a mapped file of its own for each process
// (format/activity_file.h), for tools that want to be checked against the truth. About 20 ns a row, of which the launch call's
// modelled cost hides all.
#pragma once
#include "format/activity_file.h"

#include <cstdint>

namespace simnode {

// What a piece of work is called, and which call launched it.
struct ActivityLabel {
  hostprobe::ActivityRowType type = hostprobe::kActivityNone;
  bool collective = false;
  uint32_t name = 0;
  uint32_t launch_tid = 0;
  int64_t launch_ns = 0;
  uint64_t bytes = 0;
};

extern bool g_activities;  // a file is being written

// All with the node's lock held: one writer.
void start_activities();
void forget_activities_of_parent();
// The number under which rows name it; the same text gives the same number.
uint32_t activity_name(const char* text);
void add_activity(const ActivityLabel& label, int device, uint64_t stream, int64_t begin_ns, int64_t end_ns);

// Of the calling thread.
uint32_t launching_tid();

}  // namespace simnode
