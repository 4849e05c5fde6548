// records.h: records of a trace, in memory.
//
// Room 3. New elements are not zeroed: whoever asks for room fills it, and zeros would be written for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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

// Its count, time and bytes are in the counters of its thread; what it tells besides is nowhere else.
inline bool is_aggregated(const Record& record) { return (record.flags & kRecordAggregated) != 0; }
std::uint32_t count_summed(const Records& records);

// Of a..e, which stand side by side.
inline std::uint64_t word(const Record& record, int index) {
  static_assert(offsetof(Record, e) == offsetof(Record, a) + 4 * sizeof(record.a));
  if (index < 0) return 0;
  std::uint64_t value;
  std::memcpy(&value,
              reinterpret_cast<const std::byte*>(&record) + offsetof(Record, a) + 8 * static_cast<std::size_t>(index),
              8);
  return value;
}

}  // namespace hostprobe::analysis
