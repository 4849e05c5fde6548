// Where the simulated devices sit: spread evenly over the NUMA nodes of the machine, in order, as on real boards.
#pragma once

namespace simnode {

int numa_node_of(int device, int devices);

}  // namespace simnode
