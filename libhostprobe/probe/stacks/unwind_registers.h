// unwind_registers.h: the registers of a frame, as far as they are known.
//
// Room 2 (probe/). By their numbers in unwind tables (arch/).
#pragma once

#include "probe/arch/architecture.h"

namespace hostprobe::probe {

struct Registers {
  std::uint64_t value[kRegisters];
  RegisterBits known;  // a bit each

  bool has(std::uint64_t number) const { return number < kRegisters && (known >> number & 1) != 0; }
  void set(unsigned number, std::uint64_t word) {
    value[number] = word;
    known |= RegisterBits{1} << number;
  }
};

}  // namespace hostprobe::probe
