// function.cpp: see function.h.
#include "function.h"

#include <mutex>
#include <set>

namespace hostprobe::analysis {

Function function_of(const Hook& hook, std::uint32_t row) {
  Function function;
  function.name = hook.name;
  function.row = row;
  function.found = hook.found;
  function.site = hook.word_of("site");
  function.waker = hook.word_of("waker");
  const auto family = static_cast<Family>(hook.family);
  const auto set = [&function](bool is, Trait trait) { function.traits |= is ? trait : 0u; };
  const bool sample = hook.name == "hostprobe_queue_sample";
  set(sample, kSamplesQueue);
  set(family == Family::kCuda && !sample, kOfDriver);
  set(hook.launch, kLaunches);
  set(hook.blocking, kBlocks);
  set(family == Family::kWait, kWaits);
  set(family == Family::kCuda && hook.blocking, kSynchronises);
  set(hook.name == "sched_yield", kPolls);
  set(hook.name == "hostprobe_step" || hook.type == kRowStep, kMarksStep);
  function.empty = hook.word_of("empty");
  set(family == Family::kGpu, kRunsOnGpu);
  set(hook.type == kRowRange, kNamesTime);
  if (family != Family::kNccl) return function;
  function.traits |= kNccl;
  function.communicator = hook.word_of("comm");
  function.elements = hook.word_of("count");
  function.call = hook.word_of("call");
  function.ranks = hook.word_of("place");
  // The others are groups, and the life of a communicator.
  set(function.call >= 0 && function.elements >= 0, kCollective);
  function.operation = operation_name(hook.name);
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
