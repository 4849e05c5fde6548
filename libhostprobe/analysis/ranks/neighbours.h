// neighbours.h: who had the CPU while a recorded thread could have run, and which interrupts came while one ran.
//
// Room 3. Out of what the kernel told of the whole machine (format/kernel.h). Where only switches of the recorded threads were
// kept, who ran in between is known at both ends of the time alone: if those are two, each is given half, and it is said so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "answer/kernel.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// A recorded process, as far as the kernel can tell of it.
struct KernelSubject {
  std::string trace_path, host;
  std::uint32_t pid = 0;
  std::vector<std::uint32_t> tids;
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC, this and the next
  std::uint64_t end_ns = 0;
};

// Adds what it tells of `subjects`. A trace whose host is not known is taken for one of the only host.
void add_kernel_trace(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer);

}  // namespace hostprobe::analysis
