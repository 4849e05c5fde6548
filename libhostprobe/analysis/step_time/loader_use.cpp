// loader_use.cpp: see loader_use.h.
#include "loader_use.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "answer/telling_frames.h"
#include "lost_time.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

// Which waits of a worker's first thread are for an order of its rank.
class Orders {
 public:
  Orders(const PathGraph& graph, const Trace& trace, const HostThread& thread) : graph_(graph), trace_(trace) {
    for (const HostCall& call : thread.calls)
      if (is_wait(call) && call.stack != 0) (is_told(call) ? for_orders_ : for_others_)[site_of(call)] += length(call);
  }

  bool has(const HostCall& call) const {
    if (call.type == HostCallType::kWait && call.waker >= 0) return waker(call).process == 0;
    if (!is_wait(call)) return false;
    return call.stack != 0 ? is_told(call) : sum(for_orders_, call) > sum(for_others_, call);
  }

 private:
  using Site = std::pair<const Function*, std::uint64_t>;
  static bool is_wait(const HostCall& call) { return call.function != nullptr && call.function->is(kWaits); }
  static Site site_of(const HostCall& call) { return {call.function, call.site}; }
  static double length(const HostCall& call) { return call.end_ns - call.begin_ns; }
  static double sum(const std::map<Site, double>& ns, const HostCall& call) {
    const auto found = ns.find(site_of(call));
    return found == ns.end() ? 0 : found->second;
  }
  const HostThread& waker(const HostCall& call) const {
    return graph_.host.threads[static_cast<std::size_t>(call.waker)];
  }
  // The loop of PyTorch's workers itself takes something out of a queue, and not a sample that is being made.
  bool is_told(const HostCall& call) const {
    constexpr std::array<std::string_view, 4> kOfQueues = {"connection.py", "selectors.py", "queues.py", "queue.py"};
    const auto stack = trace_.stacks.find(call.stack - 1u);
    if (stack == trace_.stacks.end()) return false;
    bool in_queue = false;
    for (const std::uint32_t id : stack->second.python) {
      const std::string_view file = file_of_frame(trace_.strings.text(id));
      if (std::find(kOfQueues.begin(), kOfQueues.end(), file) == kOfQueues.end())
        return in_queue && file == "worker.py";
      in_queue = true;
    }
    return false;
  }

  const PathGraph& graph_;
  const Trace& trace_;
  std::map<Site, double> for_orders_, for_others_;
};

// When the worker's loop gave a batch to the thread that writes it. By thread, and by time in each.
std::vector<double> batches_of(const PathGraph& graph, std::uint32_t process) {
  std::vector<double> at_ns;
  for (const HostThread& thread : graph.host.threads) {
    if (thread.process != process || thread.track->role == Role::kDataloader) continue;
    for (const HostCall& call : thread.calls) {
      if (call.type != HostCallType::kWait || call.waker < 0) continue;
      const HostThread& waker = graph.host.threads[static_cast<std::size_t>(call.waker)];
      if (waker.track->role == Role::kDataloader) at_ns.push_back(call.post_ns);
    }
  }
  return at_ns;
}

// From the first to the last; empty where there are not two.
Window loading_of(const PathGraph& graph, std::uint32_t process) {
  const std::vector<double> at_ns = batches_of(graph, process);
  if (at_ns.empty()) return {0, 0};
  const auto [first, last] = std::minmax_element(at_ns.begin(), at_ns.end());
  return {*first, *last};
}

double inside_all_ns(const std::vector<Window>& windows, const Window& window) {
  auto at = std::partition_point(windows.begin(), windows.end(),
                                 [&window](const Window& one) { return one.end_ns <= window.begin_ns; });
  double ns = 0;
  for (; at != windows.end() && at->begin_ns < window.end_ns; ++at) ns += inside_ns(*at, window);
  return ns;
}

bool is_loop(const HostThread& thread) {
  return thread.track->role == Role::kDataloader || thread.track->role == Role::kMain;
}

}  // namespace

LoaderUse::LoaderUse(const PathGraph& graph, const StepTimeMember& member) {
  for (std::size_t i = 0; i < member.workers.size(); ++i) {
    const StepTimeProcess& process = member.workers[i];
    const auto number = static_cast<std::uint32_t>(i + 1);
    Worker& worker = workers_.emplace_back();
    const double begin_ns = process.answer->start_since_first_ns;
    worker.life = {process.axis.of(begin_ns), process.axis.of(begin_ns + 1e6 * process.answer->wall_ms)};
    worker.loading = loading_of(graph, number);
    for (const HostThread& thread : graph.host.threads) {
      if (thread.process != number || !is_loop(thread)) continue;
      const Orders orders(graph, process.timeline->trace(), thread);
      for (const HostCall& call : thread.calls)
        if (orders.has(call)) worker.idle.push_back({call.begin_ns, call.end_ns});
    }
    worker.idle = joined(std::move(worker.idle));
  }
  time_.workers.resize(workers_.size());
  add_restarts();
}

// Workers that live on begin once and end once.
void LoaderUse::add_restarts() {
  double first_end_ns = 1e300, last_begin_ns = -1e300;
  for (const Worker& one : workers_) {
    first_end_ns = std::min(first_end_ns, one.life.end_ns);
    last_begin_ns = std::max(last_begin_ns, one.life.begin_ns);
  }
  for (const Worker& one : workers_) {
    if (one.loading.length_ns() <= 0) continue;
    const bool follows = one.life.begin_ns >= first_end_ns, is_followed = last_begin_ns >= one.life.end_ns;
    if (follows) restarts_.push_back({one.life.begin_ns, one.loading.begin_ns}), ++time_.restarts;
    if (is_followed) restarts_.push_back({one.loading.end_ns, one.life.end_ns});
  }
  restarts_ = joined(std::move(restarts_));
}

void LoaderUse::add_wait(const Window& window, double ns) {
  const double restarting_ns = inside_all_ns(restarts_, window);
  double most_ns = 0, least_ns = window.length_ns();
  std::size_t here = 0;
  for (const Worker& worker : workers_) {
    if (inside_ns(worker.life, window) <= 0) continue;
    const double idle_ns = inside_all_ns(worker.idle, window);
    most_ns = std::max(most_ns, idle_ns);
    least_ns = std::min(least_ns, idle_ns);
    ++here;
  }
  const double part = window.length_ns() > 0 ? ns / window.length_ns() : 0;
  time_.waited_ns += ns;
  time_.restarting_ns += part * restarting_ns;
  if (here == 0) return;
  const double rest_ns = window.length_ns() - restarting_ns;
  least_ns = std::min(least_ns, rest_ns);
  time_.handing_ns += part * least_ns;
  time_.held_ns += part * (std::min(most_ns, rest_ns) - least_ns);
}

void LoaderUse::add_step(const Window& step, const std::vector<LostPart>& parts) {
  if (workers_.empty()) return;
  for (const LostPart& part : parts)
    if (part.cause == Cause::kDataloaderWait && !part.waits) add_wait(part.window, part.ns);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Window loading = {std::max(step.begin_ns, workers_[i].loading.begin_ns),
                            std::min(step.end_ns, workers_[i].loading.end_ns)};
    if (loading.length_ns() <= 0) continue;
    time_.workers[i].loading_ns += loading.length_ns();
    time_.workers[i].idle_ns += inside_all_ns(workers_[i].idle, loading);
  }
}

}  // namespace hostprobe::analysis
