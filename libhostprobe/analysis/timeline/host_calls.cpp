// host_calls.cpp: see host_calls.h.
#include "host_calls.h"

#include <algorithm>
#include <map>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostCalls = 8'000'000;  // 40 bytes each

class Collector {
 public:
  Collector(HostThread& thread, const std::map<const Track*, std::int32_t>& numbers)
      : thread_(thread), numbers_(numbers) {}

  void enter(const Window& window) { window_ = window; }
  void add(const Event& event) {
    if (event.type == EventType::kCounter) {
      thread_.whole = thread_.whole && (event.below_limit || !event.is(kLaunches));
      return;
    }
    if (event.type != EventType::kCall) {
      thread_.whole = thread_.whole && !(window_.is_whole() || window_.holds(event));
      return;
    }
    if (!window_.holds(event) || !(event.is(kOfDriver) || event.is(kWaits))) return;
    if (!thread_.calls.empty() && event.begin_ns < thread_.calls.back().end_ns) return nested(event);
    thread_.calls.push_back(call_of(event));
    thread_.launches += event.is(kLaunches);
  }

 private:
  HostCall call_of(const Event& event) const {
    HostCall call{event.begin_ns, event.end_ns, 0, -1, HostCallType::kOther};
    if (event.is(kSynchronises)) call.type = HostCallType::kSynchronise;
    if (event.is(kLaunches)) call.type = HostCallType::kLaunch;
    if (event.wake_ns < 0 || event.waker == nullptr) return call;
    const auto waker = numbers_.find(event.waker);
    if (waker == numbers_.end() || event.waker == thread_.track) return call;
    call.type = HostCallType::kWait;
    call.waker = waker->second;
    call.post_ns = event.end_ns - event.wake_ns;
    return call;
  }

  // A launch inside a wait or an allocation is still a launch; its holder is then only what stands before it.
  void nested(const Event& event) {
    HostCall& holder = thread_.calls.back();
    if (!event.is(kLaunches) || holder.type != HostCallType::kOther) return;
    holder.end_ns = event.begin_ns;
    thread_.calls.push_back(call_of(event));
    ++thread_.launches;
  }

  Window window_;
  HostThread& thread_;
  const std::map<const Track*, std::int32_t>& numbers_;
};

}  // namespace

std::ptrdiff_t HostThread::call_at(double ns) const {
  const auto after = std::upper_bound(calls.begin(), calls.end(), ns,
                                      [](double at, const HostCall& one) { return at < one.begin_ns; });
  return after - calls.begin() - 1;
}

HostCalls host_calls(const Timeline& timeline, const std::vector<Window>& windows) {
  HostCalls all;
  std::map<const Track*, std::int32_t> numbers;
  for (const Track& track : timeline.tracks()) numbers[&track] = static_cast<std::int32_t>(numbers.size());
  all.threads.resize(timeline.tracks().size());
  std::size_t calls = 0;
  for (const Track& track : timeline.tracks()) {
    HostThread& thread = all.threads[static_cast<std::size_t>(numbers[&track])];
    thread.track = &track;
    Collector collector(thread, numbers);
    const auto add = [&](const Event& event) {
      if (calls + thread.calls.size() <= kMostCalls) collector.add(event);
    };
    for (const Window& window : windows) {
      collector.enter(window);
      if (window.is_whole())
        timeline.walk(track, add);
      else
        timeline.walk(track, timeline.slices_between(track, window.begin_ns, window.end_ns), add);
    }
    calls += thread.calls.size();
    all.whole = all.whole && calls <= kMostCalls;
    if (!all.whole) break;
  }
  return all;
}

}  // namespace hostprobe::analysis
