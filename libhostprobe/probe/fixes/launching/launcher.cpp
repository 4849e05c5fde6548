// launcher.cpp: see launcher.h.
#include "probe/fixes/launching/launcher.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>

#include "probe/fixes/launching/launch_queue.h"
#include "probe/fixes/launching/parameter_layout.h"
#include "probe/intercept/resolve.h"
#include "probe/intercept/routes.h"
#include "probe/record/gate.h"
#include "probe/record/shelter.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/futex.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  CUstream, void**, void**);
using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
using SetCurrent = CUresult (*)(CUcontext);
using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

constexpr std::uint64_t kPollTicks = 2500000;  // about 1 ms: a wait for the device is often as short
constexpr long kSleepNs = 500000000;
constexpr unsigned kBytesOfCpus = 1024;  // 8192 CPUs

HP_OF_PROCESS std::atomic<Launcher> g_state{Launcher::kNone};
HP_OF_PROCESS std::atomic<std::uint32_t> g_bell{0};
HP_OF_PROCESS std::atomic<bool> g_leave{false};
HP_OF_PROCESS std::atomic<std::uint64_t> g_submitted{0};
HP_OF_PROCESS std::atomic<int> g_error{0};
HP_OF_PROCESS std::atomic<std::uint32_t> g_context_changes{0};
HP_OF_PROCESS SetCurrent g_set_current = nullptr;
HP_OF_PROCESS unsigned g_cpu_of_caller = 0;

struct Cpus {
  unsigned long words[kBytesOfCpus / sizeof(unsigned long)];
  bool has(unsigned cpu) const { return (words[cpu / 64] >> cpu % 64 & 1) != 0; }
};

// By system calls, here and below: ours are no business of who watches what the program does.
unsigned read_cpus(Cpus& cpus) {
  cpus = {};
  const long bytes = system_call(SYS_sched_getaffinity, 0, sizeof cpus, word_of_pointer(&cpus));
  unsigned count = 0;
  for (unsigned cpu = 0; bytes > 0 && cpu < kBytesOfCpus * 8; ++cpu) count += cpus.has(cpu) ? 1 : 0;
  return count;
}

// Half of the allowed CPUs away from that of the caller: not the one it computes on, seldom the other half of its core, and
// another one for each of several processes whose main threads are on different CPUs.
void stay_on_one_cpu() {
  Cpus cpus, one{};
  const unsigned count = read_cpus(cpus);
  if (count < 2) return;
  unsigned before = 0;
  for (unsigned cpu = 0; cpu < g_cpu_of_caller; ++cpu) before += cpus.has(cpu) ? 1 : 0;
  unsigned wanted = (before + (count + 1) / 2) % count;
  for (unsigned cpu = 0; cpu < kBytesOfCpus * 8; ++cpu) {
    if (!cpus.has(cpu) || wanted-- != 0) continue;
    one.words[cpu / 64] = 1ul << cpu % 64;
    system_call(SYS_sched_setaffinity, 0, sizeof one, word_of_pointer(&one));
    return;
  }
}

CUresult submit(QueuedLaunch& launch) {
  void* parameters[kMostParameters];
  const ParameterLayout& layout = *launch.layout;
  for (unsigned i = 0; i < layout.count; ++i) parameters[i] = launch.parameters() + layout.offset[i];
  void** given = layout.count == 0 ? nullptr : parameters;
  const unsigned *grid = launch.grid, *block = launch.block;
  if (launch.has_config == 0)
    return reinterpret_cast<LaunchKernel>(launch.target)(launch.function, grid[0], grid[1], grid[2], block[0], block[1],
                                                         block[2], launch.shared_bytes, launch.stream, given, nullptr);
  CUlaunchConfig config{};
  config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
  config.blockDimX = block[0], config.blockDimY = block[1], config.blockDimZ = block[2];
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = launch.stream;
  config.attrs = launch.attributes == 0 ? nullptr : launch.attribute();
  config.numAttrs = launch.attributes;
  return reinterpret_cast<LaunchKernelEx>(launch.target)(&config, launch.function, given, nullptr);
}

void keep_error(CUresult error) {
  int none = 0;
  g_error.compare_exchange_strong(none, static_cast<int>(error), std::memory_order_acq_rel);
  __atomic_fetch_or(&g_gate.launches, kLaunchFailed, __ATOMIC_ACQ_REL);
}

// The context of this thread; nullptr where that is not certain.
struct Current {
  CUcontext context;
  std::uint32_t changes;
};

// A context may have the handle of one that was destroyed.
CUresult use_context(CUcontext wanted, Current& current) {
  const std::uint32_t changes = g_context_changes.load(std::memory_order_acquire);
  if (wanted == current.context && changes == current.changes) return CUDA_SUCCESS;
  const CUresult result = g_set_current(wanted);
  current = {result == CUDA_SUCCESS ? wanted : nullptr, changes};
  return result;
}

void take(LaunchQueue& queue, QueuedLaunch& launch, Current& current) {
  CUresult result = use_context(launch.context, current);
  if (result == CUDA_SUCCESS) result = submit(launch);
  if (result != CUDA_SUCCESS) keep_error(result);
  g_submitted.store(g_submitted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  queue.submitted_one(launch);
}

void sleep_until_woken(LaunchQueue& queue) {
  const std::uint32_t bell = g_bell.load(std::memory_order_acquire);
  g_state.store(Launcher::kAsleep, std::memory_order_seq_cst);
  while (g_bell.load(std::memory_order_acquire) == bell && queue.is_empty_for_sleeper() &&
         !g_leave.load(std::memory_order_acquire))
    futex_wait(g_bell, bell, kSleepNs);
  g_state.store(Launcher::kAwake, std::memory_order_seq_cst);
}

void work(LaunchQueue& queue) {
  Current current{};
  std::uint64_t idle_since = ticks();
  while (!g_leave.load(std::memory_order_acquire) || !queue.is_empty()) {
    if (QueuedLaunch* launch = queue.next()) {
      take(queue, *launch, current);
      idle_since = ticks();
    } else if (queue.is_empty() && ticks() - idle_since > kPollTicks) {
      sleep_until_woken(queue);
      idle_since = ticks();
    } else {
      pause_in_loop();
    }
  }
  g_set_current(nullptr);
}

void* run_launcher(void* queue) {
  t_local.muted = 1;
  prctl(PR_SET_NAME, "hostprobe-queue");
  stay_on_one_cpu();
  g_state.store(Launcher::kAwake, std::memory_order_seq_cst);
  work(*static_cast<LaunchQueue*>(queue));
  g_leave.store(false, std::memory_order_relaxed);
  g_state.store(Launcher::kNone, std::memory_order_release);
  return nullptr;
}

bool create_detached(LaunchQueue& queue) {
  auto create = reinterpret_cast<Create>(find_behind_us("pthread_create", "GLIBC_2.34"));
  if (create == nullptr || !find_routed(g_set_current, "cuCtxSetCurrent")) return false;
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const int result = create(&thread, &attributes, run_launcher, &queue);
  pthread_attr_destroy(&attributes);
  return result == 0;
}

}  // namespace

Launcher launcher_state() { return g_state.load(std::memory_order_seq_cst); }

void start_launcher(LaunchQueue& queue) {
  Launcher none = Launcher::kNone;
  if (t_local.filling != 0 || t_local.taking) return;  // perhaps in a signal handler
  if (!g_state.compare_exchange_strong(none, Launcher::kStarting, std::memory_order_acq_rel)) return;
  const int saved = errno;
  Shelter shelter;
  unsigned cpu = 0;
  system_call(SYS_getcpu, word_of_pointer(&cpu), 0);
  g_cpu_of_caller = cpu;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  if (!create_detached(queue)) g_state.store(Launcher::kFailed, std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = saved;
}

void wake_launcher() {
  Launcher asleep = Launcher::kAsleep;
  if (!g_state.compare_exchange_strong(asleep, Launcher::kWoken, std::memory_order_acq_rel)) return;
  g_bell.fetch_add(1, std::memory_order_acq_rel);
  futex_wake(g_bell);
}

void forget_context_of_launcher() { g_context_changes.fetch_add(1, std::memory_order_acq_rel); }

void dismiss_launcher() {
  if (launcher_state() == Launcher::kNone || launcher_state() == Launcher::kFailed) {
    g_state.store(Launcher::kNone, std::memory_order_release);
    return;
  }
  g_leave.store(true, std::memory_order_release);
  g_bell.fetch_add(1, std::memory_order_acq_rel);
  futex_wake(g_bell);
}

std::uint64_t launches_submitted() { return g_submitted.load(std::memory_order_relaxed); }

unsigned usable_cpus() {
  Cpus cpus;
  return read_cpus(cpus);
}

int take_launch_error() {
  __atomic_fetch_and(&g_gate.launches, ~kLaunchFailed, __ATOMIC_ACQ_REL);
  return g_error.exchange(0, std::memory_order_acq_rel);
}

}  // namespace hostprobe::probe
