// unwind_frame.h: the registers that unwind tables speak of, and how a call leaves its mark.
//
// Room 2 (probe/).
#pragma once

#include <cstdint>
#include <cstring>

namespace hostprobe::probe {

// By their DWARF numbers; the pc has none that all compilers know.
inline constexpr unsigned kX19 = 19, kX29 = 29, kX30 = 30, kRegisters = 33;
inline constexpr unsigned kStackPointer = 31, kPc = 32;
// Of which a table says where the caller's pc is.
inline constexpr unsigned kReturnRegister = kX30;
// Those that a function leaves as it found them, and the return address.
inline constexpr unsigned kSavedRegisters[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, kX29, kX30};
using RegisterBits = std::uint64_t;
inline constexpr RegisterBits kTakenRegisters =
    RegisterBits{0xfff} << kX19 | RegisterBits{1} << kStackPointer | RegisterBits{1} << kPc;

// The registers of the function that it stands in, into an array by their numbers: kTakenRegisters.
#define HP_TAKE_REGISTERS(values)                                                               \
  asm volatile(                                                                                 \
      "stp x19, x20, [%0, #19*8]\n\tstp x21, x22, [%0, #21*8]\n\tstp x23, x24, [%0, #23*8]\n\t" \
      "stp x25, x26, [%0, #25*8]\n\tstp x27, x28, [%0, #27*8]\n\tstp x29, x30, [%0, #29*8]\n\t" \
      "mov x9, sp\n\tadr x10, .\n\tstp x9, x10, [%0, #31*8]"                                    \
      :                                                                                         \
      : "r"(values)                                                                             \
      : "x9", "x10", "memory")

// A call leaves its return address in a register: what it calls may need no stack.
inline constexpr bool kCallsMoveStack = false;

// Without its signature, where functions sign return addresses (PAC); the instruction is a hint that older CPUs pass over.
inline std::uint64_t plain_address(std::uint64_t address) {
  register std::uint64_t x30 __asm__("x30") = address;
  asm("hint #7" : "+r"(x30));  // xpaclri
  return x30;
}

// What stands before a return address: bl, or blr with or without a signed pointer.
inline bool ends_with_call(const std::uint8_t (&code)[8]) {
  std::uint32_t last;
  memcpy(&last, code + 4, sizeof last);
  return (last & 0xfc000000) == 0x94000000 || (last & 0xfffffc1f) == 0xd63f0000 || (last & 0xfefff800) == 0xd63f0800;
}

// DW_CFA_AARCH64_negate_ra_state: return addresses are signed from here on, or no longer. plain_address() takes either.
inline constexpr bool is_sign_instruction(std::uint8_t code) { return code == 0x2d; }

}  // namespace hostprobe::probe
