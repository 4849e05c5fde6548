// kernel_call.h: system calls without libc, whose functions may have to be looked up first, and set errno.
//
// Room 2 (probe/). The kernel's answer: negative error numbers.
#pragma once

#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

inline long system_call(long number, long a, long b, long c = 0, long d = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}
inline long system_call_of_six(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
inline long system_call_of_none(long number) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
  return result;
}

// What not every kernel has under the same number.
inline long poll_at_once(void* descriptors, long count) {
  return system_call(SYS_poll, reinterpret_cast<long>(descriptors), count, 0);
}
inline long read_link(const char* path, char* to, std::size_t bytes) {
  return system_call(SYS_readlink, reinterpret_cast<long>(path), reinterpret_cast<long>(to), static_cast<long>(bytes));
}
// A fork that takes no arguments.
inline bool is_plain_fork(long number) { return number == SYS_fork; }

// Pages have this size, here and at the most.
inline constexpr std::size_t kMostPageBytes = 4096;
inline std::uintptr_t page_bytes() { return kMostPageBytes; }
// The program's own addresses are below it.
inline constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 47;

}  // namespace hostprobe::probe
