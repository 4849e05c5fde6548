// Where the simulated devices sit: spread evenly over the NUMA nodes of the machine, in order, as on real boards.
#pragma once
#include <string>
#include <vector>

namespace simnode {

int numa_node_of(int device, int devices);
// Of this machine; all of them for node 0 of a machine without NUMA information.
std::vector<int> cpus_of_node(int node);

// Writes what /sys would tell about the devices below `root`: bus/pci/devices/0000:1b:00.0/{numa_node, local_cpulist,
// vendor, device, class, …}. A file that cannot be written is reported in one line.
void write_sysfs(const std::string& root, int devices);

}  // namespace simnode
