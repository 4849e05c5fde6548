// machine.h: what sysfs says of the CPUs here and of those next to a GPU.
//
// Room 2 (probe/). Cold: the writer thread, when threads are about to be pinned.
#pragma once

#include "probe/fixes/placement/placement.h"
#include "probe/runtime/small_file.h"

namespace hostprobe::probe {

// `devices` and `cpus`: where /sys lies, for the PCI devices and for the CPUs; `bus_id`: as the driver gives it, "" = not known.
// `allowed` is taken over. What is not there is left out: no near CPUs, each CPU a core of its own.
struct SysfsRoots {
  const char* devices;
  const char* cpus;
};
void read_machine(const SysfsRoots& roots, const char* bus_id, const CpuSet& allowed, Machine& out);

// How many NUMA nodes have memory, and the node of a PCI device; -1: not known.
unsigned memory_nodes(const char* root, std::uint64_t& first_nodes);
int node_of_device(const char* root, const char* bus_id);

// How many of `cpus` nobody wants, by what the kernel says runs on the machine ("0.50 0.40 0.30 3/120 4711") and how many of those
// are ours that do not count: whoever asks, and who polls.
unsigned free_cpus(const char* load, unsigned cpus, unsigned ours);
// "/autogroup-4711 nice -5". False: it is something else, as in a kernel without.
bool parse_autogroup(const char* text, int& group, int& nice);

}  // namespace hostprobe::probe
