// hook_list.cpp: see hook_list.h.
#include "hook_list.h"

#include <gelf.h>

#include <algorithm>
#include <iterator>

#include "elf_file.h"

namespace hostprobe::analysis {
namespace {

std::string text_of(const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); }

Label parse_label(const std::string& text) {
  static constexpr std::pair<const char*, Form> kForms[] = {
      {"i", Form::kSigned},    {"hex", Form::kHex},   {"code", Form::kCode},       {"str", Form::kString},
      {"dim", Form::kDim},     {"post", Form::kPost}, {"us", Form::kMicroseconds}, {"nccl", Form::kNcclCall},
      {"ranks", Form::kRanks}, {"real", Form::kReal}};
  const auto colon = text.find(':');
  Label label{text.substr(0, colon), Form::kDecimal};
  if (colon == std::string::npos) return label;
  for (const auto& [name, form] : kForms) {
    if (text.compare(colon + 1, std::string::npos, name) == 0) label.form = form;
  }
  return label;
}

Elf_Data* section_data(Elf* elf, const char* name) {
  std::size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* found = elf_strptr(elf, names, header.sh_name);
    if (found != nullptr && std::string_view(found) == name) return elf_getdata(section, nullptr);
  }
  return nullptr;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

struct KnownCalls {
  std::string_view begin;
  HookRole role;
};

// By how the name begins; the first that fits.
constexpr KnownCalls kKnownCalls[] = {
    {"hostprobe_step", HookRole::kStep},
    {"hostprobe_optimizer_step", HookRole::kOptimizerStep},
    {"hostprobe_gc", HookRole::kGarbage},
    {"hostprobe_queue_sample", HookRole::kQueueSample},
    {"hostprobe_gpu_time", HookRole::kGpuTime},
    {"hostprobe_gpu_end", HookRole::kGpuEnd},
    {"hostprobe_gpu_clock", HookRole::kGpuClock},
    {"cuStreamCreate", HookRole::kStreamMade},

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
  const auto known = std::find_if(std::begin(kKnownCalls), std::end(kKnownCalls),
                                  [name](const KnownCalls& names) { return name.starts_with(names.begin); });
  if (known != std::end(kKnownCalls)) return known->role;
  if (has(name, "EventSynchronize")) return HookRole::kSyncEvent;
  return has(name, "Synchronize") ? HookRole::kSync : HookRole::kOther;
}

}  // namespace

Hook parse_hook(const HookRow& row) {
  Hook hook;
  hook.name = text_of(row.name, sizeof(row.name));
  hook.versions = text_of(row.versions, sizeof(row.versions));
  for (int i = 0; i < 5; ++i) hook.labels[i] = parse_label(text_of(row.labels[i], sizeof(row.labels[i])));
  hook.family = row.family;
  hook.found = row.found != 0;
  hook.blocking = row.blocking != 0;
  hook.launch = row.launch != 0;
  hook.type = row.type;
  const bool says = static_cast<HookRole>(row.role) != HookRole::kUnsaid;
  hook.role = says ? static_cast<HookRole>(row.role) : role_by_name(hook);
  hook.traits = says ? row.traits : traits_by_name(hook);
  return hook;
}

const char* family_name(std::uint8_t family) {
  static constexpr const char* kNames[] = {"cuda", "nccl", "wait", "wake", "thread", "io", "python", "gpu", "range"};
  return family < std::size(kNames) ? kNames[family] : "unknown";
}

std::vector<Hook> hooks_of_library(const std::string& path) {
  const ElfFile file(path);
  const Elf_Data* data = section_data(file.get(), kHookSection);
  if (data == nullptr || data->d_buf == nullptr || data->d_size % sizeof(HookRow) != 0) {
    throw TraceError(path + " holds no hook table: it is not this version's libhostprobe.so", 0);
  }
  std::vector<Hook> hooks;
  for (std::size_t at = 0; at < data->d_size; at += sizeof(HookRow)) {
    HookRow row;
    std::memcpy(&row, static_cast<const char*>(data->d_buf) + at, sizeof(row));
    hooks.push_back(parse_hook(row));
  }
  return hooks;
}

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
  const bool is_runtime = static_cast<Family>(hook.family) == Family::kCuda && !is_driver && hook.versions.empty();
  const bool is_per_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  return static_cast<std::uint8_t>((is_runtime ? kTraitRuntime : 0) | (is_per_thread ? kTraitPerThread : 0));
}

bool is_launch_name(std::string_view function) {
  if (function == "Node@launch" || function == "torch_to_npu") return true;
  return has(function, "Launch") && !has(function, "LaunchAttribute") && !has(function, "LaunchConfig") &&
         !has(function, "GetLaunch") && !has(function, "SetLaunch");
}

bool is_kernel_launch_name(std::string_view function) {
  return is_launch_name(function) && !has(function, "Graph") && !has(function, "HostFunc") && !has(function, "Multi");
}

bool is_sync_name(std::string_view function) {
  if (has(function, "Synchronize")) return true;
  const auto at = function.find("Memcpy");
  // cudaMemcpy, cuMemcpyDtoH_v2, but not what is about such a call: cudaGraphAddMemcpyNode. aclrtMemcpy has the longest prefix.
  return at != std::string_view::npos && at <= 5 && !has(function, "Async") && !has(function, "Batch");
}

}  // namespace hostprobe::analysis
