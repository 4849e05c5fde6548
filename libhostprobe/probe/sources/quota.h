// quota.h: when the CPU quota of a control group that the process is in was used up, and nothing in the group ran.
//
// Room 2 (probe/). The writer thread only. Version 1 and 2 of the kernel's control groups; the quota may be the own group's or that of any
// above it, as far as they can be seen from here: in a container its own is the topmost.
#pragma once

#include <cstdint>

#include "probe/sources/source.h"

namespace hostprobe::probe {

// A row where it happened since the round before.
void note_throttling(const Round& round);

// A group's CPU time, as the kernel writes it into cpu.stat: "nr_throttled 5\nthrottled_usec 7\n", or "throttled_time" in ns.
struct Throttling {
  std::uint64_t periods, ns;
};
// False: it does not say.
bool parse_throttling(const char* text, Throttling& out);

// Where the process stands, by a line of /proc/self/cgroup: its path, for the controller "cpu" or, with `unified`, for version 2's single tree.
// nullptr: another line's. The path ends where the line does.
const char* path_in_line(const char* line, bool unified);

// Whether the process is in a group of version 1 below the root of that controller's tree; true as well where nobody can say.
bool may_be_in_group_of(const char* controller);

// Where that tree is mounted, by a line of /proc/self/mountinfo. The folder of `path` into `out`; `root_bytes`: how much of it is the mount
// point. False: another mount, or the path is not below what is mounted.
bool folder_in_mount(char* line, const char* path, bool unified, char* out, std::uint32_t bytes,
                     std::uint32_t& root_bytes);

}  // namespace hostprobe::probe
