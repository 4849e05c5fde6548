// completion.cpp: see completion.h.
#include "probe/writer/completion.h"

#include <atomic>

#include "probe/record/bell.h"
#include "probe/record/doors.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/futex.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/stack_limits.h"
#include "probe/writer/closing.h"
#include "probe/writer/own_thread.h"

namespace hostprobe::probe {
namespace {

enum Step : std::uint32_t { kIdle, kAsked, kBeingMade, kMade, kRefused, kFailed };
HP_OF_PROCESS std::atomic<std::uint32_t> g_step{kIdle};  // futex

constexpr std::uint64_t kPatienceNs = 200000000;
constexpr std::uint64_t kLongestExecNs = 2000000000;  // then its thread was left by a jump, or waits for a disk
constexpr long kLookNs = 20000000;

bool step(std::uint32_t from, std::uint32_t to) {
  return g_step.compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

bool is_one_of(std::uint32_t now, std::uint32_t first, std::uint32_t second) { return now == first || now == second; }

// Until it is neither of these, or there was no patience left.
std::uint32_t await_other_than(std::uint32_t first, std::uint32_t second) {
  const std::uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + kPatienceNs;
  std::uint32_t now;
  while (is_one_of(now = g_step.load(std::memory_order_acquire), first, second) &&
         read_clock_ns(CLOCK_MONOTONIC) < end_ns)
    futex_wait(g_step, now, kLookNs);
  return now;
}

Completion ask_writer() {
  if (!step(kIdle, kAsked) && !step(kRefused, kAsked)) return Completion::kNone;
  call_writer();
  const std::uint32_t now = await_other_than(kAsked, kBeingMade);
  // What is being made goes on being made.
  return now == kRefused || step(kAsked, kIdle) ? Completion::kNone : Completion::kByWriter;
}

void end_step() {
  g_step.store(kIdle, std::memory_order_release);
  futex_wake(g_step);
}

}  // namespace

Completion complete_trace() {
  if (has_writer()) return ask_writer();
  if (!stack_has_room() || !keep_writer_out()) return Completion::kNone;
  const bool is_complete = write_to_the_end();
  let_writer_in();
  return is_complete ? Completion::kHere : Completion::kNone;
}

void continue_trace(Completion completion) {
  if (completion == Completion::kHere && keep_writer_out()) {
    write_on();
    let_writer_in();
  }
  if (completion != Completion::kByWriter) return;
  const std::uint32_t before = g_step.exchange(kFailed, std::memory_order_acq_rel);
  if (!is_one_of(before, kBeingMade, kMade)) return end_step();
  call_writer();
  futex_wake(g_step);
  await_other_than(kFailed, kFailed);
}

bool completion_is_wanted() { return g_step.load(std::memory_order_acquire) == kAsked; }

void answer_completion(bool (*stop)()) {
  if (!step(kAsked, kBeingMade)) return;
  const bool is_complete = write_to_the_end();
  if (!is_complete && step(kBeingMade, kRefused)) return futex_wake(g_step);
  if (is_complete && step(kBeingMade, kMade)) futex_wake(g_step);
  const std::uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + kLongestExecNs;
  while (g_step.load(std::memory_order_acquire) == kMade && !stop() && read_clock_ns(CLOCK_MONOTONIC) < end_ns)
    futex_wait(g_step, kMade, kLookNs);
  if (is_complete) write_on();
  end_step();
}

}  // namespace hostprobe::probe
