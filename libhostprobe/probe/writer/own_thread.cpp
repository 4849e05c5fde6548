// own_thread.cpp: see own_thread.h.
#include "probe/writer/own_thread.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/intercept/loader.h"
#include "probe/record/bell.h"
#include "probe/record/doors.h"
#include "probe/record/limits.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/futex.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/own_entry.h"

namespace hostprobe::probe {
namespace {

// Whether the writer is to end its thread. Whoever asks it may be unable to wait; so it says when it goes, and an asker that
// has waited long enough takes its word back, unless the writer was quicker.
enum Leave : std::uint32_t { kStay, kAsked, kLeaving };
HP_OF_PROCESS std::atomic<std::uint32_t> g_leave{kStay};  // futex
HP_OF_PROCESS std::atomic<std::uint32_t> g_absences{0};   // calls under way that it must not be there for
HP_OF_PROCESS std::atomic<std::uint32_t> g_tid{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_next_start_ticks{0};  // not before
constexpr std::uint64_t kPauseTicks = 2000000000;

bool is_gone() { return g_writer_state.load(std::memory_order_acquire) == WriterState::kNone; }
bool is_finished() { return g_writer_state.load(std::memory_order_acquire) == WriterState::kFinished; }

// Until it says that it goes, which may take any time. False: it stays, or has nothing left to do.
bool await_leaving(unsigned patience_ms) {
  constexpr long kLookNs = 20000000;
  std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t end_ns = patience_ms == 0 ? kNever : now_ns + patience_ms * std::uint64_t{1000000};
  call_writer();
  while (g_leave.load(std::memory_order_acquire) == kAsked) {
    if (now_ns >= end_ns || is_gone() || is_finished()) {
      std::uint32_t asked = kAsked;
      if (g_leave.compare_exchange_strong(asked, kStay, std::memory_order_acq_rel)) return false;
    }
    futex_wait(g_leave, kAsked, kLookNs);
    now_ns = read_clock_ns(CLOCK_MONOTONIC);
  }
  return true;
}

// Another thread has asked it.
bool await_gone(unsigned patience_ms) {
  Nap nap(patience_ms);
  while (!is_gone() && nap.taken()) {
  }
  return is_gone();
}

}  // namespace

HP_OF_PROCESS std::atomic<WriterState> g_writer_state{WriterState::kNone};
HP_OF_PROCESS pthread_t g_writer_thread;
HP_OF_PROCESS bool g_own_descriptors = false;

bool has_writer() {
  const WriterState state = g_writer_state.load(std::memory_order_acquire);
  return state != WriterState::kNone && state != WriterState::kEndedWithout;
}

bool writer_is_due(bool handed_over) {
  return g_writer_state.load(std::memory_order_relaxed) == WriterState::kNone && (handed_over || forked_from() == 0) &&
         writer_may_start();
}

bool writer_may_start() { return ticks() >= g_next_start_ticks.load(std::memory_order_relaxed); }

void put_off_writer() { g_next_start_ticks.store(ticks() + kPauseTicks, std::memory_order_relaxed); }

bool keep_writer_out() {
  WriterState none = WriterState::kNone;
  if (!g_writer_state.compare_exchange_strong(none, WriterState::kEndedWithout, std::memory_order_acq_rel))
    return false;
  g_own_descriptors = false;
  return true;
}

void let_writer_in() { g_writer_state.store(WriterState::kNone, std::memory_order_release); }

// A writer that was started but has not run yet is there all the same: on a busy machine that may take a while.
std::uint32_t writer_tid() {
  WriterState state;
  while ((state = g_writer_state.load(std::memory_order_acquire)) == WriterState::kStarting ||
         state == WriterState::kRunning) {
    if (std::uint32_t tid = g_tid.load(std::memory_order_acquire); tid != 0) return tid;
    sched_yield();
  }
  return 0;
}

// Neither a wait of the program's nor one of its cancellation points.
void join_writer() {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  ++t_local.muted;
  pthread_join(g_writer_thread, nullptr);
  --t_local.muted;
  pthread_setcancelstate(state, nullptr);
}

bool send_writer_away(unsigned patience_ms) {
  put_off_writer();
  if (is_gone()) return true;
  std::uint32_t stay = kStay;
  if (!g_leave.compare_exchange_strong(stay, kAsked, std::memory_order_acq_rel)) return await_gone(patience_ms);
  if (!await_leaving(patience_ms)) return is_gone();
  join_writer();
  g_tid.store(0, std::memory_order_release);
  g_writer_state.store(WriterState::kNone, std::memory_order_release);
  g_leave.store(kStay, std::memory_order_release);
  return true;
}

void dismiss_writer() {
  if (has_writer()) send_writer_away(0);
  g_next_start_ticks.store(kNever, std::memory_order_relaxed);
}

void begin_absence() { g_absences.fetch_add(1, std::memory_order_acq_rel); }

bool end_absence() { return g_absences.fetch_sub(1, std::memory_order_acq_rel) == 1; }

void let_writer_return() {
  g_next_start_ticks.store(0, std::memory_order_relaxed);
  start_writer();
}

void begin_own_thread(const void* start_routine) {
  t_local.muted = 1;
  const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  g_tid.store(tid, std::memory_order_release);
  prctl(PR_SET_NAME, "hostprobe");
  enter_thread_table(tid, start_routine);
}

void end_own_thread() { leave_thread_table(); }

bool is_asked_to_leave() { return g_leave.load(std::memory_order_acquire) != kStay; }

bool agree_to_leave() {
  std::uint32_t asked = kAsked;
  if (!g_leave.compare_exchange_strong(asked, kLeaving, std::memory_order_acq_rel)) return false;
  futex_wake(g_leave);
  return true;
}

}  // namespace hostprobe::probe
