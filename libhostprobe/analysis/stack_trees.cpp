// stack_trees.cpp: see stack_trees.h.
#include "stack_trees.h"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "model/thread_stacks.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostProcesses = 4, kMostThreads = 3, kMostFrames = 80;
constexpr double kLeastPart = 0.01;  // of the tree, for a branch to be shown

class TreeBuilder {
 public:
  void add(const std::vector<std::string>& frames, double ns) {
    std::uint32_t at = 0;
    nodes_[0].ns += ns;
    for (std::size_t i = 0; i < std::min(frames.size(), kMostFrames); ++i) {
      const std::uint32_t frame = frame_of(frames[i]);
      const auto [child, is_new] = children_.try_emplace({at, frame}, static_cast<std::uint32_t>(nodes_.size()));
      if (is_new) nodes_.push_back({at, frame, 0});
      at = child->second;
      nodes_[at].ns += ns;
    }
  }
  double ns() const { return nodes_[0].ns; }

  // Parents come before their children, so a node whose parent is left out is left out as well.
  StackTree finish() const {
    StackTree tree;
    constexpr std::uint32_t kLeftOut = UINT32_MAX;
    std::vector<std::uint32_t> number(nodes_.size(), kLeftOut);
    std::map<std::uint32_t, std::uint32_t> frames;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      StackNode node = nodes_[i];
      if (i > 0 && (number[node.parent] == kLeftOut || node.ns < kLeastPart * ns())) continue;
      if (i > 0) {
        const auto [frame, is_new] = frames.try_emplace(node.frame, static_cast<std::uint32_t>(tree.frames.size()));
        if (is_new) tree.frames.push_back(*names_[node.frame]);
        node.frame = frame->second;
        node.parent = number[node.parent];
      }
      number[i] = static_cast<std::uint32_t>(tree.nodes.size());
      tree.nodes.push_back(node);
    }
    return tree;
  }

 private:
  std::uint32_t frame_of(const std::string& name) {
    const auto [found, is_new] = frames_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(&found->first);
    return found->second;
  }

  std::vector<StackNode> nodes_ = {StackNode{}};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
  std::map<std::string, std::uint32_t> frames_;
  std::vector<const std::string*> names_;
};

double running_ns(const ProcessAnswer& process) {
  double ns = 0;
  for (const RunningAnswer& one : process.running) ns += std::max(one.python_ns, one.code_ns);
  return ns;
}

std::vector<ProcessAnswer*> shown_processes(RunAnswer& run) {
  std::vector<ProcessAnswer*> shown;
  const auto add = [&shown](ProcessAnswer& process) {
    if (shown.size() < kMostProcesses && std::find(shown.begin(), shown.end(), &process) == shown.end())
      shown.push_back(&process);
  };
  for (const Finding& finding : run.findings)
    for (ProcessAnswer& process : run.processes)
      if (finding.rank ? process.kind == ProcessKind::kRank && process.rank == finding.rank
                       : finding.pid != 0 && process.pid == finding.pid)
        add(process);
  ProcessAnswer* busiest = nullptr;
  for (ProcessAnswer& process : run.processes)
    if (process.task == ProcessTask::kDataLoader && (busiest == nullptr || running_ns(process) > running_ns(*busiest)))
      busiest = &process;
  if (busiest != nullptr && shown.size() == kMostProcesses) shown.pop_back();
  if (busiest != nullptr) add(*busiest);
  for (const std::string& path : run.step_members)
    for (ProcessAnswer& process : run.processes)
      if (process.trace_path == path) add(process);
  for (ProcessAnswer& process : run.processes)
    if (shown.empty() || running_ns(process) > running_ns(*shown.front())) add(process);
  return shown;
}

// The main thread, and then who ran most.
std::vector<const ThreadAnswer*> shown_threads(const ProcessAnswer& process) {
  std::vector<std::pair<double, const ThreadAnswer*>> by_time;
  for (const ThreadAnswer& thread : process.threads) {
    const RunningAnswer* running = process.running_of(thread);
    const bool is_main = &thread == process.main_thread();
    if (thread.role == Role::kHostprobe || (running == nullptr && !is_main)) continue;
    const double ns = running == nullptr ? 0 : std::max(running->python_ns, running->code_ns);
    by_time.emplace_back(is_main ? -1e300 : -ns, &thread);
  }
  std::sort(by_time.begin(), by_time.end());
  std::vector<const ThreadAnswer*> threads;
  for (const auto& [ns, thread] : by_time)
    if (threads.size() < kMostThreads) threads.push_back(thread);
  return threads;
}

// From the first step's begin to the last one's end, where there are steps: imports before them are not what a reader asks about. Nothing:
// all of it.
std::optional<Window> steps_of(const ProcessAnswer& process) {
  const std::vector<Step>& steps = process.steps.steps;
  if (steps.empty()) return std::nullopt;
  return Window{steps.front().begin_ns, steps.back().end_ns};
}

// What of a stack's time lies there. What has no place in time may lie before.
double ns_in(const std::optional<Window>& steps, const ThreadStack& stack) {
  if (!steps) return stack.ns;
  if (stack.begin_ns == 0 && stack.end_ns == 0) return 0;
  if (stack.end_ns <= stack.begin_ns)
    return stack.end_ns >= steps->begin_ns && stack.end_ns <= steps->end_ns ? stack.ns : 0;
  return std::min(stack.end_ns, steps->end_ns) - std::max(stack.begin_ns, steps->begin_ns);
}

void add_trees(const Timeline& timeline, ProcessAnswer& process, Symbols& symbols) {
  const std::optional<Window> steps = steps_of(process);
  const auto samples = running_samples(timeline.trace());
  ThreadStacks stacks(timeline, symbols);
  for (const ThreadAnswer* thread : shown_threads(process)) {
    const ThreadKey key{thread->tid, thread->start_ticks};
    TreeBuilder running, waiting;
    const auto take = [&](const ThreadStack& stack) {
      if (const double ns = ns_in(steps, stack); ns > 0)
        (stack.state == ThreadState::kRunning ? running : waiting).add(stack.frames, ns);
    };
    if (const auto own = samples.find(key); own != samples.end()) stacks.take_samples(own->second, take);
    for (const Track& track : timeline.tracks())
      if (track.key() == key) stacks.take_waits(track, take);
    for (const TreeBuilder* tree : {&running, &waiting}) {
      if (tree->ns() <= 0) continue;
      process.stacks.push_back(tree->finish());
      process.stacks.back().tid = thread->tid;
      process.stacks.back().title = process.thread_title(key, thread->role);
      process.stacks.back().waiting = tree == &waiting;
      process.stacks.back().in_steps = steps.has_value();
    }
  }
}

// Of a process without steps nothing was kept. A file that cannot be read now could be, a moment ago.
void read_again(ProcessAnswer& process, Symbols& symbols) {
  try {
    const Trace trace = read_trace(process.trace_path);
    add_trees(Timeline(trace, symbols), process, symbols);
  } catch (const TraceError&) {
  } catch (const std::system_error&) {
  }
}

}  // namespace

void add_stack_trees(const std::vector<Opened>& opened, RunAnswer& run, Symbols& symbols) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  for (ProcessAnswer* process : shown_processes(run)) {
    const auto found = by_path.find(process->trace_path);
    if (found != by_path.end())
      add_trees(*found->second->timeline, *process, symbols);
    else
      read_again(*process, symbols);
  }
}

}  // namespace hostprobe::analysis
