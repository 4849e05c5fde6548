// ptrace_thread.h: one thread of another process, stopped for as long as this object lives.
//
// Room 3. A careful guest: seized, not attached, so no signal is sent and a stop by SIGSTOP stays what it is; a signal that
// comes meanwhile is handed on; a system call that a stop would make fail with EINTR begins again. Whatever ends
// this process, the kernel detaches what it had seized.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <stdexcept>
#include <string>

namespace hostprobe::analysis {

// The kernel does not let us; the text says what forbids it and what would allow it.
struct TraceForbidden : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What keeps us from tracing this process, and what would allow it.
std::string why_forbidden(pid_t pid);

class PtraceThread {
 public:
  // Throws TraceForbidden. A thread that has ended, or does not stop within a second, leaves stopped() false.
  PtraceThread(pid_t pid, pid_t tid);
  ~PtraceThread();
  PtraceThread(const PtraceThread&) = delete;
  PtraceThread& operator=(const PtraceThread&) = delete;

  bool stopped() const { return readable_; }
  const user_regs_struct& registers() const { return registers_; }

 private:
  bool await_stop();
  void go_on();

  pid_t tid_;
  bool seized_ = false;
  bool held_ = false;      // in a stop that ends when we detach
  bool readable_ = false;  // and its registers are here
  int signal_ = 0;         // that was about to be delivered when it stopped
  user_regs_struct registers_{};
};

}  // namespace hostprobe::analysis
