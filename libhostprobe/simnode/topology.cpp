// See topology.h. A machine without NUMA information has one node, 0.
#include "topology.h"

#include <unistd.h>
#include <cstdio>

namespace simnode {

int numa_node_of(int device, int devices) {
  int nodes = 0;
  char path[64];
  do {
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d", nodes);
  } while (access(path, F_OK) == 0 && ++nodes < 1024);
  return nodes < 2 ? 0 : device * nodes / devices;
}

}  // namespace simnode
