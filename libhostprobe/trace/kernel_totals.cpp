// kernel_totals.cpp: see kernel_totals.h.
#include "kernel_totals.h"

#include <algorithm>

#include "read_at.h"

namespace hostprobe::analysis {
KernelThreadTotals KernelTotalsPart::thread(std::uint32_t number) const {
  return read_at<KernelThreadTotals>(rows + number * sizeof(KernelThreadTotals));
}

KernelTookTotals KernelTotalsPart::took(std::uint32_t number) const {
  return read_at<KernelTookTotals>(rows + head.threads * sizeof(KernelThreadTotals) +
                                   number * sizeof(KernelTookTotals));
}

KernelIrqTotals KernelTotalsPart::irq(std::uint32_t number) const {
  return read_at<KernelIrqTotals>(rows + head.threads * sizeof(KernelThreadTotals) +
                                  head.took * sizeof(KernelTookTotals) + number * sizeof(KernelIrqTotals));
}

std::vector<KernelTotalsPart> kernel_totals(const Trace& trace) {
  std::vector<KernelTotalsPart> parts;
  for (const BlockBytes& block : trace.kernel_totals) {
    KernelTotalsPart part{read_at<KernelTotalsHead>(block.bytes), block.bytes + sizeof(KernelTotalsHead)};
    if (part.head.version != kKernelTotalsVersion) part.head.threads = part.head.took = part.head.irqs = 0;
    parts.push_back(part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const KernelTotalsPart& l, const KernelTotalsPart& r) {
    return l.head.begin_ticks < r.head.begin_ticks;
  });
  return parts;
}

bool has_later_totals(const Trace& trace) {
  return std::any_of(trace.kernel_totals.begin(), trace.kernel_totals.end(), [](const BlockBytes& block) {
    return read_at<KernelTotalsHead>(block.bytes).version != kKernelTotalsVersion;
  });
}

}  // namespace hostprobe::analysis
