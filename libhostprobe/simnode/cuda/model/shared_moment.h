// An event of several processes: a small memfd with the number of the latest record and when it was, which whoever records
// writes and whoever waits reads.
#pragma once
#include "moment.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace simnode {

struct SharedMoment {
  struct State {
    std::atomic<uint64_t> recorded;  // records so far
    std::atomic<uint64_t> known;     // the latest of them whose time is known
    std::atomic<int64_t> at_ns;
  };
  State* state = nullptr;
  int fd = -1;

  ~SharedMoment();
  // Null when no memory can be had.
  static std::shared_ptr<SharedMoment> make();
  static std::shared_ptr<SharedMoment> open(int fd);

  uint64_t latest() const { return state->recorded.load(std::memory_order_acquire); }
  // Whether record `number`, or a later one, has been passed by the wall clock.
  bool reached(uint64_t number) const;
};

}  // namespace simnode
