// object.h: what the loader's tables hold on this architecture.
//
// Room 2 (probe/).
#pragma once

#include <elf.h>

#include <cstdint>

#include "format/file.h"

namespace hostprobe::probe {

inline constexpr Architecture kArchitecture = kX86_64;

// Of a slot that is bound when it is first called through.
constexpr bool is_call_slot(std::uint64_t relocation) { return relocation == R_X86_64_JUMP_SLOT; }
// Of a slot that holds the address of a function.
constexpr bool is_function_slot(std::uint64_t relocation) {
  return is_call_slot(relocation) || relocation == R_X86_64_GLOB_DAT || relocation == R_X86_64_64;
}

// The first version that glibc has had here: what is older elsewhere bears it.
#define HP_FIRST_GLIBC "GLIBC_2.2.5"
// Under which version a function is found that glibc has had since `since`.
constexpr const char* version_here(const char* since) { return since; }

// The code of a passage (passages.S).
#define HP_PASSAGE_BYTES 32

// glibc's struct pthread holds the kernel's id of the thread there.
inline constexpr unsigned kTidInThread = 0x2d0;

}  // namespace hostprobe::probe
