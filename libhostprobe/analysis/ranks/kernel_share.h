// kernel_share.h: puts together what several records of the kernel tell of one process (neighbours.h).
//
// Room 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "answer/kernel.h"

namespace hostprobe::analysis {

struct Trace;

// A recorded process, as far as the kernel can tell of it.
struct KernelSubject {
  std::string trace_path, host;
  std::uint32_t pid = 0;
  std::vector<std::uint32_t> tids;
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC, this and the next
  std::uint64_t end_ns = 0;
};

void add_neighbour(const Neighbour& neighbour, KernelShare& share);
void add_irq(const IrqShare& irq, KernelShare& share);
// Heaviest first.
void sort_share(KernelShare& share);

// What the kernel added up itself (trace/kernel_totals.h) of `subjects`.
void add_kernel_totals(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer);

}  // namespace hostprobe::analysis
