// thread_registers.h: what this architecture's registers say of a thread that was stopped, or sleeps.
//
// Room 3.
#pragma once

#include <libunwind.h>
#include <sys/user.h>

#include <cstdint>

namespace hostprobe::analysis {

#if defined(__x86_64__)

inline std::uint64_t stack_pointer_of(const user_regs_struct& r) { return r.rsp; }
inline std::uint64_t pc_of(const user_regs_struct& r) { return r.rip; }
inline user_regs_struct registers_at(std::uint64_t stack_pointer, std::uint64_t pc) {
  user_regs_struct registers{};
  registers.rsp = stack_pointer;
  registers.rip = pc;
  return registers;
}
// What pthread_self() is there; 0: the registers do not say it.
inline std::uint64_t thread_pointer_in(const user_regs_struct& r) { return r.fs_base; }
// What a program may keep below its stack pointer.
inline constexpr std::uint64_t kRedZoneBytes = 128;

// Whether it is one of the two that /proc has of a sleeping thread.
inline bool is_known_asleep(unw_regnum_t number) { return number == UNW_X86_64_RSP || number == UNW_X86_64_RIP; }
// False: none that libunwind may ask for.
inline bool unwind_register(const user_regs_struct& r, unw_regnum_t number, unw_word_t& value) {
  const unsigned long long all[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                                    r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
  if (number < UNW_X86_64_RAX || number > UNW_X86_64_RIP) return false;
  value = all[number - UNW_X86_64_RAX];
  return true;
}

// A call that failed because its thread was stopped begins again when its result says so.
inline constexpr bool kCallsBeginAgain = true;
inline long call_result(const user_regs_struct& r) { return static_cast<long>(r.rax); }
inline long call_number(const user_regs_struct& r) { return static_cast<long>(r.orig_rax); }
inline void set_call_result(user_regs_struct& r, long result) { r.rax = static_cast<unsigned long long>(result); }

#elif defined(__aarch64__)

inline std::uint64_t stack_pointer_of(const user_regs_struct& r) { return r.sp; }
inline std::uint64_t pc_of(const user_regs_struct& r) { return r.pc; }
inline user_regs_struct registers_at(std::uint64_t stack_pointer, std::uint64_t pc) {
  user_regs_struct registers{};
  registers.sp = stack_pointer;
  registers.pc = pc;
  return registers;
}
// tpidr_el0 is none of them, and pthread_self() lies a distance below it that differs with the version of glibc.
inline std::uint64_t thread_pointer_in(const user_regs_struct&) { return 0; }
inline constexpr std::uint64_t kRedZoneBytes = 0;

inline bool is_known_asleep(unw_regnum_t number) { return number == UNW_AARCH64_SP || number == UNW_AARCH64_PC; }
inline bool unwind_register(const user_regs_struct& r, unw_regnum_t number, unw_word_t& value) {
  if (number == UNW_AARCH64_SP) return value = r.sp, true;
  if (number == UNW_AARCH64_PC) return value = r.pc, true;
  if (number < UNW_AARCH64_X0 || number > UNW_AARCH64_X30) return false;
  value = r.regs[number - UNW_AARCH64_X0];
  return true;
}

// The kernel decides about that before it stops the thread, and has put the result over the first argument. So threads in such
// calls are not stopped.
inline constexpr bool kCallsBeginAgain = false;
inline long call_result(const user_regs_struct& r) { return static_cast<long>(r.regs[0]); }
inline long call_number(const user_regs_struct& r) { return static_cast<long>(r.regs[8]); }
inline void set_call_result(user_regs_struct&, long) {}

#else
#error "hostprobe knows the registers of x86-64 and aarch64"
#endif

}  // namespace hostprobe::analysis
