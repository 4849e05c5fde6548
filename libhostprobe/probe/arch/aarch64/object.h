// object.h: what the loader's tables hold on this architecture.
//
// Room 2 (probe/).
#pragma once

#include <elf.h>

#include <cstdint>

#include "format/file.h"

namespace hostprobe::probe {

inline constexpr Architecture kArchitecture = kAarch64;

// Of a slot that is bound when it is first called through.
constexpr bool is_call_slot(std::uint64_t relocation) { return relocation == R_AARCH64_JUMP_SLOT; }
// Of a slot that holds the address of a function. TLSDESC's hold no such address and are left alone.
constexpr bool is_function_slot(std::uint64_t relocation) {
  return is_call_slot(relocation) || relocation == R_AARCH64_GLOB_DAT || relocation == R_AARCH64_ABS64;
}

// The first version that glibc has had here: what is older elsewhere bears it.
#define HP_FIRST_GLIBC "GLIBC_2.17"
// Under which version a function is found that glibc has had since `since`. Other texts are no versions of glibc's.
constexpr const char* version_here(const char* since) {
  constexpr char kStart[] = "GLIBC_2.";
  const char* at = since;
  for (const char* start = kStart; *start != 0; ++at, ++start)
    if (*at != *start) return since;
  unsigned minor = 0;
  for (; *at >= '0' && *at <= '9'; ++at) minor = minor * 10 + static_cast<unsigned>(*at - '0');
  return minor < 17 ? HP_FIRST_GLIBC : since;
}
static_assert(version_here("GLIBC_2.3.4")[8] == '1' && version_here("GLIBC_2.34")[8] == '3');

// The code of a passage (passages.S).
#define HP_PASSAGE_BYTES 64

// glibc's struct pthread holds the kernel's id of the thread there: behind 24 words and a list.
inline constexpr unsigned kTidInThread = 0xd0;

}  // namespace hostprobe::probe
