// call_names.cpp: see call_names.h.
#include "call_names.h"

#include <algorithm>
#include <iterator>

namespace hostprobe::analysis {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

struct Names {
  std::string_view begin;
  HookRole role;
};

// By how the name begins; the first that fits.
constexpr Names kNames[] = {
    {"hostprobe_step", HookRole::kStep},
    {"hostprobe_optimizer_step", HookRole::kOptimizerStep},
    {"hostprobe_gc", HookRole::kGarbage},
    {"hostprobe_queue_sample", HookRole::kQueueSample},
    {"hostprobe_gpu_time", HookRole::kGpuTime},

    {"cuMemcpyHtoD", HookRole::kCopyToDevice},
    {"cuMemcpy", HookRole::kCopy},
    {"cudaMemcpy", HookRole::kCopy},
    {"cuMemset", HookRole::kFill},
    {"cudaMemset", HookRole::kFill},
    {"cuCtxSynchronize", HookRole::kSyncContext},
    {"cuStreamSynchronize", HookRole::kSyncStream},
    {"cuEventRecord", HookRole::kEventRecord},
    {"cuStreamWaitEvent", HookRole::kStreamWait},
    {"cuEventQuery", HookRole::kQuery},
    {"cuStreamQuery", HookRole::kQuery},
    {"cuMemAlloc", HookRole::kMemory},
    {"cuMemFree", HookRole::kMemory},
    {"cuMemHostAlloc", HookRole::kMemory},
    {"cuMemHostRegister", HookRole::kMemory},
    {"cuMemHostUnregister", HookRole::kMemory},
    {"cuMemCreate", HookRole::kMemory},
    {"cuMemRelease", HookRole::kMemory},
    {"cuMemMap", HookRole::kMemory},
    {"cuMemUnmap", HookRole::kMemory},
    {"cuMemSetAccess", HookRole::kMemory},
    {"cudaMalloc", HookRole::kMemory},
    {"cudaFree", HookRole::kMemory},
    {"cudaHostAlloc", HookRole::kMemory},
    {"cudaHostRegister", HookRole::kMemory},
    {"cudaHostUnregister", HookRole::kMemory},
    {"cuModuleLoad", HookRole::kCode},
    {"cuLibraryLoad", HookRole::kCode},
    {"cudaLibraryLoad", HookRole::kCode},
    {"cuLink", HookRole::kCode},
    {"cuGraphInstantiate", HookRole::kCode},
    {"cudaGraphInstantiate", HookRole::kCode},

    {"sem_post", HookRole::kWake},
    {"sem_", HookRole::kSemaphore},
    {"pthread_cond_signal", HookRole::kWake},
    {"pthread_cond_broadcast", HookRole::kWake},
    {"pthread_cond_", HookRole::kCondition},
    {"pthread_mutex_unlock", HookRole::kWake},
    {"pthread_mutex_", HookRole::kLock},
    {"pthread_rwlock_unlock", HookRole::kWake},
    {"pthread_rwlock_", HookRole::kLock},
    {"pthread_spin_", HookRole::kLock},
    {"flock", HookRole::kLock},
    {"lockf", HookRole::kLock},
    {"futex", HookRole::kFutex},
    {"pthread_barrier_wait", HookRole::kWait},
    {"pthread_once", HookRole::kWait},
    {"pthread_join", HookRole::kWait},
    {"pthread_timedjoin_np", HookRole::kWait},
    {"pthread_clockjoin_np", HookRole::kWait},
    {"wait", HookRole::kChild},
    {"system", HookRole::kChild},
    {"pclose", HookRole::kChild},
    {"nanosleep", HookRole::kSleep},
    {"clock_nanosleep", HookRole::kSleep},
    {"usleep", HookRole::kSleep},
    {"sleep", HookRole::kSleep},
    {"poll", HookRole::kPoll},
    {"ppoll", HookRole::kPoll},
    {"__poll_chk", HookRole::kPoll},
    {"__ppoll_chk", HookRole::kPoll},
    {"epoll_", HookRole::kPoll},
    {"select", HookRole::kPoll},
    {"pselect", HookRole::kPoll},
    {"read", HookRole::kRead},
    {"__read_chk", HookRole::kRead},
    {"pread", HookRole::kRead},
    {"recv", HookRole::kRead},
    {"__recv", HookRole::kRead},
    {"accept", HookRole::kRead},
    {"connect", HookRole::kRead},
    {"write", HookRole::kWrite},
    {"pwrite", HookRole::kWrite},
    {"sendfile", HookRole::kWrite},
    {"copy_file_range", HookRole::kWrite},
    {"fsync", HookRole::kFileSync},
    {"fdatasync", HookRole::kFileSync},
    {"open", HookRole::kOpen},
    {"__open", HookRole::kOpen},

    {"pthread_create", HookRole::kThread},
    {"pthread_setname_np", HookRole::kThread},
    {"prctl", HookRole::kThread},
    {"sched_setaffinity", HookRole::kThread},
    {"pthread_setaffinity_np", HookRole::kThread},
    {"sched_yield", HookRole::kYield},
};

HookRole launch_role(std::string_view name) {
  if (has(name, "GraphLaunch")) return HookRole::kLaunchGraph;
  if (has(name, "Graph") || has(name, "Multi")) return HookRole::kLaunchMany;
  if (has(name, "LaunchHostFunc")) return HookRole::kLaunchCallback;
  return is_kernel_launch_name(name) ? HookRole::kLaunch : HookRole::kLaunchMany;
}

// Profiles and tables may leave out what NCCL's names begin with.
HookRole nccl_role(const Hook& hook) {
  const std::string_view name = hook.name;
  if (hook.word_of("call") >= 0 && hook.word_of("count") >= 0) {
    const std::string_view operation = name.starts_with("nccl") ? name.substr(4) : name;
    const bool is_message = operation == "Send" || operation == "Recv" || operation.ends_with("Signal");
    return is_message ? HookRole::kMessage : HookRole::kCollective;
  }
  if (name == "ncclGroupEnd") return HookRole::kGroupEnd;
  return name.starts_with("ncclGroup") ? HookRole::kGroup : HookRole::kCommunicator;
}

HookRole call_role(const Hook& hook) {
  const std::string_view name = hook.name;
  if (hook.launch) return launch_role(name);
  const auto known = std::find_if(std::begin(kNames), std::end(kNames),
                                  [name](const Names& names) { return name.starts_with(names.begin); });
  if (known != std::end(kNames)) return known->role;
  if (has(name, "EventSynchronize")) return HookRole::kSyncEvent;
  return has(name, "Synchronize") ? HookRole::kSync : HookRole::kOther;
}

}  // namespace

HookRole role_by_name(const Hook& hook) {
  const auto family = static_cast<Family>(hook.family);
  switch (hook.type) {
    case kRowKernel:
    case kRowCopy:
    case kRowFill:
      return HookRole::kActivity;
    case kRowRange:
      return HookRole::kRange;
    case kRowStep:
      return HookRole::kStep;
    case kRowMark:
      return HookRole::kMark;
    default:
      break;
  }
  if (family == Family::kGpu) return HookRole::kActivity;
  return family == Family::kNccl ? nccl_role(hook) : call_role(hook);
}

std::uint8_t traits_by_name(const Hook& hook) {
  const std::string_view name = hook.name;
  const bool is_driver = (name.starts_with("cu") && !name.starts_with("cuda")) || name.starts_with("hostprobe_");
  const bool is_runtime = static_cast<Family>(hook.family) == Family::kCuda && !is_driver;
  const bool is_per_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  return static_cast<std::uint8_t>((is_runtime ? kTraitRuntime : 0) | (is_per_thread ? kTraitPerThread : 0));
}

bool is_launch_name(std::string_view function) {
  return has(function, "Launch") && !has(function, "LaunchAttribute") && !has(function, "LaunchConfig") &&
         !has(function, "GetLaunch") && !has(function, "SetLaunch");
}

bool is_kernel_launch_name(std::string_view function) {
  return is_launch_name(function) && !has(function, "Graph") && !has(function, "HostFunc") && !has(function, "Multi");
}

bool is_sync_name(std::string_view function) {
  if (has(function, "Synchronize")) return true;
  const auto at = function.find("Memcpy");
  // cudaMemcpy, cuMemcpyDtoH_v2, but not what is about such a call: cudaGraphAddMemcpyNode.
  return at != std::string_view::npos && at <= 4 && !has(function, "Async") && !has(function, "Batch");
}

}  // namespace hostprobe::analysis
