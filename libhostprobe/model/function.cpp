// function.cpp: see function.h.
#include "function.h"

#include <mutex>
#include <set>

#include "trace/trace.h"

namespace hostprobe::analysis {
namespace {

// The word that says what was launched, or collected.
int work_word(const Hook& hook) {
  for (const char* label : {"kernel", "graph", "function", "generation"})
    if (const int word = hook.word_of(label); word >= 0) return word;
  return -1;
}

// A graph's launches say it themselves, if anybody knows.
std::int64_t kernels_of_call(HookRole role) {
  return role == HookRole::kLaunch ? 1 : role == HookRole::kLaunchCallback ? 0 : -1;
}

// What the role alone says.
std::uint32_t role_traits(HookRole role) {
  switch (role) {
    case HookRole::kQueueSample:
      return kSamplesQueue;
    case HookRole::kYield:
      return kPolls;
    case HookRole::kStep:
      return kMarksStep;
    case HookRole::kOptimizerStep:
      return kMarksStep | kOfOptimizer;
    case HookRole::kGarbage:
      return kCollectsGarbage;
    case HookRole::kActivity:
      return kRunsOnGpu;
    case HookRole::kRange:
      return kNamesTime;
    case HookRole::kMark:
      return kTellsValue;
    case HookRole::kCollective:
    case HookRole::kMessage:
      return kCollective;
    default:
      return 0;
  }
}

std::uint32_t driver_traits(const Hook& hook) {
  const bool is_own = hook.role == HookRole::kQueueSample || hook.role == HookRole::kGpuTime ||
                      hook.role == HookRole::kGpuEnd || hook.role == HookRole::kGpuClock;
  std::uint32_t traits = is_own ? 0u : kOfDriver;
  if (hook.blocking) traits |= kSynchronises;
  if ((hook.traits & kTraitRuntime) != 0) return traits;
  const bool copies = hook.role == HookRole::kCopy || hook.role == HookRole::kCopyToDevice;
  if (hook.role == HookRole::kMemory) traits |= kMemory;
  if (copies && !hook.blocking) traits |= kCopies;
  return traits;
}

std::uint32_t traits_of(const Hook& hook) {
  std::uint32_t traits = role_traits(hook.role);
  if (hook.launch) traits |= kLaunches;
  if (hook.blocking) traits |= kBlocks;
  switch (static_cast<Family>(hook.family)) {
    case Family::kCuda:
      return traits | driver_traits(hook);
    case Family::kNccl:
      return traits | kNccl;
    case Family::kWait:
      return traits | kWaits;
    default:
      return traits;
  }
}

void set_launch_words(const Hook& hook, Function& function) {
  function.work = work_word(hook);
  function.grid = hook.word_of("grid");
  function.nodes = hook.word_of("nodes");
  function.kernels = hook.word_of("kernels");
  function.kernels_of_call = kernels_of_call(hook.role);
}

void set_nccl_words(const Hook& hook, Function& function) {
  function.communicator = hook.word_of("comm");
  function.elements = hook.word_of("count");
  function.call = hook.word_of("call");
  function.ranks = hook.word_of("place");
  function.operation = operation_name(hook.name);
}

void set_garbage_words(const Hook& hook, Function& function) {
  function.work = work_word(hook);
  function.collected = hook.word_of("collected");
  function.blocks = hook.word_of("blocks");
  function.requested = hook.word_of("requested");
}

}  // namespace

Function function_of(const Hook& hook, std::uint32_t row) {
  Function function;
  function.name = hook.name;
  function.row = row;
  function.role = hook.role;
  function.found = hook.found;
  function.traits = traits_of(hook);
  function.site = hook.word_of("site");
  function.waker = hook.word_of("waker");
  function.empty = hook.word_of("empty");
  if (function.is(Trait{kNamesTime | kTellsValue | kWaits})) function.name_word = hook.word_of("name");
  if (function.is(kMarksStep)) function.work = hook.word_of("number");
  if (function.is(kCollectsGarbage)) set_garbage_words(hook, function);
  if (function.is(kOfDriver)) function.stream = hook.word_of("stream");
  if (hook.launch) set_launch_words(hook, function);
  if (function.is(kNccl)) set_nccl_words(hook, function);
  function.mask = hook.word_of("mask");
  function.cpus = hook.word_of("cpus");
  if (function.mask >= 0) function.traits |= kSetsMask;
  function.step_token = step_token_of(hook.role, hook.blocking);
  return function;
}

const std::string* operation_name(const std::string& function) {
  static std::mutex mutex;
  static std::set<std::string> names;
  std::string name = function.starts_with("nccl") ? function.substr(4) : function;
  if (name.ends_with("Config")) name.resize(name.size() - 6);
  if (name == "Bcast") name = "Broadcast";
  const std::lock_guard lock(mutex);
  return &*names.insert(name).first;
}

bool is_message(const std::string& operation) {
  return operation == "Send" || operation == "Recv" || operation.ends_with("Signal");
}

}  // namespace hostprobe::analysis
