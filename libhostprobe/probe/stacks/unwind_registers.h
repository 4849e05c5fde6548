// unwind_registers.h: the registers of a frame, as far as they are known.
//
// Room 2 (probe/). Those of x86-64 that unwind tables speak of.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// By their DWARF numbers.
inline constexpr unsigned kRegisters = 17, kRbx = 3, kRbp = 6, kRsp = 7, kR12 = 12, kRip = 16;

struct Registers {
  std::uint64_t value[kRegisters];
  std::uint32_t known;  // a bit each

  bool has(std::uint64_t number) const { return number < kRegisters && (known >> number & 1) != 0; }
  void set(unsigned number, std::uint64_t word) {
    value[number] = word;
    known |= 1u << number;
  }
};

}  // namespace hostprobe::probe
