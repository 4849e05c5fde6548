// unwind_frame.h: the registers that unwind tables speak of, and how a call leaves its mark.
//
// Room 2 (probe/).
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// By their DWARF numbers.
inline constexpr unsigned kRegisters = 17, kRbx = 3, kRbp = 6, kRsp = 7, kR12 = 12, kRip = 16;
inline constexpr unsigned kStackPointer = kRsp, kPc = kRip;
// Of which a table says where the caller's pc is.
inline constexpr unsigned kReturnRegister = kRip;
// Those that a function leaves as it found them, and the return address.
inline constexpr unsigned kSavedRegisters[] = {kRbx, kRbp, kR12, kR12 + 1, kR12 + 2, kR12 + 3, kRip};
using RegisterBits = std::uint32_t;
inline constexpr RegisterBits kTakenRegisters = 1u << kRbx | 1u << kRbp | 1u << kRsp | 0xfu << kR12 | 1u << kRip;

// The registers of the function that it stands in, into an array by their numbers: kTakenRegisters.
#define HP_TAKE_REGISTERS(values)                                                                       \
  asm volatile(                                                                                         \
      "movq %%rbx, 3*8(%0)\n\tmovq %%rbp, 6*8(%0)\n\tmovq %%rsp, 7*8(%0)\n\tmovq %%r12, 12*8(%0)\n\t"   \
      "movq %%r13, 13*8(%0)\n\tmovq %%r14, 14*8(%0)\n\tmovq %%r15, 15*8(%0)\n\tleaq (%%rip), %%rax\n\t" \
      "movq %%rax, 16*8(%0)"                                                                            \
      :                                                                                                 \
      : "c"(values)                                                                                     \
      : "rax", "memory")

// A call stores its return address, so the caller's stack pointer is always another one.
inline constexpr bool kCallsMoveStack = true;

inline std::uint64_t plain_address(std::uint64_t address) { return address; }

// What stands before a return address: E8 and a distance, or FF /2 with any operand.
inline bool ends_with_call(const std::uint8_t (&code)[8]) {
  if (code[3] == 0xe8) return true;
  for (unsigned bytes = 2; bytes <= 7; ++bytes) {
    const std::uint8_t* at = code + 8 - bytes;
    if (at[0] != 0xff || (at[1] & 0x38) != 0x10) continue;
    unsigned mode = at[1] >> 6, base = at[1] & 7;
    bool has_index = mode != 3 && base == 4;
    unsigned wanted = 2 + has_index + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
    if (mode == 0 && (base == 5 || (has_index && (at[2] & 7) == 5))) wanted += 4;
    if (bytes == wanted) return true;
  }
  return false;
}

// Of DWARF's instructions those that only this architecture has.
inline constexpr bool is_sign_instruction(std::uint8_t) { return false; }

}  // namespace hostprobe::probe
