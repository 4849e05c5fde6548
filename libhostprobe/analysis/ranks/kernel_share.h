// kernel_share.h: puts together what several records of the kernel tell of one process (neighbours.h).
//
// Room 3.
#pragma once

#include "neighbours.h"

namespace hostprobe::analysis {

void add_neighbour(const Neighbour& neighbour, KernelShare& share);
void add_irq(const IrqShare& irq, KernelShare& share);
// Heaviest first.
void sort_share(KernelShare& share);

// What the kernel added up itself (trace/kernel_totals.h) of `subjects`.
void add_kernel_totals(const Trace& trace, const std::vector<KernelSubject>& subjects, KernelAnswer& answer);

}  // namespace hostprobe::analysis
