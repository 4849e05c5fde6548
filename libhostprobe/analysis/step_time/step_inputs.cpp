// step_inputs.cpp: see step_inputs.h.
#include "step_inputs.h"

#include <algorithm>
#include <set>

#include "analysis/transfers/quantile.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

struct Takes {
  std::size_t all = 0;
  std::vector<double> to_copy_ns;  // of those that a copy is the next launch behind

  bool are_copied() const { return 2 * to_copy_ns.size() > all; }
};

// By maker.
using AllTakes = std::map<std::int32_t, Takes>;

// Where the batch was there already nothing shows that it was taken behind this. But then the copy is further away than from a take
// that it follows.
bool is_further_away(const Takes& own, const AllTakes& all) {
  constexpr std::size_t kFewest = 5;
  constexpr double kTimes = 2;
  if (own.to_copy_ns.size() < kFewest) return false;
  return std::any_of(all.begin(), all.end(), [&](const auto& other) {
    const std::vector<double>& ns = other.second.to_copy_ns;
    return other.second.are_copied() && ns.size() >= kFewest &&
           quantile(own.to_copy_ns, 0.5) > kTimes * quantile(ns, 0.5);
  });
}

bool copies(const HostCall& launch) { return launch.function->role == HookRole::kCopyToDevice; }

bool is_take(const HostCall& call) { return call.type == HostCallType::kWait && call.waker >= 0; }

// The driver's and NCCL's make nothing that a program takes.
bool can_make(const HostThread& thread) {
  if (thread.process != 0) return true;
  const Role role = thread.track == nullptr ? Role::kOther : thread.track->role;
  return role == Role::kOther || role == Role::kDataloader || role == Role::kPinMemory;
}

// Of a process beside it only the end of a wait is known, not what ended it: from there on until then.
constexpr double kWakeNs = 100'000;

// Makers of what that thread takes that hand on what others have made, as one does that takes the batches of a loader's workers: they wait for
// others in most of their turns.
std::set<std::int32_t> handing_on(const std::vector<HostThread>& threads, std::int32_t taker) {
  std::map<std::int32_t, std::size_t> takes;
  for (const HostCall& call : threads[static_cast<std::size_t>(taker)].calls)
    if (is_take(call)) ++takes[call.waker];
  std::set<std::int32_t> all;
  for (const auto& [maker, count] : takes) {
    const std::vector<HostCall>& calls = threads[static_cast<std::size_t>(maker)].calls;
    const auto others = std::count_if(calls.begin(), calls.end(), [taker](const HostCall& call) {
      return call.function != nullptr && call.function->is(kWaits) && call.waker != taker;
    });
    if (2 * static_cast<std::size_t>(others) > count) all.insert(maker);
  }
  return all;
}

// Whom most waits of that thread are ended by; -1: nobody in particular.
std::int32_t whom_it_waits_for(const HostThread& thread) {
  std::map<std::int32_t, std::size_t> takes;
  std::size_t all = 0;
  for (const HostCall& call : thread.calls)
    if (is_take(call)) ++all, ++takes[call.waker];
  for (const auto& [waker, count] : takes)
    if (2 * count > all) return waker;
  return -1;
}

// For each thread those that wait mostly for it: makers that want to go on.
std::vector<std::vector<const HostThread*>> served_by(const std::vector<HostThread>& threads) {
  std::vector<std::vector<const HostThread*>> servers(threads.size());
  for (const HostThread& thread : threads)
    if (const std::int32_t other = can_make(thread) ? whom_it_waits_for(thread) : -1; other >= 0)
      servers[static_cast<std::size_t>(other)].push_back(&thread);
  return servers;
}

}  // namespace

bool is_copied_next(const HostThread& thread, const HostCall& call) {
  const auto next = std::find_if(thread.calls.begin() + (&call - thread.calls.data()) + 1, thread.calls.end(),
                                 [](const HostCall& one) { return one.type == HostCallType::kLaunch; });
  return next != thread.calls.end() && copies(*next);
}

StepInputs::StepInputs(const PathGraph& graph) {
  const std::vector<HostThread>& threads = graph.host.threads;
  const auto servers = served_by(threads);
  for (std::size_t number = 0; number < threads.size(); ++number) {
    const auto own = static_cast<std::int32_t>(number);
    const std::set<std::int32_t> hand_on = handing_on(threads, own);
    const auto lets_another_go = [&](std::int32_t but, const Window& window) {
      const HostThread& maker = threads[static_cast<std::size_t>(but)];
      return std::any_of(servers[number].begin(), servers[number].end(), [&](const HostThread* server) {
        const bool is_late = server->process != 0 && maker.process == 0 && !hand_on.contains(but);
        const Window until{window.begin_ns, window.end_ns + (is_late ? kWakeNs : 0)};
        return server != &maker && server->let_go_ns(own, until, window.end_ns);
      });
    };
    AllTakes makers;
    const HostCall* launch = nullptr;  // that comes next
    for (auto call = threads[number].calls.rbegin(); call != threads[number].calls.rend(); ++call) {
      if (call->type == HostCallType::kLaunch) launch = &*call;
      if (!is_take(*call) || !can_make(threads[static_cast<std::size_t>(call->waker)])) continue;
      Takes& takes = makers[call->waker];
      ++takes.all;
      if (launch != nullptr && copies(*launch) && !lets_another_go(call->waker, {call->end_ns, launch->begin_ns}))
        takes.to_copy_ns.push_back(launch->begin_ns - call->end_ns);
    }
    for (auto& [waker, takes] : makers) std::sort(takes.to_copy_ns.begin(), takes.to_copy_ns.end());
    for (const auto& [waker, takes] : makers)
      is_input_[{own, waker}] = takes.are_copied() && !is_further_away(takes, makers);
  }
}

bool StepInputs::has(std::int32_t waiter, std::int32_t waker) const {
  const auto found = is_input_.find({waiter, waker});
  return found != is_input_.end() && found->second;
}

}  // namespace hostprobe::analysis
