// control_link.cpp: see control_link.h. The fields of Control in format/segment.h say who writes what when.
#include "control_link.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "own_thread.h"
#include "process_segment.h"

namespace hostprobe::analysis {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::milliseconds(5);
constexpr auto kLook = std::chrono::milliseconds(200);

[[noreturn]] void fail_without_segment(int pid, bool denied) {
  if (denied || (kill(pid, 0) != 0 && errno == EPERM)) {
    throw std::runtime_error(
        fmt::format("permission denied: process {} belongs to another user; ask as that user or as root", pid));
  }
  throw NotRecorded(fmt::format(
      "process {} does not record, or not where it can be asked: it is no target (HOSTPROBE_TARGET), has made "
      "no call worth a record yet, runs in another IPC namespace (nsenter -i), or shared memory was scarce",
      pid));
}

bool is_gone(int pid) {
  const char state = process_state(pid);
  return state == 0 || state == 'Z' || state == 'X';
}

template <std::size_t kBytes>
std::string text_of(const char (&text)[kBytes]) {
  return std::string(text, strnlen(text, kBytes));
}

}  // namespace

char process_state(int pid) {
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) return 0;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return '?';  // hidden, or just gone
  const auto after_name = text.rfind(')');    // the name may hold blanks and parentheses
  return after_name == std::string::npos || after_name + 2 >= text.size() ? '?' : text[after_name + 2];
}

ControlLink::ControlLink(int pid, std::chrono::milliseconds patience) : pid_(pid), patience_(patience) {
  if (is_gone(pid)) throw std::runtime_error(fmt::format("there is no process {}; it may have ended", pid));
  const FoundSegment found = find_segment(pid, true);
  if (found.header == nullptr) fail_without_segment(pid, found.denied);
  header_ = found.header;
  try {
    if (header_->version != kSegmentVersion) {
      throw std::runtime_error(
          fmt::format("process {} runs another version of hostprobe (layout {}, this one knows {}); "
                      "use the command that belongs to it",
                      pid, header_->version, kSegmentVersion));
    }
    take_turn();
  } catch (...) {
    shmdt(header_);
    throw;
  }
}

ControlLink::~ControlLink() {
  std::uint32_t own = static_cast<std::uint32_t>(getpid());
  std::atomic_ref(header_->control.owner).compare_exchange_strong(own, 0);
  shmdt(header_);
}

// One that died in the middle of asking is followed by the next.
void ControlLink::take_turn() {
  std::atomic_ref owner(header_->control.owner);
  const auto own = static_cast<std::uint32_t>(getpid());
  const auto end = Clock::now() + patience_;
  for (;;) {
    std::uint32_t before = owner.load(std::memory_order_acquire);
    const bool free = before == 0 || is_gone(static_cast<int>(before));
    if (free && owner.compare_exchange_strong(before, own, std::memory_order_acq_rel)) return;
    if (!free && Clock::now() >= end) {
      throw std::runtime_error(fmt::format(
          "another `hostprobe ctl` (process {}) is asking process {}; try again when it has ended", before, pid_));
    }
    std::this_thread::sleep_for(kPause);
  }
}

// What was asked must not be done later, when nobody expects it any more.
void ControlLink::withdraw(const std::string& why) {
  std::atomic_ref(header_->control.asked).store(0, std::memory_order_release);
  throw std::runtime_error(why);
}

// hostprobe's thread is there, or may begin any moment: it has before, or recording began just now.
bool ControlLink::may_answer() const {
  constexpr std::uint64_t kNewNs = 1000000000;
  const auto now_ns = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  return own_thread_of(pid_) != 0 || header_->writer_cpu_ns != 0 || now_ns < header_->clock.monotonic_ns + kNewNs;
}

void ControlLink::give_up() {
  const char state = process_state(pid_);
  if (state == 'T' || state == 't')
    withdraw(fmt::format("process {} is stopped and cannot answer; kill -CONT {} lets it go on", pid_, pid_));
  withdraw(fmt::format(
      "process {} did not answer in {:.3g} s: its machine is busy (a longer --timeout helps), its run folder cannot "
      "be written, or hostprobe's thread does not run in it",
      pid_, std::chrono::duration<double>(patience_).count()));
}

std::string ControlLink::ask(const std::string& request) {
  Control& control = header_->control;
  if (request.size() >= sizeof control.request)
    throw std::runtime_error(
        fmt::format("{} bytes are too many; {} is the most", request.size(), sizeof control.request - 1));
  // Not 0, not the last one's, and not that of one who gave up just now and may still be answered.
  const std::uint32_t number = static_cast<std::uint32_t>(Clock::now().time_since_epoch().count()) | 1u;
  std::memset(control.request, 0, sizeof control.request);
  std::memcpy(control.request, request.data(), request.size());
  std::atomic_ref(control.asked).store(number, std::memory_order_release);
  const auto end = Clock::now() + patience_;
  auto next_look = Clock::now();
  while (std::atomic_ref(control.answered).load(std::memory_order_acquire) != number) {
    if (is_gone(pid_)) throw std::runtime_error(fmt::format("process {} ended before it answered", pid_));
    if (Clock::now() >= end) give_up();
    if (Clock::now() >= next_look) {
      if (!may_answer())
        withdraw(
            fmt::format("process {} records, but nobody in it can answer: it has made neither a thread nor a launch, "
                        "so hostprobe's thread does not run in it yet",
                        pid_));
      next_look = Clock::now() + kLook;
    }
    std::this_thread::sleep_for(kPause);
  }
  const std::string answer = text_of(control.answer);
  if (std::atomic_ref(control.refused).load() != 0) throw Refused(fmt::format("process {}: {}", pid_, answer));
  return answer;
}

}  // namespace hostprobe::analysis
