// native_stack.h: the return addresses of a thread that was stopped for a moment.
//
// Room 3. What changes when the thread goes on, its registers and its stack, is copied while it is stopped; libunwind
// works on the copy afterwards, with tables that nobody changes.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <vector>

#include "process_memory.h"
#include "thread_registers.h"

namespace hostprobe::analysis {

struct StackCopy {
  user_regs_struct registers{};
  bool has_all_registers = true;  // false: only the stack pointer and the pc
  std::uint64_t begin = 0;        // address of the first byte
  std::vector<std::byte> bytes;

  // To be called while the thread is stopped, or sleeps.
  void take(const ProcessMemory& memory, const user_regs_struct& now);
};

struct NativeFrame {
  std::uint64_t address = 0;
  bool is_return_address = true;  // false: the thread was, or a signal interrupted it, at this very instruction
};

// One per process: keeps the tables of its libraries open.
class NativeWalk {
 public:
  explicit NativeWalk(pid_t pid);
  ~NativeWalk();
  NativeWalk(const NativeWalk&) = delete;
  NativeWalk& operator=(const NativeWalk&) = delete;

  // Innermost first.
  std::vector<NativeFrame> frames(const StackCopy& copy);
  // Whether the last walk ended, or may be wrong, because of a register that its copy does not have.
  bool lacked_register() const { return lacked_register_; }

 private:
  struct Space;
  Space* space_;
  bool lacked_register_ = false;
};

}  // namespace hostprobe::analysis
