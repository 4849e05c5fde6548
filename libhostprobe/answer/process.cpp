// process.cpp: see process.h.
#include "process.h"

#include <algorithm>

namespace hostprobe::analysis {

const char* task_name(ProcessTask task) {
  static constexpr const char* kNames[] = {"unknown",     "dataloader",       "launcher", "compiler",
                                           "fork_server", "resource_tracker", "spawned"};
  return kNames[static_cast<std::size_t>(task)];
}

const char* task_words(ProcessTask task) {
  static constexpr const char* kWords[] = {"process",     "DataLoader worker", "launcher",       "compile worker",
                                           "fork server", "resource tracker",  "spawned process"};
  return kWords[static_cast<std::size_t>(task)];
}

std::optional<double> ImportAnswer::read_pct() const {
  if (!in_part || all_bytes == 0) return std::nullopt;
  return 100 * std::min(1.0, static_cast<double>(read_bytes) / static_cast<double>(all_bytes));
}

const char* end_name(EndState end) {
  switch (end) {
    case EndState::kEnded:
      return "exited";
    case EndState::kRunning:
      return "running";
    case EndState::kKilled:
      return "killed";
    case EndState::kUnseen:
    case EndState::kRecovered:
      return "recovered";
  }
  return "exited";
}

const char* kind_name(ProcessKind kind) {
  return kind == ProcessKind::kRank ? "rank" : kind == ProcessKind::kWorker ? "worker" : "other";
}

std::optional<double> ProcessAnswer::own_cpu_pct() const {
  if (!own_cost || !cpu_ms || *cpu_ms <= 0) return std::nullopt;
  return 100 * own_cost->total_ms() / *cpu_ms;
}

std::optional<double> ProcessAnswer::own_cost_pct() const {
  if (!own_cost || wall_ms <= 0) return std::nullopt;
  return wall_share(own_cost->total_ms());
}

const ThreadAnswer* ProcessAnswer::main_thread() const {
  for (const ThreadAnswer& thread : threads) {
    if (thread.tid == pid) return &thread;
  }
  return nullptr;
}

const ThreadAnswer* ProcessAnswer::thread(const ThreadKey& key) const {
  for (const ThreadAnswer& thread : threads) {
    if (thread.tid == key.tid && thread.start_ticks == key.start_ticks) return &thread;
  }
  return nullptr;
}

std::string ProcessAnswer::thread_title(const ThreadKey& key, Role role) const {
  const ThreadAnswer *one = thread(key), *main = main_thread();
  if (role != Role::kOther || one == nullptr) return role_name(role);
  // A thread that nobody named has the name of the one that made it.
  const bool is_named = !one->name.empty() && (main == nullptr || one->name != main->name);
  return is_named ? one->name : one->runs.empty() ? role_name(role) : one->runs;
}

const RunningAnswer* ProcessAnswer::running_of(const ThreadAnswer& thread) const {
  for (const RunningAnswer& one : running)
    if (one.thread == ThreadKey{thread.tid, thread.start_ticks}) return &one;
  return nullptr;
}

}  // namespace hostprobe::analysis
