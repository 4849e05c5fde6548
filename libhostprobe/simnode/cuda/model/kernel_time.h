// How long the kernels of one stream last. The model says one duration for a kernel, always the same; a real device varies:
// around it (spread), slowly all together (drift), and where another stream computes at the same time (stretching).
// Everything here runs with the node's lock held and allocates nothing for a launch: about 20 ns.
#pragma once
#include "node/settings.h"

#include <cstdint>
#include <vector>

namespace simnode {

class KernelTimes;

// What the streams of a device share.
struct DeviceKernels {
  int number = 0;  // of the device, and of its process in a job: devices do not drift together
  std::vector<KernelTimes*> streams;
  int64_t drift_step = -1;  // the drift is that of this millisecond
  double drift = 0;
};

// When a stream had kernels: the latest stretches without a gap. What is older has been forgotten.
class KernelStretches {
 public:
  struct Stretch {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };
  void add(int64_t begin_ns, int64_t end_ns, int64_t gap_ns);
  int64_t latest_end_ns() const { return latest_end_ns_; }
  const Stretch* begin() const { return stretches_; }
  const Stretch* end() const { return stretches_ + kKept; }

 private:
  static constexpr unsigned kKept = 4;
  Stretch stretches_[kKept];
  unsigned newest_ = 0;
  int64_t latest_end_ns_ = 0;
};

class KernelTimes {
 public:
  // The same numbers for the same stream of the same rank in each run.
  void start(DeviceKernels& device, const Settings& settings, uint64_t stream_id);
  // Others of the device do not see it any more.
  void leave();
  // When a kernel ends that begins then and is modelled to last so long. Each call takes the next random number.
  int64_t end_ns(int64_t begin_ns, int64_t modelled_ns);
  // To be called for each kernel that has its times, so that others are stretched by it.
  void add(int64_t begin_ns, int64_t end_ns);

 private:
  double variation(int64_t begin_ns);
  int64_t stretched_end_ns(int64_t begin_ns, double left_ns) const;

  DeviceKernels* device_ = nullptr;
  const Settings* settings_ = nullptr;
  uint64_t random_ = 0;
  KernelStretches stretches_;
};

// Whether durations are anything else than as modelled.
bool kernels_vary(const Settings& settings);

}  // namespace simnode
