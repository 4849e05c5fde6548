// ptrace_thread.cpp: see ptrace_thread.h.
#include "ptrace_thread.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "limited_sleep.h"
#include "thread_registers.h"

namespace hostprobe::analysis {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(1);

// The number behind `name` in a status file; -1: not there.
long status_number(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::strtol(line.c_str() + name.size(), nullptr, 10);
  return -1;
}

constexpr long kRestartUnlessHandled = 514;  // ERESTARTNOHAND, which no header tells programs about

bool would_fail_by_us(const user_regs_struct& registers) {
  return kCallsBeginAgain && call_result(registers) == -EINTR && is_ended_by_a_stop(call_number(registers));
}

}  // namespace

std::string why_forbidden(pid_t pid) {
  const std::string status = fmt::format("/proc/{}/status", pid);
  if (const long tracer = status_number(status, "TracerPid:"); tracer > 0)
    return fmt::format("process {} is being traced by process {} (a debugger?); a thread has one tracer only", pid,
                       tracer);
  const long owner = status_number(status, "Uid:");
  if (geteuid() != 0 && owner >= 0 && owner != static_cast<long>(geteuid()))
    return fmt::format("process {} belongs to another user; ask as that user or as root", pid);
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope == 3)
    return "this machine lets nobody trace a process until it is started again (kernel.yama.ptrace_scope is 3)";
  if (scope > 0)
    return fmt::format(
        "this machine lets {} trace process {} (kernel.yama.ptrace_scope is {}); as root, or after "
        "`sudo sysctl kernel.yama.ptrace_scope=0`, it works",
        scope == 1 ? "only its parents" : "only root", pid, scope);
  return fmt::format(
      "the kernel does not let us trace process {}: in a container it takes `docker run --cap-add=SYS_PTRACE`; a "
      "process "
      "that changed its user or forbids dumps (prctl PR_SET_DUMPABLE) only root may trace",
      pid);
}

PtraceThread::PtraceThread(pid_t pid, pid_t tid) : tid_(tid) {
  if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    if (errno == ESRCH) return;
    // A thread that has just ended is refused like a foreign one.
    if (std::ifstream state(fmt::format("/proc/{}/task/{}/stat", pid, tid)); !state) return;
    const std::string path = fmt::format("/proc/{}/task/{}/status", pid, tid);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("State:") && line.find_first_of("ZX") != std::string::npos) return;
    throw TraceForbidden(why_forbidden(pid));
  }
  seized_ = true;
  if (ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0 || !await_stop()) return;
  iovec place{&registers_, sizeof registers_};
  readable_ = ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &place) == 0 && place.iov_len == sizeof registers_;
}

// Until the stop; false when the thread ended, or sleeps so deep that it does not stop.
bool PtraceThread::await_stop() {
  const auto end = Clock::now() + kPatience;
  for (unsigned round = 0;; ++round) {
    int status = 0;
    const pid_t got = waitpid(tid_, &status, __WALL | WNOHANG);
    if (got < 0 && errno != EINTR) return seized_ = false;
    if (got == tid_) {
      if (!WIFSTOPPED(status)) return seized_ = false;
      // A stop of its own kind is ours or a group's; any other is a signal on its way, which goes on with the thread.
      signal_ = status >> 16 == 0 ? WSTOPSIG(status) : 0;
      return held_ = true;
    }
    if (Clock::now() >= end) return false;
    if (round > 50) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void PtraceThread::go_on() {
  if (readable_ && signal_ == 0 && would_fail_by_us(registers_)) {
    set_call_result(registers_, -kRestartUnlessHandled);
    iovec place{&registers_, sizeof registers_};
    ptrace(PTRACE_SETREGSET, tid_, NT_PRSTATUS, &place);
  }
  ptrace(PTRACE_DETACH, tid_, nullptr, static_cast<long>(signal_));
}

PtraceThread::~PtraceThread() {
  // Only a stopped thread can be let go of. One that sleeps too deep for a stop is freed by the end of this process.
  if (seized_ && (held_ || await_stop())) go_on();
}

}  // namespace hostprobe::analysis
