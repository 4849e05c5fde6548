// kernel_totals.h: what the kernel itself added up of threads (format/kernel_totals.h), as it stands in a file.
//
// Room 3. Rows stay where they are, in the mapped file.
#pragma once

#include <vector>

#include "format/kernel_totals.h"
#include "trace.h"

namespace hostprobe::analysis {

struct KernelTotalsPart {
  KernelTotalsHead head;
  const std::byte* rows = nullptr;

  KernelThreadTotals thread(std::uint32_t number) const;
  KernelTookTotals took(std::uint32_t number) const;
  KernelIrqTotals irq(std::uint32_t number) const;
};

// By time. Of one that a later version wrote the head alone: it has no rows.
std::vector<KernelTotalsPart> kernel_totals(const Trace& trace);
// There are totals that this version cannot read.
bool has_later_totals(const Trace& trace);

}  // namespace hostprobe::analysis
