// machine.cpp: see machine.h.
#include "probe/fixes/placement/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace hostprobe::probe {
namespace {

constexpr std::size_t kPathBytes = 640, kListBytes = 1024;

// The driver writes the bus id in capitals, sysfs does not, and has four digits of the domain.
bool path_of_device(const char* root, const char* bus_id, const char* file, char (&path)[kPathBytes]) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (sscanf(bus_id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return false;
  const int length =
      snprintf(path, sizeof path, "%s/bus/pci/devices/%04x:%02x:%02x.%x/%s", root, domain, bus, device, function, file);
  return length > 0 && static_cast<std::size_t>(length) < sizeof path;
}

bool read_list(const char* path, CpuSet& out) {
  char text[kListBytes];
  return read_small_file(path, text, sizeof text) && parse_cpus(text, out);
}

bool near_device(const SysfsRoots& roots, const char* bus_id, CpuSet& out) {
  char path[kPathBytes];
  if (path_of_device(roots.devices, bus_id, "local_cpulist", path) && read_list(path, out)) return true;
  const int node = node_of_device(roots.devices, bus_id);
  if (node < 0) return false;
  snprintf(path, sizeof path, "%s/devices/system/node/node%d/cpulist", roots.cpus, node);
  return read_list(path, out);
}

unsigned core_of(const char* root, unsigned cpu) {
  constexpr const char* kFiles[] = {"core_cpus_list", "thread_siblings_list"};
  for (const char* file : kFiles) {
    char path[kPathBytes];
    CpuSet siblings;
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/topology/%s", root, cpu, file);
    if (read_list(path, siblings) && siblings.has(cpu)) return siblings.next(0);
  }
  return cpu;
}

}  // namespace

void read_machine(const SysfsRoots& roots, const char* bus_id, const CpuSet& allowed, Machine& out) {
  out.allowed = allowed;
  if (bus_id[0] == 0 || !near_device(roots, bus_id, out.near)) out.near = CpuSet{};
  for (unsigned cpu = 0; cpu < kMostCpus; ++cpu) out.core[cpu] = static_cast<std::uint16_t>(cpu);
  for (unsigned cpu = allowed.next(0); cpu < kMostCpus; cpu = allowed.next(cpu + 1))
    out.core[cpu] = static_cast<std::uint16_t>(core_of(roots.cpus, cpu));
}

unsigned memory_nodes(const char* root, std::uint64_t& first_nodes) {
  char path[kPathBytes];
  CpuSet nodes;
  snprintf(path, sizeof path, "%s/devices/system/node/has_memory", root);
  if (!read_list(path, nodes)) return 0;
  first_nodes = nodes.words[0];
  return nodes.count();
}

int node_of_device(const char* root, const char* bus_id) {
  char path[kPathBytes], text[32];
  if (!path_of_device(root, bus_id, "numa_node", path) || !read_small_file(path, text, sizeof text)) return -1;
  return atoi(text);
}

unsigned free_cpus(const char* load, unsigned cpus, unsigned ours) {
  const char* slash = strchr(load, '/');
  if (slash == nullptr) return 0;
  while (slash > load && slash[-1] >= '0' && slash[-1] <= '9') --slash;
  if (*slash == '/') return 0;
  const unsigned long runs = strtoul(slash, nullptr, 10);
  const unsigned long others = runs > ours ? runs - ours : 0;
  return others < cpus ? static_cast<unsigned>(cpus - others) : 0;
}

bool parse_autogroup(const char* text, int& group, int& nice) {
  return sscanf(text, "/autogroup-%d nice %d", &group, &nice) == 2;
}

}  // namespace hostprobe::probe
