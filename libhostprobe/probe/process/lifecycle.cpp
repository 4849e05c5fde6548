// lifecycle.cpp: see lifecycle.h. The constructor runs before all others (-z initfirst), even libc's own, so it uses the
// arguments it is given and nothing that libc sets up for main.
#include "probe/process/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <atomic>

#include "probe/control/trigger_signal.h"
#include "probe/fixes/fixes.h"
#include "probe/hooks/nvtx.h"
#include "probe/hooks/steps.h"
#include "probe/intercept/inherited_locks.h"
#include "probe/intercept/newer_function.h"
#include "probe/intercept/own_page.h"
#include "probe/intercept/resolve.h"
#include "probe/intercept/routes.h"
#include "probe/process/job_folder.h"
#include "probe/process/next_program.h"
#include "probe/process/target.h"
#include "probe/process/verdict.h"
#include "probe/record/chunk.h"
#include "probe/record/hold.h"
#include "probe/record/hook.h"
#include "probe/record/locks.h"
#include "probe/record/pairing.h"
#include "probe/record/shelter.h"
#include "probe/record/short_waits.h"
#include "probe/record/thread.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/memory_owner.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/sanitizer.h"
#include "probe/runtime/say.h"
#include "probe/runtime/signal_frame.h"
#include "probe/runtime/simulated_host.h"
#include "probe/runtime/stack_limits.h"
#include "probe/runtime/start_objects.h"
#include "probe/writer/ending.h"
#include "probe/writer/file/passed_file.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/trace_begin.h"

extern "C" {
int __cxa_atexit(void (*)(void*), void*, void*);
int __cxa_at_quick_exit(void (*)(void*), void*, void*);
}

namespace hostprobe::probe {
namespace {

enum class Plan : int { kUndecided, kOff, kNever, kCandidate, kTarget, kStarting, kActive, kFailed, kClosed };
HP_START_DATA constinit std::atomic<Plan> g_plan{Plan::kUndecided};
HP_KEPT_BY_CHILDREN pid_t g_pid = 0;
HP_START_DATA char** g_environment = nullptr;

// What the parent knew of itself is not true here.
void become_child() {
  shut_gate();
  close_parked_file();
  leave_segment(t_local.forks != kForksOutside);
  forget_process();
  reset_thread_local();
  forget_steps();
  forget_ranges();
  // Those that a handler, which forked, has interrupted go on in the child.
  g_lock_waiters.store(t_local.lock_waits, std::memory_order_relaxed);
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (hook->used != 0) hook->used = 0;
  note_fork(static_cast<std::uint32_t>(g_pid), read_clock_pair());
  g_plan.store(Plan::kTarget, std::memory_order_release);
}

// Most children never record, so this waits until one begins to.
void forget_parent() {
  forget_recording();
  drop_parents_compressor();
  for (Bucket& bucket : g_buckets)
    if (bucket.waiters.load(std::memory_order_relaxed) != 0) bucket.waiters.store(0, std::memory_order_relaxed);
  if (t_local.open_bucket != nullptr) t_local.open_bucket->waiters.store(1, std::memory_order_relaxed);
}

HP_START_CODE void end_at_exit(void*) { end_trace(); }

// Of a candidate, once it is a target: what its own handlers of quick_exit do that were registered before is not recorded.
void watch_quick_exit() {
  HP_KEPT_BY_CHILDREN static bool g_watched = false;
  if (!g_watched) __cxa_at_quick_exit(end_at_exit, nullptr, nullptr);
  g_watched = true;
}

// What a forked child has from its parent.
void prepare_hooks() {
  bind_own_calls();
  link_hooks();
  find_libc_functions();
  hook_newer_functions();
  scan_start_objects_too();
  report_bad_options(g_environment);
}

void start_recording() {
  if (forked_from() == 0) prepare_hooks();
  g_pid = getpid();
  // A child that could not tell itself from its parent would write into its parent's chunks.
  if (!own_page()) {
    say("no memory for a page that forks leave out: nothing is recorded; raise the limit of mappings or of address "
        "space");
    g_plan.store(Plan::kFailed, std::memory_order_release);
    return;
  }
  if (forked_from() != 0) forget_parent();
  if (!make_segment(forked_from() != 0 ? kFirstChunksOfChild : kFirstChunks)) {
    g_plan.store(Plan::kFailed, std::memory_order_release);
    return;
  }
  choose_job_folder();
  if (!create_trace_file()) {
    remove_segment();
    g_plan.store(Plan::kFailed, std::memory_order_release);
    return;
  }
  watch_quick_exit();
  watch_trigger_signal();
  begin_fixes();
  open_gate();
  g_plan.store(Plan::kActive, std::memory_order_release);
  say_recording();
}

void await_start() {
  for (int i = 0; i < 10000 && g_plan.load(std::memory_order_acquire) == Plan::kStarting; ++i) sched_yield();
}

// The first thread does it; others wait for the millisecond it takes, so that their first calls are recorded too.
bool start_once() {
  if (g_plan.load(std::memory_order_acquire) == Plan::kTarget && !memory_is_ours()) return false;
  Plan expected = Plan::kTarget;
  if (g_plan.compare_exchange_strong(expected, Plan::kStarting, std::memory_order_acq_rel)) {
    Shelter shelter;
    start_recording();
  }
  await_start();
  return g_plan.load(std::memory_order_acquire) == Plan::kActive;
}

HP_START_CODE std::uint64_t ask_clock_ns(clockid_t clock) {
  timespec t{};
  system_call(SYS_clock_gettime, clock, word_of_pointer(&t));
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

// What getauxval(AT_SECURE) says. The vector stands behind the environment; the loader has left more than one zero
// between them where it took variables out, as it does in just these processes.
HP_START_CODE bool is_secure(int count, char** argv, char** environment) {
  if (environment != argv + count + 1) return getauxval(AT_SECURE) != 0;
  char** end = environment;
  while (*end != nullptr) ++end;
  while (*end == nullptr) ++end;
  for (auto* entry = reinterpret_cast<const ElfW(auxv_t)*>(end); entry->a_type != AT_NULL; ++entry)
    if (entry->a_type == AT_SECURE) return entry->a_un.a_val != 0;
  return getauxval(AT_SECURE) != 0;
}

HP_START_CODE void choose(char** argv, char** environment, bool has_library) {
  const char* name = argv != nullptr && argv[0] != nullptr ? argv[0] : "";
  const char* program = nullptr;
  char path[512];
  if (program_decides(environment)) {
    long length = read_link("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    program = length > 0 ? path : name;
  }
  switch (choose_target(environment, program, name)) {
    case Target::kNever:
      g_plan.store(Plan::kNever, std::memory_order_release);
      if (g_options.verbose) say_never(program != nullptr ? program : name);
      return;
    case Target::kCandidate:
      g_plan.store(Plan::kCandidate, std::memory_order_release);
      break;
    case Target::kYes:
      g_plan.store(Plan::kTarget, std::memory_order_release);
      break;
  }
  find_load_count();
  remember_stderr();
  make_thread_key();
  watch_thread_end();
  // Registered before anybody else's, so it runs after everybody else's: calls in atexit handlers and static
  // destructors are recorded too. No object handle, or it would run when our own destructors do.
  __cxa_atexit(end_at_exit, nullptr, nullptr);
  if (g_plan.load(std::memory_order_relaxed) == Plan::kTarget) {
    watch_quick_exit();
    watch_forks();
  }
  // Without one of the libraries there is nothing to patch yet, and none of the objects has been opened RTLD_DEEPBIND.
  if (!has_library) return nothing_to_scan_yet();
  scan_new_objects(ScanBy::kLookup);
  trust_start_libraries();
}

// Paid by every process below a job: what is only needed to record waits until then.
HP_START_CODE __attribute__((constructor)) void load(int count, char** argv, char** environment) {
  bool has_library = look_at_start_objects();
  if (g_has_sanitizer) take_runtime_out(environment);
  g_environment = environment;
  g_stack_end = environment;
  if (is_secure(count, argv, environment)) {
    g_plan.store(Plan::kOff, std::memory_order_release);
    return;
  }
  read_options(environment);
  if (g_options.off) {
    g_plan.store(Plan::kOff, std::memory_order_release);
    if (g_options.verbose) say_off();
    return;
  }
  find_simulated_host(environment);
  note_load(read_clock_pair_by(ask_clock_ns));
  choose(argv, environment, has_library);
}

}  // namespace

bool hooks_enabled() {
  Plan plan = g_plan.load(std::memory_order_acquire);
  return plan != Plan::kUndecided && plan != Plan::kOff && plan != Plan::kNever;
}

// A signal handler that forks may have interrupted a hook of this thread, which then goes on in the child. Asked before the
// fork: after it the entry, which both see, already says what the parent does next.
void before_fork() {
  ThreadLocal& t = t_local;
  ThreadEntry* entry = t.entry;
  bool inside = t.filling != 0 || t.taking || (entry != nullptr && entry->open.key != 0) ||
                (trace_is_open() && in_signal_handler());  // else a filter may be set that forbids what it calls
  t.forks = inside ? kForksInHook : kForksOutside;
}

void after_fork_in_parent() { t_local.forks = kForksUnseen; }

void in_forked_child() {
  Plan plan = g_plan.load(std::memory_order_relaxed);
  if (plan == Plan::kActive || plan == Plan::kStarting || plan == Plan::kClosed) become_child();
}

void look_for_target() {
  Plan expected = Plan::kCandidate;
  if (g_plan.load(std::memory_order_acquire) == Plan::kCandidate && target_library_loaded())
    g_plan.compare_exchange_strong(expected, Plan::kTarget, std::memory_order_acq_rel);
}

// A candidate is looked at again some ten times a second, not in each of its waits.
static bool look_is_due() {
  constexpr std::uint64_t kPauseTicks = 200000000;
  HP_KEPT_BY_CHILDREN static std::atomic<std::uint64_t> g_next_look{0};
  std::uint64_t now = ticks();
  if (now < g_next_look.load(std::memory_order_relaxed)) return false;
  g_next_look.store(now + kPauseTicks, std::memory_order_relaxed);
  return true;
}

static void consider(Moment moment) {
  Plan expected = Plan::kCandidate;
  if (moment == Moment::kGpu)
    g_plan.compare_exchange_strong(expected, Plan::kTarget, std::memory_order_acq_rel);
  else
    look_for_target();
}

// A launch that is left out to keep to the budget. It is counted by function, so that the totals stay right.
static void count_skipped(const Hook& hook) {
  if (HP_UNLIKELY(t_local.entry == nullptr)) {
    int saved = errno;
    bool attached = attach_thread();
    errno = saved;
    if (!attached) {
      if (SegmentHeader* header = g_segment.header)
        std::atomic_ref(header->lost).fetch_add(1, std::memory_order_relaxed);
      count_loss(kLostThreadTable);
      return;
    }
  }
  t_local.lap_and_mark |= std::uint32_t{kRecordAfterSkipped} << 16;
  if (ThreadEntry* entry = t_local.entry) count_own(entry->skipped);
  if (SiteCounter* counters = short_waits_of(hook, reinterpret_cast<const void*>(kSiteSkipped)))
    add_span(counters->time, 1);
}

// Apart from begin_recording, so that a process which is no target does not pay for its registers.
__attribute__((noinline)) static bool begin_in(Plan plan, Moment moment) {
  if (plan == Plan::kCandidate && moment != Moment::kGpu && !look_is_due()) return false;
  // On a signal handler's small stack it waits for the next call elsewhere. Nothing of libc is called before: until recording
  // begins not even the address of errno is bound (bind_own_calls).
  if (plan != Plan::kActive && !stack_has_room()) return false;
  int saved = errno;
  // The page was emptied by a fork that ran no handlers (_Fork, clone).
  if (plan == Plan::kActive && getpid() != g_pid) become_child();
  if (plan == Plan::kCandidate) consider(moment);
  plan = g_plan.load(std::memory_order_acquire);
  bool active = (plan == Plan::kTarget || plan == Plan::kStarting) && start_once();
  if (active && moment != Moment::kAnywhere) {
    watch_forks();
    start_writer();
  }
  errno = saved;
  return active && recording();
}

// A child whose parent's trace had ended already; where no handler told it, the page did.
__attribute__((noinline)) static bool begin_after_end(Moment moment) {
  Plan expected = Plan::kClosed;
  if (g_gate.owned != 0 || !own_page()) return false;
  if (g_plan.compare_exchange_strong(expected, Plan::kStarting, std::memory_order_acq_rel)) become_child();
  return begin_in(g_plan.load(std::memory_order_acquire), moment);
}

bool begin_recording(Moment moment) {
  Plan plan = g_plan.load(std::memory_order_acquire);
  if (plan <= Plan::kNever || t_local.muted != 0 || t_local.taking) return false;
  if (plan >= Plan::kFailed) return plan == Plan::kClosed && begin_after_end(moment);
  return HP_LIKELY(g_gate.paused == 0) && begin_in(plan, moment);
}

// The gate may have been opened since the caller looked: each launch is either recorded or counted.
bool begin_launch(const Hook& hook) {
  if (is_held() && t_local.muted == 0) await_exec();
  std::uint32_t gate = __atomic_load_n(&g_gate.recording, __ATOMIC_RELAXED);
  if (gate == 0) return begin_recording(Moment::kGpu);
  if (t_local.muted != 0) return false;
  // Which launches a capture takes only their records tell.
  if (gate != kNoLaunches || capture_is_open()) return true;
  count_skipped(hook);
  return false;
}

bool trace_is_ours() {
  return trace_is_open() && t_local.muted == 0 && !t_local.taking && g_segment.header != nullptr &&
         g_segment.header->pid == static_cast<std::uint32_t>(system_call(SYS_getpid, 0, 0));
}

HP_START_CODE void end_trace() {
  const Plan plan = g_plan.load(std::memory_order_acquire);
  if (g_options.verbose && (plan == Plan::kCandidate || plan == Plan::kTarget)) say_never_began(plan == Plan::kTarget);
  if (plan != Plan::kActive || getpid() != g_pid) return;
  Plan expected = Plan::kActive;
  if (!g_plan.compare_exchange_strong(expected, Plan::kClosed, std::memory_order_acq_rel)) return;
  int saved = errno;
  leave_fixes();
  shut_gate();
  if (finish_trace()) remove_segment();
  report_write_failure();
  say_job_folder();
  errno = saved;
}

// Children inherit the filter: neither this process nor any that it forks records again.
void leave_before_seccomp() {
  leave_next_programs_alone();
  if (t_local.muted != 0) return;  // of a vfork child, whose parent's memory this is
  await_start();
  Plan plan = g_plan.load(std::memory_order_acquire);
  if (plan == Plan::kActive && trace_is_open()) {
    if (getpid() != g_pid) return;  // a process of its own on our memory
    say("the program restricts its system calls (seccomp): recording ends here, what came before is kept");
    end_trace();
    join_finished_writer();
  }
  if (hooks_enabled()) g_plan.store(Plan::kNever, std::memory_order_release);
}

}  // namespace hostprobe::probe
