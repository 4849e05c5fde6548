// collective_kernels.h: which work on the GPU a call of the host caused: what was launched inside of it by its thread.
//
// Room 3. NCCL launches the kernel of a collective inside the call, or inside the end of its group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hostprobe::analysis {

struct DeviceTimeline;

// Consecutive ones of CollectiveKernels.
struct KernelRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct GpuSpan {
  double begin_ns = 0;  // as in event.h
  double end_ns = 0;
  double error_ns = 0;  // of the end; infinite: it is not known
  KernelRange kernels;
};

class CollectiveKernels {
 public:
  explicit CollectiveKernels(const DeviceTimeline& device);
  bool empty() const { return kernels_.empty(); }
  // Of all of them is known when they ran, as a profile knows it.
  bool are_exact() const { return are_exact_; }
  // From the first begin to the last end of what thread `tid` launched in that time. Nothing: no kernel.
  std::optional<GpuSpan> launched_in(std::uint32_t tid, double begin_ns, double end_ns) const;
  // By thread and time of launch; `number` is that in DeviceTimeline::activities.
  struct Kernel {
    double begin_ns, end_ns, launch_ns;
    std::uint32_t launch_tid, number;
    float error_ns;
  };
  const Kernel& at(std::uint32_t position) const { return kernels_[position]; }

 private:
  std::vector<Kernel> kernels_;
  bool are_exact_ = true;
};

}  // namespace hostprobe::analysis
