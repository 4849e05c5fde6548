// host_calls.cpp: see host_calls.h.
#include "host_calls.h"

#include <algorithm>
#include <map>

#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostCalls = 8'000'000;  // 56 bytes each

class Collector {
 public:
  Collector(HostCalls& all, HostThread& thread, const std::map<const Track*, std::int32_t>& numbers)
      : collections_(all.collections), thread_(thread), numbers_(numbers) {}

  void enter(const Window& window) { window_ = window; }
  void add(const Event& event) {
    if (event.type == EventType::kCounter) {
      thread_.whole = thread_.whole && (event.below_limit || !event.is(kLaunches));
      return;
    }
    if (event.type != EventType::kCall) {
      thread_.whole = thread_.whole && !(window_.is_whole() || holds(window_, event));
      return;
    }
    if (event.is(kCollectsGarbage) && inside_ns(window_, event) > 0)
      collections_.push_back({event.begin_ns, event.end_ns});
    if (!holds(window_, event) || !(event.is(kOfDriver) || event.is(kWaits))) return;
    if (!thread_.calls.empty() && event.begin_ns < thread_.calls.back().end_ns) return nested(event);
    thread_.calls.push_back(call_of(event));
    thread_.launches += event.is(kLaunches);
  }

 private:
  HostCall call_of(const Event& event) const {
    HostCall call;
    call.begin_ns = event.begin_ns;
    call.end_ns = event.end_ns;
    call.function = event.function;
    call.site = event.site;
    call.stack = event.stack;
    call.on_file = event.on_file;
    if (event.is(kWaits)) call.name = static_cast<std::uint32_t>(word(*event.record, event.function->name_word));
    if (event.is(kSynchronises)) call.type = HostCallType::kSynchronise;
    if (event.is(kLaunches)) call.type = HostCallType::kLaunch;
    if (event.function->stream >= 0) call.stream = word(*event.record, event.function->stream);
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
  std::vector<Window>& collections_;
  HostThread& thread_;
  const std::map<const Track*, std::int32_t>& numbers_;
};

// Windows and the slices that they need.
struct Stretch {
  std::size_t first = 0, last = 0;  // windows
  SliceRange slices;
};

// Each slice is read once, however many windows lie in it.
std::vector<Stretch> stretches_of(const Timeline& timeline, const Track& track, const std::vector<Window>& windows) {
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const SliceRange slices = timeline.slices_between(track, windows[i].begin_ns, windows[i].end_ns);
    if (stretches.empty() || slices.begin >= stretches.back().slices.end)
      stretches.push_back({i, i, slices});
    else
      stretches.back() = {
          stretches.back().first,
          i,
          {std::min(stretches.back().slices.begin, slices.begin), std::max(stretches.back().slices.end, slices.end)}};
  }
  return stretches;
}

// Gives each event to the windows in which some of it lies. Events come nearly in order.
class Dispatch {
 public:
  Dispatch(const std::vector<Window>& windows, const Stretch& stretch, Collector& collector)
      : windows_(windows), stretch_(stretch), collector_(collector), at_(stretch.first) {}

  void add(const Event& event) {
    while (at_ < stretch_.last && windows_[at_].end_ns <= event.begin_ns) ++at_;
    while (at_ > stretch_.first && windows_[at_ - 1].end_ns > event.begin_ns) --at_;
    for (std::size_t i = at_; i <= stretch_.last && windows_[i].begin_ns <= event.end_ns; ++i) {
      collector_.enter(windows_[i]);
      collector_.add(event);
    }
  }

 private:
  const std::vector<Window>& windows_;
  const Stretch& stretch_;
  Collector& collector_;
  std::size_t at_;
};

std::size_t count_records(const Thread& thread, const SliceRange& slices) {
  std::size_t count = 0;
  for (std::size_t i = slices.begin; i < slices.end; ++i) count += thread.slices[i].count;
  return count;
}

void collect(const Timeline& timeline, const Track& track, const std::vector<Window>& windows, std::size_t most,
             Collector& collector, HostThread& thread) {
  const bool is_whole = windows.size() == 1 && windows[0].is_whole();
  const std::vector<Stretch> stretches = is_whole ? std::vector<Stretch>{{0, 0, {0, track.thread->slices.size()}}}
                                                  : stretches_of(timeline, track, windows);
  // At once, because it is large: what is not needed of it is never touched.
  std::size_t records = 0;
  for (const Stretch& stretch : stretches) records += count_records(*track.thread, stretch.slices);
  thread.calls.reserve(std::min(records, most + 1));
  for (const Stretch& stretch : stretches) {
    Dispatch dispatch(windows, stretch, collector);
    const auto add = [&](const Event& event) {
      if (thread.calls.size() <= most) dispatch.add(event);
    };
    if (is_whole)
      timeline.walk(track, add);  // counters too
    else
      timeline.walk(track, stretch.slices, add);
  }
}

}  // namespace

std::ptrdiff_t HostThread::call_at(double ns) const {
  const std::size_t after = last.find(calls.size(), [&](std::size_t i) { return calls[i].begin_ns <= ns; });
  return static_cast<std::ptrdiff_t>(after) - 1;
}

double HostThread::in_calls_ns(const Window& window) const {
  double ns = 0;
  for (auto i = std::max<std::ptrdiff_t>(0, call_at(window.begin_ns)); i < std::ssize(calls); ++i) {
    const HostCall& call = calls[static_cast<std::size_t>(i)];
    if (call.begin_ns >= window.end_ns) break;
    ns += inside_ns(Window{call.begin_ns, call.end_ns}, window);
  }
  return ns;
}

std::optional<double> HostThread::let_go_ns(std::int32_t other, const Window& window, double begun_by_ns) const {
  for (std::ptrdiff_t i = call_at(begun_by_ns); i >= 0; --i) {
    const HostCall& call = calls[static_cast<std::size_t>(i)];
    if (call.end_ns < window.begin_ns) break;
    if (call.type == HostCallType::kWait && call.waker == other && call.post_ns >= window.begin_ns &&
        call.post_ns < window.end_ns)
      return call.post_ns;
  }
  return std::nullopt;
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
    Collector collector(all, thread, numbers);
    collect(timeline, track, windows, kMostCalls - calls, collector, thread);
    calls += thread.calls.size();
    all.whole = all.whole && calls <= kMostCalls;
    if (!all.whole) break;
  }
  std::sort(all.collections.begin(), all.collections.end(),
            [](const Window& l, const Window& r) { return l.begin_ns < r.begin_ns; });
  return all;
}

}  // namespace hostprobe::analysis
