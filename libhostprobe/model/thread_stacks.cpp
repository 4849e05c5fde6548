// thread_stacks.cpp: see thread_stacks.h.
#include "thread_stacks.h"

#include <algorithm>
#include <map>

namespace hostprobe::analysis {
namespace {

constexpr char kKernel[] = "kernel";
constexpr char kTorn[] = "(stack not known)";

bool is_wait(const Event& event) {
  return event.function != nullptr && !event.is(kPolls) && (event.is(kWaits) || event.is(kSynchronises));
}

// Calls of one function at one call site.
using SiteKey = std::pair<const Function*, std::uint64_t>;

}  // namespace

const char* thread_state_name(ThreadState state) { return state == ThreadState::kRunning ? "running" : "waiting"; }

std::vector<std::string> ThreadStacks::frames_of(std::uint32_t stack) const {
  const auto found = timeline_.trace().stacks.find(stack - 1u);
  if (stack == 0 || found == timeline_.trace().stacks.end()) return {};
  std::vector<std::string> frames = stack_text(timeline_.trace(), found->second, symbols_);
  std::reverse(frames.begin(), frames.end());
  return frames;
}

// Without a stack, the code that called.
std::vector<std::string> ThreadStacks::frames_at(const Event& wait) const {
  std::vector<std::string> frames = frames_of(wait.stack);
  if (frames.empty() && wait.site != 0) frames.push_back(symbols_.place(timeline_.trace(), wait.site).caller_text());
  frames.push_back(wait.function->name);
  return frames;
}

ThreadStack ThreadStacks::stack_of(const Event& wait) const {
  return {ThreadState::kWaiting, wait.begin_ns, wait.end_ns, wait.duration_ns, wait.count, frames_at(wait)};
}

void ThreadStacks::take_samples(const ThreadSamples& samples, const TakeStack& take) {
  const bool is_python = !samples.python.empty();
  for (const RunningSample& sample : is_python ? samples.python : samples.code) {
    ThreadStack stack{ThreadState::kRunning, sample.at_ns, sample.at_ns, sample.ns, 1, {}};
    if (is_python) {
      stack.frames = frames_of(sample.stack);
      if (stack.frames.empty()) stack.frames = {kTorn};
    } else if (sample.address == 0) {
      stack.frames = {kKernel};
    } else {
      stack.frames = {symbols_.place(timeline_.trace(), sample.address, false).caller_text()};
    }
    take(stack);
  }
}

void ThreadStacks::take_waits(const Track& track, const TakeStack& take) {
  double covered_ns = -1e300;
  std::map<SiteKey, std::pair<double, std::uint64_t>> counted;  // calls that have a record and are in a counter too
  timeline_.walk(track, [&](const Event& event) {
    if (!is_wait(event)) return;
    if (event.type == EventType::kCall && event.counted) {
      auto& [ns, count] = counted[{event.function, event.site}];
      ns += event.duration_ns;
      ++count;
    }
    if (event.type == EventType::kCall && event.end_ns > covered_ns) {
      ThreadStack stack = stack_of(event);
      stack.begin_ns = std::max(stack.begin_ns, covered_ns);
      stack.ns = stack.end_ns - stack.begin_ns;
      covered_ns = event.end_ns;
      take(stack);
    }
    if (event.type != EventType::kCounter || event.count == 0) return;
    ThreadStack stack = stack_of(event);
    stack.begin_ns = stack.end_ns = 0;
    auto& [ns, count] = counted[{event.function, event.site}];
    stack.ns -= std::min(ns, stack.ns);
    stack.count -= std::min(count, stack.count);
    ns = 0;
    count = 0;
    if (stack.count > 0 && stack.ns > 0) take(stack);
  });
}

}  // namespace hostprobe::analysis
