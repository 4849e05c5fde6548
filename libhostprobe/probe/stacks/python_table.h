// python_table.h: the bytes of a code object's line table, as the interpreter keeps them.
//
// Room 2 (probe/). Copied by the kernel (safe_memory.h), in the caller's room: a table may be long, and the stack a small one. What is
// missing or no bytes object ends the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "probe/runtime/safe_memory.h"
#include "probe/stacks/python_layout.h"

namespace hostprobe::probe {

// A line table, read piece by piece.
class TableBytes {
 public:
  // `raw`: what was already copied of the bytes object at `from`.
  TableBytes(const Memory& memory, std::uint64_t bytes_type, char (&bytes)[256], const char* raw, std::size_t raw_bytes,
             std::uint64_t from)
      : memory_(memory), bytes_(bytes) {
    const std::uint64_t length = word(raw, kBytesLength);
    if (word(raw, kObjectType) != bytes_type || length > kMostBytes) return;
    left_ = static_cast<std::size_t>(length);
    from_ = from + kBytesStart;
    hold(raw + kBytesStart, raw_bytes - kBytesStart);
  }
  bool next(unsigned char& byte) {
    if (used_ == held_ && !refill()) return false;
    byte = static_cast<unsigned char>(bytes_[used_++]);
    return true;
  }

 private:
  static constexpr std::uint64_t kMostBytes = 256 * 1024;  // beyond: the first line will do
  void hold(const char* raw, std::size_t bytes) {
    held_ = bytes < sizeof bytes_ ? bytes : sizeof bytes_;
    if (held_ > left_) held_ = left_;
    memcpy(bytes_, raw, held_);
    take_off(held_);
  }
  void take_off(std::size_t bytes) {
    left_ -= bytes;
    from_ += bytes;
  }
  bool refill() {
    used_ = 0;
    held_ = left_ < sizeof bytes_ ? left_ : sizeof bytes_;
    if (held_ == 0 || !memory_.copy(bytes_, from_, held_)) held_ = left_ = 0;
    take_off(held_);
    return held_ != 0;
  }
  const Memory& memory_;
  std::uint64_t from_ = 0;
  std::size_t left_ = 0, held_ = 0, used_ = 0;
  char (&bytes_)[256];
};

}  // namespace hostprobe::probe
