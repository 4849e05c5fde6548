// writer.cpp: see writer.h. The thread has all signals blocked, a small stack, a descriptor table of its own (close_range
// with UNSHARE: the program's descriptors are not even copied) and records nothing itself.
#include "probe/writer/writer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "probe/hooks/poll_cost.h"
#include "probe/hooks/python_shim.h"
#include "probe/hooks/thread_type.h"
#include "probe/intercept/loader.h"
#include "probe/intercept/resolve.h"
#include "probe/intercept/routes.h"
#include "probe/record/bell.h"
#include "probe/record/chunk.h"
#include "probe/record/hold.h"
#include "probe/record/hook.h"
#include "probe/record/progress.h"
#include "probe/record/shelter.h"
#include "probe/record/short_waits.h"
#include "probe/runtime/futex.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/sanitizer.h"
#include "probe/runtime/say.h"
#include "probe/runtime/start_objects.h"
#include "probe/stacks/python_frames.h"
#include "probe/stacks/stacks.h"
#include "probe/control/budget.h"
#include "probe/control/calibrate.h"
#include "probe/writer/completion.h"
#include "probe/control/control.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/compress.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/file_header.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/modules.h"
#include "probe/writer/file/passed_file.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/flight.h"
#include "probe/sources/frequency.h"
#include "probe/sources/halts.h"
#include "probe/sources/hang.h"
#include "probe/sources/machine_load.h"
#include "probe/writer/others.h"
#include "probe/writer/own_entry.h"
#include "probe/sources/quota.h"
#include "probe/sources/running_samples.h"
#include "probe/sources/start_up.h"
#include "probe/sources/switches.h"
#include "probe/runtime/tick_rate.h"

extern char** environ;

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 250000000;
constexpr int kFinishSeconds = 3;
enum class State : std::uint32_t { kNone, kStarting, kRunning, kFinished, kEndedWithout };
HP_OF_PROCESS std::atomic<State> g_state{State::kNone};
HP_OF_PROCESS std::atomic<std::uint32_t> g_finish{0};
// Whether the writer is to end its thread. Whoever asks it may be unable to wait; so it says when it goes, and an asker that
// has waited long enough takes its word back, unless the writer was quicker.
enum Leave : std::uint32_t { kStay, kAsked, kLeaving };
HP_OF_PROCESS std::atomic<std::uint32_t> g_leave{kStay};  // futex
HP_OF_PROCESS std::atomic<std::uint32_t> g_absences{0};   // calls under way that it must not be there for
HP_OF_PROCESS std::atomic<std::uint32_t> g_tid{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_next_start_ticks{0};  // not before
constexpr std::uint64_t kPauseTicks = 2000000000;
HP_OF_PROCESS pthread_t g_thread;
HP_OF_PROCESS std::atomic<std::uint32_t> g_finished{0};  // futex: the exiting thread waits here
// Whether the writer is at work on the trace, is in the loader, or came back from there too late: whoever ends the trace did
// not wait any longer, and has done the rest.
enum class Turn : std::uint32_t { kWriter, kInLoader, kTaken };
HP_OF_PROCESS std::atomic<Turn> g_turn{Turn::kWriter};
HP_OF_PROCESS bool g_own_descriptors = false;
HP_OF_PROCESS std::atomic<bool> g_complained{false};
HP_OF_PROCESS bool g_header_written = false;
HP_OF_PROCESS std::uint64_t g_next_clock_ns = 0;

void write_clock() {
  ClockPair pair = read_clock_pair();
  iovec part{&pair, sizeof pair};
  append_block(kBlockClock, &part, 1);
}

void refresh_header(FileState state) {
  g_header.state = state;
  g_header.last = read_clock_pair();
  g_header.process_cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (g_state.load(std::memory_order_relaxed) == State::kRunning) g_header.writer_cpu_ns = writers_cpu_ns();
  g_header.stacks_lost = g_segment.header->stacks_lost;
  g_segment.header->clock = g_header.last;
  g_segment.header->process_cpu_ns = g_header.process_cpu_ns;
  g_segment.header->writer_cpu_ns = g_header.writer_cpu_ns;
  g_header_written = write_header();
}

// What takes the loader's locks. Somebody may hold them for long: a constructor of a library that is being opened, and the
// program may end in there. So nothing of the trace is touched here. False: it has ended meanwhile.
bool look_at_new_objects() {
  HP_OF_PROCESS static bool g_looked = false;
  if (g_has_sanitizer || (g_looked && !modules_changed())) return true;
  g_looked = true;
  g_turn.store(Turn::kInLoader, std::memory_order_release);
  scan_new_objects(ScanBy::kLookup);
  if (LoaderVisit visit(kPatienceMs); visit) {
    find_own_dlsym();
    pin_libraries();
    open_compressor();
    python_frames_find();
    find_python();
  } else {
    const link_map *last, *first = start_objects(last);
    python_frames_find_among(first, last);
  }
  Turn expected = Turn::kInLoader;
  return g_turn.compare_exchange_strong(expected, Turn::kWriter, std::memory_order_acq_rel);
}

void work(bool last) {
  std::uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (!last) tend_switches(g_own_descriptors);
  drain_full_chunks();
  if (!last) grow_pool();
  write_new_modules(last);
  if (g_options.mode == kFlight) age_kept_chunks();
  answer_trigger();
  if (last) drain_last_chunks();
  drain_rest(last || kernel_is_due(now_ns), last);
  note_start_up(now_ns, last);
  drain_switches(last);
  if (last) count_lost_short_waits(), note_refused_triggers();
  if (last || (g_options.mode == kTrace && now_ns >= g_next_clock_ns)) {
    write_clock();
    g_next_clock_ns = now_ns + 2000000000;
  }
  write_hook_states();
  answer_control();
  note_child_ends(), write_running_samples(last);
  note_frequency(now_ns, last), note_machine_load(now_ns, last);
  note_halts(), note_throttling(now_ns);
  watch_progress(), tend_fixes(last);
  if (!last) keep_to_budget();
  refine_tick_rate();
  refresh_header(last ? kFileClosed : kFileOpen);
}

// Opened anew each time unless the table is its own: the program may have closed the descriptor and got it again for a
// file of its own. False: it cannot be opened; everything stays in the segment, where a reader finds it.
bool ready_to_write() { return g_file.fd >= 0 || (!g_own_descriptors && take_parked_file()) || open_file(); }

void done_writing() {
  if (!g_own_descriptors) close_file();
}

// True: the trace is complete in the file and the segment can go.
HP_OF_PROCESS bool g_complete = false;

void write_the_rest() {
  if (!ready_to_write()) {
    g_complete = file_was_removed();  // then nobody can find the segment either
    return;
  }
  work(true);
  g_complete = g_header_written;
  close_file();
  // The writer is still in the IPC namespace that the segment is in; the thread that ends the process may have left it.
  if (g_complete) remove_segment();
}

bool told_to_stop() {
  return g_finish.load(std::memory_order_acquire) != 0 || g_leave.load(std::memory_order_acquire) != kStay;
}

bool is_called() { return told_to_stop() || completion_is_wanted(); }

void sleep_until_needed(std::uint64_t& next_work_ns) {
  const std::uint32_t rung = bell_count();
  while (bell_count() == rung && !is_called()) {
    const std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC), sample_ns = take_samples(now), ask_ns = ask_python(now);
    const std::uint64_t due_ns = next_switches_ns() < next_work_ns ? next_switches_ns() : next_work_ns;
    if (now >= due_ns) return;
    const std::uint64_t soon = ask_ns < sample_ns ? ask_ns : sample_ns, end = soon < due_ns ? soon : due_ns;
    sleep_and_look(rung, end, is_called);
  }
}

// False: nobody waits for it any longer.
bool leave(ThreadEntry* entry) {
  std::uint32_t asked = kAsked;
  if (!g_leave.compare_exchange_strong(asked, kLeaving, std::memory_order_acq_rel)) return false;
  futex_wake(g_leave);
  if (ready_to_write()) drain_switches(true);
  close_switches();
  leave_thread_table(entry);
  pass_file_on();
  close_file();
  return true;
}

// False: the trace has ended meanwhile, without us.
bool write_until_told() {
  for (std::uint64_t next_work_ns = 0; !told_to_stop(); sleep_until_needed(next_work_ns)) {
    answer_completion(told_to_stop);
    bool all = read_clock_ns(CLOCK_MONOTONIC) >= next_work_ns;
    if (all && !look_at_new_objects()) return false;
    if (ready_to_write()) {
      if (all) {
        work(false);
      } else {
        drain_full_chunks();
        grow_pool();
        drain_ended_threads();
        drain_full_rings();
      }
      done_writing();
    }
    if (all) next_work_ns = read_clock_ns(CLOCK_MONOTONIC) + kPauseNs;
    if (all && all_others_ended()) g_finish.store(1, std::memory_order_release);
  }
  return true;
}

void* run_writer(void* parked) {
  t_local.muted = 1;
  g_tid.store(static_cast<std::uint32_t>(syscall(SYS_gettid)), std::memory_order_release);
  prctl(PR_SET_NAME, "hostprobe");
  g_own_descriptors = have_own_descriptors(static_cast<int>(reinterpret_cast<std::intptr_t>(parked)));
  if (g_own_descriptors) ready_to_write();  // at once: the program may be about to lose the right to
  ThreadEntry* entry =
      enter_thread_table(g_tid.load(std::memory_order_relaxed), reinterpret_cast<const void*>(&start_writer));
  if (!costs_are_known()) {
    measure_asking();
    measure_costs();
  }
  put_costs_into_header();
  refine_tick_rate();
  prepare_stacks();
  while (g_finish.load(std::memory_order_acquire) == 0) {
    if (!write_until_told()) return nullptr;
    if (g_finish.load(std::memory_order_acquire) == 0 && leave(entry)) return nullptr;
  }
  write_the_rest();
  close_switches();
  g_state.store(State::kFinished, std::memory_order_release);
  g_finished.store(1, std::memory_order_release);
  futex_wake(g_finished);
  end_if_last();
  return nullptr;
}

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// glibc takes the static thread-local storage of all objects out of a thread's stack, and says (to its friends: the name is
// one that Java asks for as well) how much that leaves unusable. 0: it does not, and the default must do.
std::size_t stack_bytes(const pthread_attr_t& attributes) {
  constexpr std::size_t kUsed = std::size_t{256} << 10;
  using Least = std::size_t (*)(const pthread_attr_t*);
  auto least = reinterpret_cast<Least>(find_behind_us("__pthread_get_minstack", "GLIBC_PRIVATE"));
  return least == nullptr ? 0 : (least(&attributes) + kUsed + 4095) & ~std::size_t{4095};
}

int create_thread(Create create, int parked) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (std::size_t bytes = stack_bytes(attributes); bytes != 0) pthread_attr_setstacksize(&attributes, bytes);
  int result = create(&g_thread, &attributes, run_writer, reinterpret_cast<void*>(std::intptr_t{parked}));
  pthread_attr_destroy(&attributes);
  return result;
}

}  // namespace

bool create_trace_file() {
  fill_file_header(environ);
  if (!create_file(g_options.out, g_header.first.realtime_ns)) {
    say("cannot make a trace in %s (%s): nothing is recorded; choose a writable HOSTPROBE_OUT", g_options.out,
        strerrordesc_np(errno));
    return false;
  }
  apply_limits();
  put_costs_into_header();
  write_header();
  begin_modules();
  write_hook_table();
  write_hook_states();
  write_new_modules();
  write_clock();
  write_header();
  close_file();
  return true;
}

bool has_writer() {
  const State state = g_state.load(std::memory_order_acquire);
  return state != State::kNone && state != State::kEndedWithout;
}

// Not again and again where no thread can be had.
bool writer_is_due(bool handed_over) {
  return g_state.load(std::memory_order_relaxed) == State::kNone && (handed_over || forked_from() == 0) &&
         ticks() >= g_next_start_ticks.load(std::memory_order_relaxed);
}

// In a shelter, because a signal handler that jumps out in the middle would leave it neither started nor not.
void start_writer() {
  State none = State::kNone;
  if (g_state.load(std::memory_order_relaxed) != none || t_local.taking || !trace_is_open()) return;
  if (ticks() < g_next_start_ticks.load(std::memory_order_relaxed)) return;
  Shelter shelter;
  if (!g_state.compare_exchange_strong(none, State::kStarting, std::memory_order_acq_rel)) return;
  have_nccl_threads_named();
  auto create = reinterpret_cast<Create>(find_behind_us("pthread_create", "GLIBC_2.34"));
  int saved = errno;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);  // the new thread inherits it
  g_state.store(State::kRunning, std::memory_order_release);
  const int parked = parked_file();
  if (create == nullptr || create_thread(create, parked) != 0) {
    g_next_start_ticks.store(ticks() + kPauseTicks, std::memory_order_relaxed);
    g_state.store(State::kNone, std::memory_order_release);
  } else {
    await_copy(parked);
  }
  errno = saved;
}

// The writer is in the loader, perhaps until the calling thread comes out of there: what is left is done without it.
static bool take_over() {
  Turn expected = Turn::kInLoader;
  if (!g_turn.compare_exchange_strong(expected, Turn::kTaken, std::memory_order_acq_rel)) return false;
  g_state.store(State::kFinished, std::memory_order_release);
  g_file.fd = -1;  // a number in the writer's own table
  g_own_descriptors = false;
  write_the_rest();
  return true;
}

bool keep_writer_out() {
  State none = State::kNone;
  if (!g_state.compare_exchange_strong(none, State::kEndedWithout, std::memory_order_acq_rel)) return false;
  g_own_descriptors = false;
  return true;
}

void let_writer_in() { g_state.store(State::kNone, std::memory_order_release); }

// There is no writer, and none starts any more.
static bool finish_without() {
  if (!keep_writer_out()) return false;
  write_the_rest();
  return true;
}

bool write_to_the_end() {
  if (g_file.error != 0 || !ready_to_write()) return false;
  work(true);
  mark_all_drained();
  const bool is_whole = g_header_written && g_file.error == 0;
  is_whole ? remove_segment() : refresh_header(kFileOpen);
  done_writing();
  return is_whole;
}

void write_on() {
  if (!ready_to_write()) return;
  if (g_header.segment_id >= 0 && is_held() && living_threads() <= (has_writer() ? 2 : 1) && renew_segment())
    g_header.segment_id = g_segment.id;
  refresh_header(kFileOpen);
  done_writing();
}

bool finish_trace() {
  if (finish_without()) return g_complete;
  g_finish.store(1, std::memory_order_release);
  call_writer();
  constexpr long kLookNs = 20000000;
  for (int looks = 0; g_finished.load(std::memory_order_acquire) == 0; ++looks) {
    if (futex_wait(g_finished, 0, kLookNs)) continue;
    if (take_over() || finish_without()) break;
    if (looks >= kFinishSeconds * (1000000000 / kLookNs)) return false;
  }
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

// Neither a wait of the program's nor one of its cancellation points.
static void join_writer() {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  ++t_local.muted;
  pthread_join(g_thread, nullptr);
  --t_local.muted;
  pthread_setcancelstate(state, nullptr);
}

void join_finished_writer() {
  const bool is_in_loader = g_turn.load(std::memory_order_acquire) == Turn::kTaken;
  if (g_state.load(std::memory_order_acquire) == State::kFinished && !is_in_loader) join_writer();
}

static bool is_gone() { return g_state.load(std::memory_order_acquire) == State::kNone; }
static bool is_finished() { return g_state.load(std::memory_order_acquire) == State::kFinished; }

// Until it says that it goes, which may take any time. False: it stays, or has nothing left to do.
static bool await_leaving(unsigned patience_ms) {
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
static bool await_gone(unsigned patience_ms) {
  Nap nap(patience_ms);
  while (!is_gone() && nap.taken()) {
  }
  return is_gone();
}

bool send_writer_away(unsigned patience_ms) {
  g_next_start_ticks.store(ticks() + kPauseTicks, std::memory_order_relaxed);
  if (is_gone()) return true;
  std::uint32_t stay = kStay;
  if (!g_leave.compare_exchange_strong(stay, kAsked, std::memory_order_acq_rel)) return await_gone(patience_ms);
  if (!await_leaving(patience_ms)) return is_gone();
  join_writer();
  g_tid.store(0, std::memory_order_release);
  g_state.store(State::kNone, std::memory_order_release);
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

void report_write_failure() {
  if (g_file.error == 0 || g_complained.exchange(true, std::memory_order_relaxed)) return;
  say("cannot write %s (%s): records are lost and counted until it can be written again; free space or choose another "
      "HOSTPROBE_OUT",
      g_file.path, strerrordesc_np(g_file.error));
}

}  // namespace hostprobe::probe
