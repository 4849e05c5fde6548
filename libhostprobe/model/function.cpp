// function.cpp: see function.h.
#include "function.h"

#include <algorithm>
#include <initializer_list>
#include <mutex>
#include <set>

#include "answer/wait.h"
#include "model/call_traits.h"

namespace hostprobe::analysis {
namespace {

bool starts_with_one_of(const std::string& name, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&name](const char* word) { return name.starts_with(word); });
}

// Polls, sleeps and waits for a descriptor come as time passes, not as steps do.
StepToken step_token_of(const Function& function) {
  return hostprobe::step_token_of({function.name.c_str(), function.is(kLaunches), function.is(kCollective),
                                   function.is(kSynchronises), function.is(kWaits),
                                   function.is(Trait{kPolls | kMarksStep})});
}

// The word that says what was launched, or collected.
int work_word(const Hook& hook) {
  for (const char* label : {"kernel", "graph", "function", "generation"})
    if (const int word = hook.word_of(label); word >= 0) return word;
  return -1;
}

bool changes_memory(const std::string& name) {
  static constexpr std::string_view kNames[] = {
      "cuMemAlloc",  "cuMemFree",    "cuMemHostAlloc", "cuMemHostRegister", "cuMemHostUnregister",
      "cuMemCreate", "cuMemRelease", "cuMemMap",       "cuMemUnmap",        "cuMemSetAccess"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view one) { return name.starts_with(one); });
}

bool copies_in_stream(const std::string& name) {
  return name.starts_with("cuMemcpy") && name.find("Async") != std::string::npos;
}

// A graph's launches say it themselves, if anybody knows. Other than the driver's functions are a profile's.
std::int64_t kernels_of_call(const std::string& name) {
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  if (has("Graph") || has("Multi")) return -1;
  if (calls_back(name)) return 0;
  if (!name.starts_with("cu") || name.starts_with("cuda")) return is_kernel_launch_name(name) ? 1 : 0;
  return starts_with_one_of(name, {"cuLaunchKernel", "cuLaunchCooperativeKernel", "cuLaunchGrid"}) || name == "cuLaunch"
             ? 1
             : 0;
}

std::uint32_t python_traits(const Hook& hook) {
  if (hook.name == "hostprobe_step" || hook.type == kRowStep) return kMarksStep;
  if (hook.name == "hostprobe_optimizer_step") return kMarksStep | kOfOptimizer;
  if (hook.name == "hostprobe_gc") return kCollectsGarbage;
  return 0;
}

void set_launch_words(const Hook& hook, Function& function) {
  function.grid = hook.word_of("grid");
  function.stream = hook.word_of("stream");
  function.nodes = hook.word_of("nodes");
  function.kernels = hook.word_of("kernels");
  function.kernels_of_call = kernels_of_call(hook.name);
}

}  // namespace

Function function_of(const Hook& hook, std::uint32_t row) {
  Function function;
  function.name = hook.name;
  function.row = row;
  function.found = hook.found;
  function.site = hook.word_of("site");
  function.waker = hook.word_of("waker");
  const auto family = static_cast<Family>(hook.family);
  const auto set = [&function](bool is, Trait trait) { function.traits |= is ? trait : 0u; };
  set(hook.name == "hostprobe_queue_sample", kSamplesQueue);
  set(family == Family::kCuda && !hook.name.starts_with("hostprobe_"), kOfDriver);
  set(hook.launch, kLaunches);
  set(hook.blocking, kBlocks);
  set(family == Family::kWait, kWaits);
  set(family == Family::kCuda && hook.blocking, kSynchronises);
  set(family == Family::kCuda && changes_memory(hook.name), kMemory);
  set(family == Family::kCuda && copies_in_stream(hook.name), kCopies);
  set(hook.name == "sched_yield", kPolls);
  function.traits |= python_traits(hook);
  function.empty = hook.word_of("empty");
  set(family == Family::kGpu, kRunsOnGpu);
  set(hook.type == kRowRange, kNamesTime);
  set(hook.type == kRowMark, kTellsValue);
  if (function.is(kNamesTime) || function.is(kTellsValue)) function.name_word = hook.word_of("name");
  if (function.is(kMarksStep)) function.work = hook.word_of("number");
  if (hook.launch || function.is(kCollectsGarbage)) function.work = work_word(hook);
  if (hook.launch) set_launch_words(hook, function);
  function.step_token = step_token_of(function);
  if (family != Family::kNccl) return function;
  function.traits |= kNccl;
  function.communicator = hook.word_of("comm");
  function.elements = hook.word_of("count");
  function.call = hook.word_of("call");
  function.ranks = hook.word_of("place");
  // The others are groups, and the life of a communicator.
  set(function.call >= 0 && function.elements >= 0, kCollective);
  function.operation = operation_name(hook.name);
  function.step_token = step_token_of(function);
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
