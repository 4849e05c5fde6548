// launch_targets.cpp: see launch_targets.h. What cannot be copied, or whose place in the order is not only its stream's, is given
// to the driver at once, after all that waits: the driver then answers as it always does.
#include "probe/fixes/launching/launch_targets.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#include "probe/fixes/launching/launcher.h"
#include "probe/fixes/launching/parameter_layout.h"
#include "probe/fixes/row/own_memory.h"
#include "probe/intercept/routes.h"
#include "probe/record/launch_order.h"
#include "probe/record/replaced.h"
#include "probe/record/thread.h"
#include "probe/runtime/of_process.h"

extern "C" int __cxa_atexit(void (*)(void*), void*, void*);

namespace hostprobe::probe {
namespace {

using GetCurrent = CUresult (*)(CUcontext*);

HP_OF_PROCESS std::atomic<LaunchQueue*> g_queue{nullptr};
HP_OF_PROCESS GetCurrent g_get_current = nullptr;
HP_KEPT_BY_CHILDREN bool g_is_replaced = false;
// More than 0: this thread has reserved a place and not filled it yet.
constinit thread_local unsigned t_putting = 0;

// ---- the replaced functions, by name --------------------------------------------------------------------------------------

enum Target : unsigned {
  kKernel,
  kKernelPtsz,
  kKernelEx,
  kKernelExPtsz,
  kCooperative,
  kCooperativePtsz,
  kCooperativeMulti,
  kGraph,
  kGraphPtsz,
  kHost,
  kHostPtsz,
  kHost2,
  kHost2Ptsz,
  kTargets,
};
constexpr char kNames[kTargets][40] = {
    "cuLaunchKernel",
    "cuLaunchKernel_ptsz",
    "cuLaunchKernelEx",
    "cuLaunchKernelEx_ptsz",
    "cuLaunchCooperativeKernel",
    "cuLaunchCooperativeKernel_ptsz",
    "cuLaunchCooperativeKernelMultiDevice",
    "cuGraphLaunch",
    "cuGraphLaunch_ptsz",
    "cuLaunchHostFunc",
    "cuLaunchHostFunc_ptsz",
    "cuLaunchHostFunc_v2",
    "cuLaunchHostFunc_v2_ptsz",
};

HP_KEPT_BY_CHILDREN std::atomic<void*> g_originals[kTargets][kCopies];

template <class Function>
Function original(Target target, unsigned copy) {
  void* known = g_originals[target][copy].load(std::memory_order_relaxed);
  if (HP_UNLIKELY(known == nullptr)) {
    known = original_of(*routed_hook(kNames[target]), copy);
    g_originals[target][copy].store(known, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function>(known);
}

// ---- putting a launch into the queue ---------------------------------------------------------------------------------------

struct Call {
  CUfunction function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  CUstream stream;
  void** parameters;
  void** extra;
  const CUlaunchAttribute* attributes;
  unsigned attribute_count;
  bool has_config;
  bool per_thread;
};

// What the driver would refuse at once it is to refuse at once, as far as that shows in the arguments.
bool has_shape(const Call& call) {
  const std::uint64_t threads = std::uint64_t{call.block[0]} * call.block[1] * call.block[2];
  return call.grid[0] != 0 && call.grid[1] != 0 && call.grid[2] != 0 && threads != 0 && threads <= 1024;
}

// CU_LAUNCH_ATTRIBUTE_…: those that hold values only. Not those of cooperative launches, of events, and of graph nodes that can
// be changed from the device, and none that newer drivers may know.
bool holds_values_only(unsigned attribute) {
  constexpr unsigned kKnown =
      1u << 0 | 1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 14;
  return attribute < 32 && (kKnown >> attribute & 1) != 0;
}

bool may_be_copied(const Call& call) {
  // The default stream of the thread that calls.
  if (call.stream == CU_STREAM_PER_THREAD || (call.per_thread && call.stream == nullptr)) return false;
  if (call.function == nullptr || call.extra != nullptr || !has_shape(call)) return false;
  if (call.attribute_count > kMostAttributes || (call.attribute_count != 0 && call.attributes == nullptr)) return false;
  for (unsigned i = 0; i < call.attribute_count; ++i)
    if (!holds_values_only(static_cast<unsigned>(call.attributes[i].id))) return false;
  return true;
}

bool has_parameters(const Call& call, const ParameterLayout& layout) {
  if (layout.is_usable == 0 || (layout.count == 0) != (call.parameters == nullptr)) return false;
  for (unsigned i = 0; i < layout.count; ++i)
    if (call.parameters[i] == nullptr) return false;
  return true;
}

void copy(const Call& call, const ParameterLayout& layout, QueuedLaunch& launch) {
  launch.function = call.function;
  launch.stream = call.stream;
  launch.layout = &layout;
  memcpy(launch.grid, call.grid, sizeof launch.grid);
  memcpy(launch.block, call.block, sizeof launch.block);
  launch.shared_bytes = call.shared_bytes;
  launch.has_config = call.has_config ? 1 : 0;
  launch.attributes = static_cast<std::uint8_t>(call.attribute_count);
  for (unsigned i = 0; i < call.attribute_count; ++i)
    memcpy(launch.attribute() + i, call.attributes + i, sizeof call.attributes[i]);
  char* to = launch.parameters();
  for (unsigned i = 0; i < layout.count; ++i) memcpy(to + layout.offset[i], call.parameters[i], layout.size[i]);
}

unsigned units_of(const Call& call, const ParameterLayout& layout) {
  const std::size_t bytes =
      sizeof(QueuedLaunch) + call.attribute_count * sizeof(CUlaunchAttribute) + std::size_t{layout.bytes};
  return static_cast<unsigned>((bytes + LaunchQueue::kUnitBytes - 1) / LaunchQueue::kUnitBytes);
}

// Where the queue is full, as where the device's own is.
struct Patience {
  unsigned rounds = 0;
  void wait() {
    ++rounds;
    if (rounds < 4096)
      pause_in_loop();
    else if (rounds < 8192)
      system_call(SYS_sched_yield, 0, 0);
    else
      nap();
  }
  static void nap() {
    const timespec moment{0, 50000};
    system_call(SYS_nanosleep, word_of_pointer(&moment), 0);
  }
};

// False: the queue was closed.
bool put(LaunchQueue& queue, void* target, CUcontext context, const Call& call, const ParameterLayout& layout) {
  const unsigned units = units_of(call, layout);
  std::uint64_t position;
  Patience patience;
  for (;; patience.wait()) {
    ++t_putting;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const LaunchQueue::Reserved reserved = queue.reserve(units, position);
    if (reserved == LaunchQueue::Reserved::kYes) break;
    --t_putting;
    if (reserved == LaunchQueue::Reserved::kClosed) return false;
  }
  QueuedLaunch& launch = queue.at(position);
  launch.target = target;
  launch.context = context;
  launch.units = static_cast<std::uint16_t>(units);
  copy(call, layout, launch);
  queue.publish(position);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --t_putting;
  if (HP_UNLIKELY(launcher_state() == Launcher::kAsleep)) wake_launcher();
  return true;
}

void leave_at_exit(void*) { leave_launch_queue(); }

// Registered after the driver's own handlers, so it runs before them.
void have_a_launcher(LaunchQueue& queue) {
  if (launcher_state() != Launcher::kNone) return;
  HP_OF_PROCESS static std::atomic<bool> g_registered{false};
  if (!g_registered.exchange(true)) __cxa_atexit(leave_at_exit, nullptr, nullptr);
  start_launcher(queue);
}

// False: it is to go to the driver at once, now, on this thread. While the launcher sleeps nothing waits, so that costs the
// device no time, and once it is awake the next one is queued.
__attribute__((noinline)) bool queued(void* target, const Call& call) {
  LaunchQueue* queue = g_queue.load(std::memory_order_acquire);
  if (queue == nullptr || t_local.muted != 0 || t_putting != 0 || capture_is_open()) return false;
  if (!may_be_copied(call)) return false;
  const ParameterLayout* layout = layout_of(call.function);
  if (layout == nullptr || !has_parameters(call, *layout)) return false;
  if (launcher_state() != Launcher::kAwake) {
    launcher_state() == Launcher::kAsleep ? wake_launcher() : have_a_launcher(*queue);
    return false;
  }
  CUcontext context = nullptr;
  if (g_get_current(&context) != CUDA_SUCCESS || context == nullptr) return false;
  return put(*queue, target, context, call, *layout);
}

// A function's first launch goes to the driver at once: what is wrong with it shows there, and code that is loaded lazily is
// loaded in the call that the program made.
template <class Launch>
CUresult launch_now(CUfunction function, Launch launch) {
  launches_first();
  const CUresult result = launch();
  if (result == CUDA_SUCCESS && launch_bits() != 0 && layout_of(function) == nullptr) learn_layout(function);
  return result;
}

// ---- what stands in front -----------------------------------------------------------------------------------------------------

using Kernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**);
template <Target target, unsigned copy>
CUresult launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, CUstream stream, void** parameters, void** extra) {
  const auto real = original<Kernel>(target, copy);
  const Call call{f, {gx, gy, gz}, {bx, by, bz},         shared, stream, parameters, extra, nullptr,
                  0, false,        target == kKernelPtsz};
  if (launch_bits() != 0 && queued(reinterpret_cast<void*>(real), call)) return CUDA_SUCCESS;
  return launch_now(f, [&] { return real(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra); });
}

using KernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
template <Target target, unsigned copy>
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) {
  const auto real = original<KernelEx>(target, copy);
  if (config != nullptr && launch_bits() != 0) {
    const CUlaunchConfig& c = *config;
    const Call call{f,
                    {c.gridDimX, c.gridDimY, c.gridDimZ},
                    {c.blockDimX, c.blockDimY, c.blockDimZ},
                    c.sharedMemBytes,
                    c.hStream,
                    parameters,
                    extra,
                    c.attrs,
                    c.numAttrs,
                    true,
                    target == kKernelExPtsz};
    if (queued(reinterpret_cast<void*>(real), call)) return CUDA_SUCCESS;
  }
  return launch_now(f, [&] { return real(config, f, parameters, extra); });
}

// Launches of other things: after all that waits.
template <Target target, unsigned copy, class... Args>
CUresult launch_other(Args... args) {
  launches_first();
  return original<CUresult (*)(Args...)>(target, copy)(args...);
}

template <Target target>
void* kernel_of_copy(unsigned copy) {
  constexpr Kernel each[] = {launch_kernel<target, 0>, launch_kernel<target, 1>, launch_kernel<target, 2>,
                             launch_kernel<target, 3>};
  return reinterpret_cast<void*>(each[copy]);
}

template <Target target>
void* kernel_ex_of_copy(unsigned copy) {
  constexpr KernelEx each[] = {launch_kernel_ex<target, 0>, launch_kernel_ex<target, 1>, launch_kernel_ex<target, 2>,
                               launch_kernel_ex<target, 3>};
  return reinterpret_cast<void*>(each[copy]);
}

template <Target target, class... Args>
void* other_of_copy(unsigned copy) {
  using Function = CUresult (*)(Args...);
  constexpr Function each[] = {launch_other<target, 0, Args...>, launch_other<target, 1, Args...>,
                               launch_other<target, 2, Args...>, launch_other<target, 3, Args...>};
  return reinterpret_cast<void*>(each[copy]);
}

template <Target target>
void* cooperative_of_copy(unsigned copy) {
  return other_of_copy<target, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       CUstream, void**>(copy);
}

FixOfCopy fix_of(unsigned target) {
  switch (target) {
    case kKernel:
      return kernel_of_copy<kKernel>;
    case kKernelPtsz:
      return kernel_of_copy<kKernelPtsz>;
    case kKernelEx:
      return kernel_ex_of_copy<kKernelEx>;
    case kKernelExPtsz:
      return kernel_ex_of_copy<kKernelExPtsz>;
    case kCooperative:
      return cooperative_of_copy<kCooperative>;
    case kCooperativePtsz:
      return cooperative_of_copy<kCooperativePtsz>;
    case kCooperativeMulti:
      return other_of_copy<kCooperativeMulti, CUDA_LAUNCH_PARAMS*, unsigned, unsigned>;
    case kGraph:
      return other_of_copy<kGraph, CUgraphExec, CUstream>;
    case kGraphPtsz:
      return other_of_copy<kGraphPtsz, CUgraphExec, CUstream>;
    case kHost:
      return other_of_copy<kHost, CUstream, CUhostFn, void*>;
    case kHostPtsz:
      return other_of_copy<kHostPtsz, CUstream, CUhostFn, void*>;
    case kHost2:
      return other_of_copy<kHost2, CUstream, CUhostFn, void*, unsigned>;
    default:
      return other_of_copy<kHost2Ptsz, CUstream, CUhostFn, void*, unsigned>;
  }
}

}  // namespace

bool prepare_launch_queue() {
  if (launch_queue() != nullptr) return true;
  if (!find_routed(g_get_current, "cuCtxGetCurrent")) return false;
  auto* queue = static_cast<LaunchQueue*>(own_memory(sizeof(LaunchQueue)));
  if (queue == nullptr) return false;
  queue->close();
  g_queue.store(queue, std::memory_order_release);
  return true;
}

LaunchQueue* launch_queue() { return g_queue.load(std::memory_order_acquire); }

void leave_launch_queue() {
  LaunchQueue* queue = launch_queue();
  if (queue == nullptr) return;
  queue->close();
  launches_first();
}

bool is_putting_a_launch() { return t_putting != 0; }

void await_submitted(const LaunchQueue& queue, std::uint64_t position) {
  Patience patience;
  for (; !queue.is_submitted(position); patience.wait()) wake_launcher();
}

bool replace_launch_targets() {
  if (g_is_replaced) return true;
  unsigned done = 0;
  while (done < kTargets && replace_target(*routed_hook(kNames[done]), fix_of(done))) ++done;
  g_is_replaced = done == kTargets;
  while (!g_is_replaced && done != 0) restore_target(*routed_hook(kNames[--done]));
  return g_is_replaced;
}

void restore_launch_targets() {
  for (unsigned i = 0; i < kTargets && g_is_replaced; ++i) restore_target(*routed_hook(kNames[i]));
  g_is_replaced = false;
}

}  // namespace hostprobe::probe
