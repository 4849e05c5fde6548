// See topology.h. A machine without NUMA information has one node, 0.
#include "topology.h"

#include "identity.h"
#include "say.h"

#include <unistd.h>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace simnode {

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

std::string cpu_list_of_node(int node) {
  std::string list = text_of("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  if (list.empty()) list = text_of("/sys/devices/system/cpu/present");
  return list.empty() ? "0-" + std::to_string(sysconf(_SC_NPROCESSORS_CONF) - 1) : list;  // no /sys in this container
}

// As the kernel writes it: groups of 32 bits, highest first.
std::string mask_of(const std::vector<int>& cpus) {
  int highest = 0;
  for (int cpu : cpus) highest = cpu > highest ? cpu : highest;
  std::vector<uint32_t> words(static_cast<size_t>(highest) / 32 + 1);
  for (int cpu : cpus) words[static_cast<size_t>(cpu) / 32] |= 1u << (cpu % 32);
  std::string text;
  for (size_t i = words.size(); i-- > 0;) {
    char digits[16];
    snprintf(digits, sizeof digits, "%08x%s", words[i], i > 0 ? "," : "");
    text += digits;
  }
  return text;
}

bool write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << '\n';
  return static_cast<bool>(file.flush());
}

bool write_device(const std::filesystem::path& folder, int device, int devices) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  int node = numa_node_of(device, devices);
  char id[16], vendor[16];
  snprintf(id, sizeof id, "0x%04x", kPciDeviceId >> 16);
  snprintf(vendor, sizeof vendor, "0x%04x", kPciDeviceId & 0xffff);
  return write_text(folder / "numa_node", std::to_string(node)) &&
         write_text(folder / "local_cpulist", cpu_list_of_node(node)) &&
         write_text(folder / "local_cpus", mask_of(cpus_of_node(node))) && write_text(folder / "vendor", vendor) &&
         write_text(folder / "device", id) && write_text(folder / "class", "0x030200") &&
         write_text(folder / "max_link_speed", "32.0 GT/s PCIe") && write_text(folder / "max_link_width", "16");
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(tolower(c));
  return text;
}

}  // namespace

int numa_node_of(int device, int devices) {
  int nodes = 0;
  char path[64];
  do {
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d", nodes);
  } while (access(path, F_OK) == 0 && ++nodes < 1024);
  return nodes < 2 ? 0 : device * nodes / devices;
}

// The kernel's form of a list: "0-3,8,10-11".
std::vector<int> cpus_of_node(int node) {
  std::vector<int> cpus;
  std::string list = cpu_list_of_node(node);
  for (const char* at = list.c_str(); isdigit(*at) != 0;) {
    char* end;
    long first = strtol(at, &end, 10), last = first;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    at = *end == ',' ? end + 1 : end;
  }
  return cpus;
}

void write_sysfs(const std::string& root, int devices) {
  for (int i = 0; i < devices; ++i) {
    auto folder = std::filesystem::path(root) / "bus/pci/devices" / lower(pci_text(i, 4));
    if (write_device(folder, i, devices)) continue;
    say("SIMNODE_SYSFS: cannot write %s: %s. Name a folder that can be written, or unset it.", folder.c_str(),
        strerror(errno));
    return;
  }
}

}  // namespace simnode
