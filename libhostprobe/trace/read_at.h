// read_at.h: a value out of the bytes of a file, wherever they lie.
//
// Room 3. What is read has no pointers and no invariants: the structs of format/.
#pragma once

#include <cstddef>
#include <cstring>

namespace hostprobe::analysis {

template <typename T>
T read_at(const std::byte* bytes) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes, sizeof(value));
  return value;
}

}  // namespace hostprobe::analysis
