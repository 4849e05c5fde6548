// scheduler.h: what the kernel told, as Perfetto's own records of the scheduler: it makes the rows of the CPUs, the states of
// threads and who woke whom of them.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "answer/kernel.h"
#include "axis.h"
#include "packets.h"

namespace hostprobe::analysis {

class PerfettoScheduler {
 public:
  PerfettoScheduler(const PerfettoAxis& axis, PerfettoPackets& out) : axis_(axis), out_(out) {}

  // What lies in the span, of this host, and of no moments that another one told of: else why it is left out.
  std::string add(const Trace& trace, const TimeSpan& span);

 private:
  const PerfettoAxis& axis_;
  PerfettoPackets& out_;
  std::vector<KernelFile> written_;
};

}  // namespace hostprobe::analysis
