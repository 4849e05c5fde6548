// limited_sleep.cpp: see limited_sleep.h.
#include "limited_sleep.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "thread_registers.h"

namespace hostprobe::analysis {
namespace {

// What says that such a call has a time limit.
enum class Limit {
  kMilliseconds,  // an argument that is more than 0
  kPointer,       // an argument that points to one
  kSocket,        // perhaps the socket's own (SO_RCVTIMEO, SO_SNDTIMEO), which cannot be seen from outside
  kFlag,          // an argument that has IORING_ENTER_EXT_ARG
};

struct EndedCall {
  long number;
  Limit limit;
  std::size_t argument;
};

// IORING_ENTER_EXT_ARG, which older headers lack.
constexpr std::uint64_t kWithLimit = 1u << 3;

// The list of signal(7), as far as it is true of Linux 5 and 6, and what it forgets: io_uring_enter.
constexpr EndedCall kEndedByAStop[] = {
#ifdef SYS_epoll_wait  // newer architectures have the other two only
    {SYS_epoll_wait, Limit::kMilliseconds, 3},
#endif
    {SYS_epoll_pwait, Limit::kMilliseconds, 3},
    {SYS_epoll_pwait2, Limit::kPointer, 3},
    {SYS_io_getevents, Limit::kPointer, 4},
    {SYS_semtimedop, Limit::kPointer, 3},
    {SYS_rt_sigtimedwait, Limit::kPointer, 2},
    {SYS_recvmmsg, Limit::kSocket, 0},
    {SYS_recvfrom, Limit::kSocket, 0},
    {SYS_recvmsg, Limit::kSocket, 0},
    {SYS_accept, Limit::kSocket, 0},
    {SYS_accept4, Limit::kSocket, 0},
    {SYS_sendto, Limit::kSocket, 0},
    {SYS_sendmsg, Limit::kSocket, 0},
    {SYS_sendmmsg, Limit::kSocket, 0},
    {SYS_read, Limit::kSocket, 0},
    {SYS_readv, Limit::kSocket, 0},
    {SYS_write, Limit::kSocket, 0},
    {SYS_writev, Limit::kSocket, 0},
    {SYS_connect, Limit::kSocket, 0},
    {SYS_io_uring_enter, Limit::kFlag, 3},
};
constexpr long kEndedWithoutLimit[] = {SYS_semop, SYS_msgrcv, SYS_msgsnd};

// As a file of /proc has them: number, six arguments, stack pointer, instruction.
using Words = std::array<std::uint64_t, 9>;

std::optional<Words> words_of(const std::string& call) {
  std::istringstream text(call);
  Words words{};
  if (!(text >> std::dec >> words[0])) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!(text >> std::hex >> words[i])) return std::nullopt;
  return words;
}

bool is_socket(pid_t pid, pid_t tid, std::uint64_t descriptor) {
  std::error_code gone;
  const std::string path = fmt::format("/proc/{}/task/{}/fd/{}", pid, tid, descriptor);
  return std::filesystem::read_symlink(path, gone).string().starts_with("socket:");
}

bool never_has_limit(long call) {
  return std::find(std::begin(kEndedWithoutLimit), std::end(kEndedWithoutLimit), call) != std::end(kEndedWithoutLimit);
}

bool has_limit(pid_t pid, pid_t tid, const Words& words) {
  for (const EndedCall& each : kEndedByAStop) {
    if (static_cast<std::uint64_t>(each.number) != words[0]) continue;
    const std::uint64_t argument = words[1 + each.argument];
    if (each.limit == Limit::kMilliseconds) return static_cast<std::int32_t>(argument) > 0;
    if (each.limit == Limit::kFlag) return (argument & kWithLimit) != 0;
    return each.limit == Limit::kPointer ? argument != 0 : is_socket(pid, tid, argument);
  }
  return false;
}

struct TaskStatus {
  bool sleeps = false;
  std::uint64_t switches = 0;
};

TaskStatus status_of(const std::string& task) {
  std::ifstream file(task + "/status");
  TaskStatus status;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:")) status.sleeps = line.find("S (") != std::string::npos;
    if (line.find("voluntary_ctxt_switches:") == std::string::npos) continue;
    status.switches += std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10);
  }
  return status;
}

}  // namespace

user_regs_struct LimitedSleep::registers() const {
  const Words words = words_of(call).value_or(Words{});
  return registers_at(words[7], words[8]);
}

std::optional<LimitedSleep> limited_sleep_of(pid_t pid, pid_t tid) {
  const std::string task = fmt::format("/proc/{}/task/{}", pid, tid);
  LimitedSleep sleep;
  std::ifstream file(task + "/syscall");
  if (!std::getline(file, sleep.call)) return std::nullopt;
  const std::optional<Words> words = words_of(sleep.call);
  if (!words) return std::nullopt;
  const bool cannot_begin_again = !kCallsBeginAgain && never_has_limit(static_cast<long>((*words)[0]));
  if (!cannot_begin_again && !has_limit(pid, tid, *words)) return std::nullopt;
  const TaskStatus status = status_of(task);
  if (!status.sleeps) return std::nullopt;
  sleep.switches = status.switches;
  return sleep;
}

bool is_ended_by_a_stop(long call) {
  const auto is_it = [call](const EndedCall& each) { return each.number == call; };
  return std::any_of(std::begin(kEndedByAStop), std::end(kEndedByAStop), is_it) || never_has_limit(call);
}

}  // namespace hostprobe::analysis
