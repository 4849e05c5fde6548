// no_bpf.cpp: see source.h; of a build without what compiles and loads programs for the kernel.
#include <stdexcept>

#include "bpf_problem.h"
#include "source.h"

namespace hostprobe::kernel {

std::unique_ptr<Source> open_bpf_source(const SchedOptions&) { throw std::runtime_error(bpf_problem()); }

std::string bpf_problem() {
  return "this hostprobe was built without eBPF: install clang, bpftool and libbpf-dev and build it again, or use "
         "--source tracefs";
}

}  // namespace hostprobe::kernel
