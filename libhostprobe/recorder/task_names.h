// task_names.h: what /proc and /sys call tasks and interrupts, for a trace of the kernel.
//
// Room kernel/.
#pragma once

#include <cstdint>

#include "import/ftrace/kernel_table.h"

namespace hostprobe::kernel {

// While it lives: of one that has ended nobody can tell its process any more. False: it has.
bool add_task_name(std::uint32_t tid, std::uint64_t ticks, analysis::KernelNameTable& names);
void add_irq_name(std::uint32_t number, analysis::KernelNameTable& names);

}  // namespace hostprobe::kernel
