// bpf_problem.cpp: see bpf_problem.h.
#include "recorder/bpf_problem.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace hostprobe::kernel {
namespace {

constexpr char kTypes[] = "/sys/kernel/btf/vmlinux";
constexpr int kSysAdmin = 21, kPerfmon = 38, kBpf = 39;  // CAP_…

bool has_capability(int number) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("CapEff:"))
      return (std::strtoull(line.c_str() + sizeof "CapEff:" - 1, nullptr, 16) >> number & 1) != 0;
  return false;
}

}  // namespace

std::string bpf_problem() {
  if (access(kTypes, R_OK) != 0)
    return "this kernel does not describe its own types (BTF): start one that was built with CONFIG_DEBUG_INFO_BTF, or "
           "use "
           "--source tracefs";
  if (!has_capability(kSysAdmin) && !(has_capability(kBpf) && has_capability(kPerfmon)))
    return "loading programs into the kernel takes root, or CAP_BPF and CAP_PERFMON: run it as root";
  return {};
}

}  // namespace hostprobe::kernel
