// no_bpf.cpp: see source.h; of a build without HOSTPROBE_BPF.
#include <stdexcept>

#include "bpf_problem.h"
#include "source.h"

namespace hostprobe::kernel {

std::unique_ptr<Source> open_bpf_source(const SchedOptions&) { throw std::runtime_error(bpf_problem()); }

std::string bpf_problem() {
  return "this hostprobe was built without eBPF: build it with -DHOSTPROBE_BPF=ON, which needs clang, bpftool and "
         "libbpf-dev, or use --source tracefs";
}

}  // namespace hostprobe::kernel
