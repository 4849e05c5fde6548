// The bounded queue of a stream: when each of its latest launches ends, so that a call can see whether there is room for one
// more. A ring of 8 bytes for each place, made by the stream's first launch.
#pragma once
#include <cstdint>
#include <vector>

namespace simnode {

class LaunchQueue {
 public:
  static constexpr int64_t kUnknown = INT64_MAX;  // waits in the stream's queue

  // When the place that the next launch takes becomes free.
  int64_t free_ns() const { return ends_.empty() ? 0 : ends_[(launches_ + 1) % ends_.size()]; }
  // Takes it; 0 when nothing is counted, else the launch's number.
  uint64_t take(int64_t places) {
    if (places == 0) return 0;
    if (ends_.empty()) ends_.resize(static_cast<size_t>(places));
    ends_[++launches_ % ends_.size()] = kUnknown;
    return launches_;
  }
  // A launch that was let in without a free place has taken that of an older one, which counts no more.
  void end(uint64_t launch, int64_t end_ns) {
    if (launch != 0 && launches_ - launch < ends_.size()) ends_[launch % ends_.size()] = end_ns;
  }

 private:
  std::vector<int64_t> ends_;
  uint64_t launches_ = 0;
};

}  // namespace simnode
