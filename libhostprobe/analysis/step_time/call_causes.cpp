// call_causes.cpp: see call_causes.h.
#include "call_causes.h"

#include <algorithm>

#include "analysis/measures/wait_purpose.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

// Short ones are part of launching.
Cause cause_of_driver_call(const HostCall& call) {
  constexpr double kLongNs = 100e3;  // as of copies and allocations in syncs.h
  const Function& function = *call.function;
  const bool is_long = call.end_ns - call.begin_ns >= kLongNs;
  if (function.role == HookRole::kCode) return Cause::kJitCompile;
  if (function.role == HookRole::kMemory) return Cause::kAllocStall;
  if (function.is(kSynchronises)) return Cause::kSyncCalls;
  if (!is_long) return Cause::kLaunchBound;
  if (function.is(kCopies)) return Cause::kPageableCopy;
  return function.is(kLaunches) ? Cause::kLaunchBound : Cause::kUnexplained;
}

Cause cause_of_purpose(WaitPurpose purpose) {
  switch (purpose) {
    case WaitPurpose::kGil:
      return Cause::kGilContention;
    case WaitPurpose::kDataLoader:
      return Cause::kDataloaderWait;
    case WaitPurpose::kPeers:
      return Cause::kWaitsForRank;
    case WaitPurpose::kGpu:
      return Cause::kSyncCalls;
    default:
      return Cause::kUnexplained;
  }
}

}  // namespace

CallCauses::CallCauses(const Timeline& timeline, const HostCalls& calls, Symbols& symbols, std::uint32_t process)
    : trace_(timeline.trace()), symbols_(symbols) {
  for (const HostThread& thread : calls.threads) {
    if (thread.process != process) continue;
    for (const HostCall& call : thread.calls)
      if (call.stack != 0 && call.function->is(kWaits))
        sampled_[{call.function, call.site, thread.track->role}][of(call, thread.track->role).cause] +=
            call.end_ns - call.begin_ns;
  }
}

CallCause CallCauses::of(const HostCall& call, Role role) {
  if (call.function == nullptr) return {};
  if (call.function->is(kOfDriver)) return {cause_of_driver_call(call)};
  const auto [known, is_new] = known_.try_emplace(Key{{call.function, call.site, role}, call.stack, call.on_file});
  if (is_new) known->second = of_wait(call, role);
  return known->second;
}

Peer CallCauses::peer_of(const HostCall& call, const OutsidePeers& peers) const {
  return call.name == 0 ? Peer::kOfJob : peers.of(trace_.strings.text(call.name));
}

CallCause CallCauses::of(const HostThread& thread, const HostCall& call) {
  constexpr double kCloseNs = 500e3;  // a batch is read in pieces, and put together between them
  constexpr std::ptrdiff_t kMostPieces =
      64;  // threads that wake each other all the time would be followed to their begin
  const CallCause own = of(call, thread.track->role);
  if (own.cause != Cause::kUnexplained || call.function == nullptr || !call.function->is(kWaits) || call.stack != 0)
    return own;
  const HostCall* first = &call - std::min(kMostPieces, &call - thread.calls.data());
  for (const HostCall* next = &call; next != first; --next) {
    const HostCall& before = next[-1];
    if (next->begin_ns - before.end_ns > kCloseNs) break;
    const Cause cause = of(before, thread.track->role).cause;
    if (cause == Cause::kDataloaderWait) return {cause};
    if (cause != Cause::kUnexplained) break;
  }
  return own;
}

CallCause CallCauses::of_wait(const HostCall& call, Role role) {
  if (call.on_file) return {Cause::kFileIo};
  const HookRole called = call.function->role;
  if (called == HookRole::kSleep) return {Cause::kHostWork, true};
  // Who pins a loader's batches has nothing else to read.
  if (role == Role::kPinMemory && (called == HookRole::kPoll || called == HookRole::kRead))
    return {Cause::kDataloaderWait};
  const CodePlace caller = symbols_.place(trace_, call.site);
  if (const Cause cause = cause_of_purpose(purpose_of_caller(caller, called)); cause != Cause::kUnexplained)
    return {cause};
  if (called == HookRole::kLock) return {Cause::kLockContention};
  if (call.stack != 0) return {of_stack(call, caller)};
  const auto sampled = sampled_.find({call.function, call.site, role});
  if (sampled == sampled_.end()) return {};
  return {std::max_element(sampled->second.begin(), sampled->second.end(), [](const auto& l, const auto& r) {
            return l.second < r.second;
          })->first};
}

Cause CallCauses::of_stack(const HostCall& call, const CodePlace& caller) const {
  const auto stack = trace_.stacks.find(call.stack - 1u);
  if (stack == trace_.stacks.end()) return Cause::kUnexplained;
  const WaitPurpose purpose = purpose_of_stack(trace_, stack->second, symbols_);
  if (purpose == WaitPurpose::kUnknown && is_python_lock(call, stack->second, caller)) return Cause::kLockContention;
  return cause_of_purpose(purpose);
}

// A lock of Python's own is a semaphore, also one between processes. Conditions, events and queues wait for one inside of the standard
// library; who waits for it from a function of the program's own waits for a lock.
bool CallCauses::is_python_lock(const HostCall& call, const Stack& stack, const CodePlace& caller) const {
  const bool is_python = is_python_library(caller.library) || caller.library.starts_with("_multiprocessing.");
  if (call.function->role != HookRole::kSemaphore || !is_python || stack.python.empty()) return false;
  const std::string_view frame = trace_.strings.text(stack.python.front());
  const auto is_in = [&frame](const char* file) { return frame.find(file) != std::string_view::npos; };
  // `with lock:`, where the lock is one between processes.
  if (frame.starts_with("SemLock.__enter__ (") || frame.starts_with("__enter__ (")) return is_in("synchronize.py:");
  return !frame.empty() && !is_in("(threading.py:") && !is_in("/threading.py:") && !is_in("queue.py:") &&
         !is_in("queues.py:") && !is_in("synchronize.py:");
}

}  // namespace hostprobe::analysis
