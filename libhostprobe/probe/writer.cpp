// writer.cpp: see writer.h. The thread has all signals blocked, a small stack, a descriptor table of its own (close_range
// with UNSHARE: the program's descriptors are not even copied) and records nothing itself.
#include "writer.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "budget.h"
#include "calibrate.h"
#include "chunk.h"
#include "compress.h"
#include "control.h"
#include "drain.h"
#include "file_header.h"
#include "flight.h"
#include "hang.h"
#include "hook.h"
#include "hook_table.h"
#include "io_limit.h"
#include "lifecycle.h"
#include "modules.h"
#include "options.h"
#include "poll_cost.h"
#include "progress.h"
#include "python_frames.h"
#include "resolve.h"
#include "routes.h"
#include "say.h"
#include "short_waits.h"
#include "stacks.h"
#include "trace_file.h"

extern char** environ;

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 250000000;
constexpr unsigned kCloseRangeUnshare = 2;  // CLOSE_RANGE_UNSHARE, Linux 5.9
constexpr int kFinishSeconds = 3;

enum class State : std::uint32_t { kNone, kStarting, kRunning, kFinished };
std::atomic<State> g_state{State::kNone};
std::atomic<std::uint32_t> g_bell{0};  // futex: rung when there is work
std::atomic<std::uint32_t> g_asleep{0};
std::atomic<std::uint32_t> g_finish{0};
std::atomic<std::uint32_t> g_leave{0};
std::atomic<std::uint32_t> g_tid{0};
pthread_t g_thread;
std::atomic<std::uint32_t> g_finished{0};  // futex: the exiting thread waits here
bool g_own_descriptors = false;
std::atomic<bool> g_complained{false};
bool g_header_written = false;
std::uint64_t g_next_kernel_ns = 0;
std::uint64_t g_next_clock_ns = 0;

// syscall() is libc's, but the program may interpose it; hostprobe itself does not hook it for its own thread.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value, limit, 0,
                 0);
}

void write_clock() {
  ClockPair pair = read_clock_pair();
  iovec part{&pair, sizeof pair};
  append_block(kBlockClock, &part, 1);
}

void refresh_header(FileState state) {
  g_header.state = state;
  g_header.last = read_clock_pair();
  g_header.process_cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (g_state.load(std::memory_order_relaxed) == State::kRunning)
    g_header.writer_cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  g_header.stacks_lost = g_segment.header->stacks_lost;
  g_segment.header->clock = g_header.last;
  g_segment.header->process_cpu_ns = g_header.process_cpu_ns;
  g_segment.header->writer_cpu_ns = g_header.writer_cpu_ns;
  g_header_written = write_header();
}

std::uint32_t living_threads() {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < kThreads; ++i)
    count += std::atomic_ref(g_segment.threads[i].state).load(std::memory_order_relaxed) == kThreadLive;
  return count;
}

// The kernel is asked about all threads at most every second, and seldom enough that 20 ms pass per thread: about 10 µs
// of work each, so at most 0.05 % of a core however many there are.
bool kernel_is_due(std::uint64_t now_ns) {
  if (now_ns < g_next_kernel_ns) return false;
  std::uint64_t pause = living_threads() * std::uint64_t{20000000};
  g_next_kernel_ns = now_ns + (pause > 1000000000 ? pause : 1000000000);
  return true;
}

void set_limits(double ticks_per_us) {
  auto ticks_of = [=](std::uint64_t us) { return static_cast<std::uint64_t>(static_cast<double>(us) * ticks_per_us); };
  set_stack_ticks(ticks_per_us);
  if (detail_shed() >= kShedStacks) g_stack_ticks = ~std::uint64_t{0};
  g_polled_ticks = ticks_of(limit_us(g_options.poll_us));
  g_wait_ticks = ticks_of(limit_us(g_options.wait_us));
  g_io_ticks = ticks_of(limit_us(g_options.io_us));
  g_stall_ticks = ticks_of(g_options.stall_us);
  g_flight_ticks = ticks_of(g_options.flight_s * 1000000);
}

void refine_tick_rate() {
  ClockPair now = read_clock_pair(), then = load_clock();
  if (now.monotonic_ns <= then.monotonic_ns + 1000000) return;
  set_limits(static_cast<double>(now.ticks - then.ticks) * 1000.0 /
             static_cast<double>(now.monotonic_ns - then.monotonic_ns));
}

void look_at_new_objects() {
  if (!modules_changed()) return;
  scan_new_objects();
  pin_libraries();
  python_frames_find();
  write_new_modules();
}

void work(bool last) {
  std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  drain_full_chunks();
  look_at_new_objects();
  if (g_options.mode == kFlight) age_kept_chunks();
  answer_trigger();
  if (last) drain_last_chunks();
  drain_rest(last || kernel_is_due(now_ns), last);
  if (last) count_lost_short_waits();
  if (last) note_refused_triggers();
  if (last || (g_options.mode == kTrace && now_ns >= g_next_clock_ns)) {
    write_clock();
    g_next_clock_ns = now_ns + 2000000000;
  }
  write_hook_states();
  answer_control();
  watch_progress();
  if (!last) keep_to_budget();
  refine_tick_rate();
  refresh_header(last ? kFileClosed : kFileOpen);
}

// With a table of its own the file stays open; else it is opened anew each time, so that a descriptor which the program
// closed and got again for a file of its own is never written to. False: it cannot be opened; everything stays in the
// segment, where a reader finds it.
bool ready_to_write() { return g_file.fd >= 0 || open_file(); }

void done_writing() {
  if (!g_own_descriptors) close_file();
}

// True: the trace is complete in the file and the segment can go.
bool g_complete = false;

void write_the_rest() {
  if (!ready_to_write()) {
    g_complete = file_was_removed();  // then nobody can find the segment either
    return;
  }
  work(true);
  g_complete = g_header_written;
  close_file();
}

bool told_to_stop() {
  return g_finish.load(std::memory_order_acquire) != 0 || g_leave.load(std::memory_order_acquire) != 0;
}

void sleep_until_needed(std::uint64_t& next_work_ns) {
  std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (now >= next_work_ns) return;
  std::uint32_t bell = g_bell.load(std::memory_order_acquire);
  g_asleep.store(1, std::memory_order_seq_cst);
  timespec limit{0, static_cast<long>(next_work_ns - now)};
  if (!told_to_stop()) futex(g_bell, FUTEX_WAIT, bell, &limit);
  g_asleep.store(0, std::memory_order_relaxed);
}

// An entry of its own, so that reports name hostprobe's thread and its CPU time.
void enter_thread_table() {
  std::uint32_t index = 0;
  if (ThreadEntry* entry = reserve_thread(index)) {
    entry->tid = g_tid.load(std::memory_order_relaxed);
    entry->start_ticks = ticks();
    entry->start_routine = reinterpret_cast<std::uint64_t>(&start_writer);
    entry->creator_site = entry->start_routine;
    strncpy(entry->name, "hostprobe", sizeof entry->name - 1);
    std::atomic_ref(entry->state).store(kThreadLive, std::memory_order_release);
  }
}

void* run_writer(void*) {
  t_local.muted = 1;
  g_tid.store(static_cast<std::uint32_t>(syscall(SYS_gettid)), std::memory_order_release);
  prctl(PR_SET_NAME, "hostprobe");
  g_own_descriptors = syscall(SYS_close_range, 0u, ~0u, kCloseRangeUnshare) == 0;
  enter_thread_table();
  Costs costs = measure_costs();
  g_header.record_cost_ticks = costs.record;
  g_header.quiet_cost_ticks = costs.quiet;
  refine_tick_rate();
  measure_asking();
  open_unwinder();
  open_compressor();
  python_frames_find();
  for (std::uint64_t next_work_ns = 0; !told_to_stop(); sleep_until_needed(next_work_ns)) {
    bool all = read_clock_ns(CLOCK_MONOTONIC) >= next_work_ns;
    if (ready_to_write()) {
      if (all) {
        work(false);
      } else {
        drain_full_chunks();
        drain_ended_threads();
      }
      done_writing();
    }
    if (all) next_work_ns = read_clock_ns(CLOCK_MONOTONIC) + kPauseNs;
  }
  if (g_finish.load(std::memory_order_acquire) == 0) {
    close_file();
    return nullptr;
  }
  write_the_rest();
  g_state.store(State::kFinished, std::memory_order_release);
  g_finished.store(1, std::memory_order_release);
  futex(g_finished, FUTEX_WAKE, 1, nullptr);
  return nullptr;
}

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// A process with large thread-local storage needs more than the small stack; then the default must do.
int create_thread(Create create) {
  for (std::size_t stack : {std::size_t{256} << 10, std::size_t{2} << 20, std::size_t{0}}) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack != 0) pthread_attr_setstacksize(&attributes, stack);
    int result = create(&g_thread, &attributes, run_writer, nullptr);
    pthread_attr_destroy(&attributes);
    if (result != EINVAL) return result;
  }
  return EINVAL;
}

}  // namespace

bool create_trace_file() {
  fill_file_header(environ);
  if (!create_file(g_options.out, g_header.first.realtime_ns)) {
    say("cannot make a trace in %s (%s): nothing is recorded; choose a writable HOSTPROBE_OUT", g_options.out,
        strerrordesc_np(errno));
    return false;
  }
  set_limits(2500);  // a guess, until the writer has measured
  write_header();
  forget_hook_table();
  write_hook_table();
  write_hook_states();
  write_new_modules();
  write_clock();
  write_header();
  close_file();
  return true;
}

void start_writer() {
  State none = State::kNone;
  if (g_state.load(std::memory_order_relaxed) != none || t_local.taking) return;
  if (!g_state.compare_exchange_strong(none, State::kStarting, std::memory_order_acq_rel)) return;
  have_nccl_threads_named();
  static auto create = reinterpret_cast<Create>(find_behind_us("pthread_create", "GLIBC_2.34"));
  int saved = errno;
  sigset_t all, before;
  sigfillset(&all);
  t_local.taking = true;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  g_state.store(State::kRunning, std::memory_order_release);
  if (create == nullptr || create_thread(create) != 0) g_state.store(State::kNone, std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  t_local.taking = false;
  errno = saved;
}

void wake_writer() {
  g_bell.fetch_add(1, std::memory_order_release);
  if (g_asleep.load(std::memory_order_seq_cst) != 0) futex(g_bell, FUTEX_WAKE, 1, nullptr);
}

bool finish_trace() {
  if (g_state.load(std::memory_order_acquire) == State::kNone) {
    write_the_rest();
    return g_complete;
  }
  g_finish.store(1, std::memory_order_release);
  g_bell.fetch_add(1, std::memory_order_release);
  futex(g_bell, FUTEX_WAKE, 1, nullptr);
  timespec limit{kFinishSeconds, 0};
  while (g_finished.load(std::memory_order_acquire) == 0)
    if (futex(g_finished, FUTEX_WAIT, 0, &limit) != 0 && errno == ETIMEDOUT) return false;
  return g_complete;
}

// A writer that was started but has not run yet is there all the same: on a busy machine that may take a while.
std::uint32_t writer_tid() {
  State state;
  while ((state = g_state.load(std::memory_order_acquire)) == State::kStarting || state == State::kRunning) {
    if (std::uint32_t tid = g_tid.load(std::memory_order_acquire); tid != 0) return tid;
    sched_yield();
  }
  return 0;
}

void send_writer_away() {
  if (g_leave.exchange(1, std::memory_order_acq_rel) != 0) return;
  g_bell.fetch_add(1, std::memory_order_release);
  futex(g_bell, FUTEX_WAKE, 1, nullptr);
  ++t_local.muted;  // not a wait of the program's
  pthread_join(g_thread, nullptr);
  --t_local.muted;
  g_tid.store(0, std::memory_order_release);
  g_state.store(State::kNone, std::memory_order_release);
}

void report_write_failure() {
  if (g_file.error == 0 || g_complained.exchange(true, std::memory_order_relaxed)) return;
  say("cannot write %s (%s): records are lost and counted until it can be written again; free space or choose another "
      "HOSTPROBE_OUT",
      g_file.path, strerrordesc_np(g_file.error));
}

void forget_writer() {
  g_state.store(State::kNone, std::memory_order_relaxed);
  g_asleep.store(0, std::memory_order_relaxed);
  g_finish.store(0, std::memory_order_relaxed);
  g_leave.store(0, std::memory_order_relaxed);
  g_tid.store(0, std::memory_order_relaxed);
  g_finished.store(0, std::memory_order_relaxed);
  g_own_descriptors = g_header_written = g_complete = false;
  g_complained.store(false, std::memory_order_relaxed);
  g_next_kernel_ns = g_next_clock_ns = 0;
  g_file.fd = -1;  // the parent's, or the number in its own table: not ours to close
  forget_modules();
  forget_drained();
  forget_control();
  forget_progress();
  forget_budget();
}

}  // namespace hostprobe::probe
