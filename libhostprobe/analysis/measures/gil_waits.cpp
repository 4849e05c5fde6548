// gil_waits.cpp: see gil_waits.h.
#include "gil_waits.h"

#include <algorithm>

#include "answer/file_name.h"
#include "model/window.h"
#include "wait_purpose.h"

namespace hostprobe::analysis {

bool GilWaits::is_for_lock(const Event& event) {
  if (event.function->role != HookRole::kCondition) return false;
  const auto [site, fresh] = sites_.try_emplace({event.function, event.site}, false);
  if (!fresh) return site->second;
  const Module* module = trace_->module_at(event.site, event.end_ticks);
  return site->second = module != nullptr && is_python_library(base_name(module->path));
}

// Of a request, all its waits.
void GilWaits::add_holder(Waiter& waiter, const Event& event) {
  if (event.waker == nullptr || event.waker == event.track) return;
  Holder& holder = waiter.holders.try_emplace(event.waker->key(), Holder{event.waker, 0, 0}).first->second;
  ++holder.requests;
  holder.ns += waiter.request_ns;
}

void GilWaits::add_wait(const Event& event) {
  Waiter& waiter = waiters_[event.track->key()];
  waiter.track = event.track;
  if (event.type == EventType::kCall) {
    if (has_steps_) waiter.in_steps_ns += inside_ns(span_, event);
    waiter.request_ns += event.duration_ns;
    waiter.longest_ns = std::max(waiter.longest_ns, waiter.request_ns);
    if (!event.timed_out) {
      add_holder(waiter, event);
      waiter.request_ns = 0;
    }
  }
  if (event.counted) return;
  waiter.ns += event.duration_ns;
  if (event.type == EventType::kCounter) {
    waiter.requests += event.count - std::min(event.count, event.timeouts);
    waiter.longest_ns = std::max(waiter.longest_ns, event.distribution->time.max_ns());
  } else {
    waiter.requests += !event.timed_out;
  }
}

// Threads are walked whole: one of the two was given this one's.
void GilWaits::merge(GilWaits&& other) { waiters_.merge(other.waiters_); }

std::vector<GilThread> GilWaits::finish() const {
  std::vector<GilThread> answers;
  for (const auto& [key, waiter] : waiters_) {
    GilThread answer{key, waiter.track->role, waiter.requests, waiter.ns, waiter.in_steps_ns, waiter.longest_ns, {}};
    for (const auto& [thread, holder] : waiter.holders)
      answer.holders.push_back({thread, holder.track->role, holder.requests, holder.ns});
    std::stable_sort(answer.holders.begin(), answer.holders.end(),
                     [](const GilHolder& l, const GilHolder& r) { return l.ns > r.ns; });
    answers.push_back(std::move(answer));
  }
  std::stable_sort(answers.begin(), answers.end(), [](const GilThread& l, const GilThread& r) { return l.ns > r.ns; });
  return answers;
}

}  // namespace hostprobe::analysis
