// records.h: records of a trace, in memory.
//
// Room 3. New elements are not zeroed: whoever asks for room fills it, and zeros would be written for nothing.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "format/record.h"

namespace hostprobe::analysis {

template <typename T>
struct Unfilled : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = Unfilled<U>;
  };
  Unfilled() = default;
  template <typename U>
  explicit Unfilled(const Unfilled<U>&) {}

  template <typename U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Args>
  void construct(U* at, Args&&... args) {
    std::construct_at(at, std::forward<Args>(args)...);
  }
};

using Records = std::vector<Record, Unfilled<Record>>;

}  // namespace hostprobe::analysis
