// bare_call.h: a system call by its instruction alone. The probe stands in front of libc's functions, syscall() included, and
// sees none of these. It is inlined, and keeps nothing on the stack, which a child of vfork shares with its parent.
#pragma once

inline __attribute__((always_inline)) long bare_call(long number, long first = 0, long second = 0, long third = 0) {
#if defined(__x86_64__)
  asm volatile("syscall" : "+a"(number) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
  return number;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = first;
  register long x1 asm("x1") = second;
  register long x2 asm("x2") = third;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}
