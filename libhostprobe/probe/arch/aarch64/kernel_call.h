// kernel_call.h: system calls without libc, whose functions may have to be looked up first, and set errno.
//
// Room 2 (probe/). The kernel's answer: negative error numbers.
#pragma once

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

inline long system_call_of_six(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "cc", "memory");
  return x0;
}
inline long system_call(long number, long a, long b, long c = 0, long d = 0) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "cc", "memory");
  return x0;
}
inline long system_call_of_none(long number) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0");
  asm volatile("svc #0" : "=r"(x0) : "r"(x8) : "cc", "memory");
  return x0;
}

// The older calls, which took a flag or a folder less, are not there.
inline long poll_at_once(void* descriptors, long count) {
  timespec none{0, 0};
  return system_call_of_six(SYS_ppoll, reinterpret_cast<long>(descriptors), count, reinterpret_cast<long>(&none), 0, 0,
                            0);
}
inline long read_link(const char* path, char* to, std::size_t bytes) {
  return system_call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(path), reinterpret_cast<long>(to),
                     static_cast<long>(bytes));
}
inline bool is_plain_fork(long) { return false; }

// The kernel was built for 4, 16 or 64 KiB: what must be a page of its own takes the most, what asks looks.
inline constexpr std::size_t kMostPageBytes = 65536;
inline std::uintptr_t page_bytes() { return getauxval(AT_PAGESZ); }
// The program's own addresses are below it: 48 bits, unless it asks the kernel for more.
inline constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 48;

}  // namespace hostprobe::probe
