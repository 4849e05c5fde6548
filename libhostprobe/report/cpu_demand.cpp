// cpu_demand.cpp: see cpu_demand.h.
#include "cpu_demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostGroups = 4;
constexpr double kLeastCpus = 0.05;   // that a group of threads wants, to be named
constexpr double kLeastShare = 0.15;  // of what is wanted, for a setting of that group to be worth trying

struct Group {
  std::string name;
  std::size_t threads = 0;
  double cpus = 0;  // that it ran on or was ready to run on, at a time
};

struct Demand {
  std::uint64_t cpus = 0;
  double wanted = 0;
  std::vector<Group> groups;  // that which wants most first

  double part_of(const char* name) const {
    for (const Group& group : groups)
      if (group.name == name) return wanted > 0 ? group.cpus / wanted : 0;
    return 0;
  }
};

constexpr const char* kLoaders = "DataLoader workers";
constexpr const char* kOpenmp = "OpenMP threads";

std::string group_of(const ProcessAnswer& process, const ThreadAnswer& thread) {
  if (process.task == ProcessTask::kDataLoader) return kLoaders;
  switch (thread.role) {
    case Role::kMain:
      return process.kind == ProcessKind::kRank ? "main threads of ranks" : "main threads of other processes";
    case Role::kOpenmp:
      return kOpenmp;
    case Role::kAutograd:
      return "autograd threads";
    case Role::kDataloader:
      return "loader threads";
    case Role::kHostprobe:
      return "hostprobe's own";
    case Role::kOther:
      return printable(process.thread_title({thread.tid, thread.start_ticks}, thread.role)) + " threads";
    default:
      return std::string(role_name(thread.role)) + " threads";
  }
}

std::string host_of(const RunAnswer& run, const Finding& finding) {
  for (const ProcessAnswer& process : run.processes)
    if (finding.rank && process.rank == finding.rank) return process.host;
  return run.hosts.size() == 1 ? run.hosts.front() : "";
}

Demand demand_on(const RunAnswer& run, const std::string& host) {
  Demand demand;
  std::map<std::string, Group> groups;
  for (const ProcessAnswer& process : run.processes) {
    if (process.host != host) continue;
    demand.cpus = std::max(demand.cpus, process.cpus);
    for (const ThreadAnswer& thread : process.threads) {
      const double ms = thread.time.cpu_ms.value_or(0) + thread.time.run_delay_ms.value_or(0);
      if (ms <= 0 || run.wall_s <= 0) continue;
      Group& group = groups[group_of(process, thread)];
      group.threads += std::max<std::size_t>(thread.merged, 1);
      group.cpus += 1e-3 * ms / run.wall_s;
      demand.wanted += 1e-3 * ms / run.wall_s;
    }
  }
  for (auto& [name, group] : groups) {
    group.name = name;
    demand.groups.push_back(group);
  }
  std::stable_sort(demand.groups.begin(), demand.groups.end(),
                   [](const Group& l, const Group& r) { return l.cpus > r.cpus; });
  return demand;
}

std::string groups_text(const Demand& demand) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostGroups, demand.groups.size()); ++i)
    if (const Group& group = demand.groups[i]; group.cpus >= kLeastCpus)
      text += fmt::format("{}{} {:.1f} ({})", text.empty() ? "" : ", ", group.name, group.cpus, group.threads);
  return text;
}

std::string todo_text(const Demand& demand) {
  std::string fewer;
  const auto add = [&fewer](const char* setting) { fewer += (fewer.empty() ? "" : ", ") + std::string(setting); };
  if (demand.part_of(kOpenmp) >= kLeastShare) add("OMP_NUM_THREADS=1");
  if (demand.part_of(kLoaders) >= kLeastShare) add("a smaller num_workers");
  return fewer.empty() ? "start fewer threads, or give the job more CPUs"
                       : fmt::format("start fewer threads ({}), or give the job more CPUs", fewer);
}

}  // namespace

std::string pool_place_text(const RunAnswer& run, const Finding& finding) {
  constexpr std::uint64_t kFewest = 5;  // samples
  const auto* pool = finding.evidence.find<PoolEvidence>();
  if (pool == nullptr || finding.evidence.find<MaskEvidence>() != nullptr) return {};
  const RunningRow* most = nullptr;
  double all_ns = 0;
  for (const ProcessAnswer& process : run.processes) {
    if (finding.rank ? process.rank != finding.rank : finding.pid != process.pid) continue;
    const ThreadAnswer* main = process.main_thread();
    const RunningAnswer* running = main == nullptr ? nullptr : process.running_of(*main);
    if (running == nullptr) continue;
    for (const RunningRow& row : running->python) {
      all_ns += row.step_ns;
      if (!row.file.empty() && (most == nullptr || row.step_ns > most->step_ns)) most = &row;
    }
  }
  if (most == nullptr || most->samples < kFewest || most->step_ns < all_ns / 2) return {};
  return fmt::format("{} ({}:{})", printable(most->function), printable(most->file), most->line);
}

std::string cpu_use_text(const RunAnswer& run) {
  std::size_t threads = 0;
  std::uint64_t cpus = 0;
  double used_ms = 0, wanted_ms = 0;
  const QuotaAnswer* quota = nullptr;
  for (const ProcessAnswer& process : run.processes) {
    cpus = std::max(cpus, process.cpus);
    if (process.quota) quota = &*process.quota;
    for (const ThreadAnswer& thread : process.threads) {
      if (thread.role == Role::kHostprobe) continue;
      threads += std::max<std::size_t>(thread.merged, 1);
      used_ms += thread.time.cpu_ms.value_or(0);
      wanted_ms += thread.time.cpu_ms.value_or(0) + thread.time.run_delay_ms.value_or(0);
    }
  }
  if (cpus == 0 || threads == 0 || run.wall_s <= 0 || run.hosts.size() > 1) return {};
  std::string text =
      fmt::format("CPUs: {} {:.1f} of {} and {} work for {:.1f}",
                  threads == 1 ? "1 thread uses" : fmt::format("{} threads use", threads), 1e-3 * used_ms / run.wall_s,
                  cpus, threads == 1 ? "has" : "have", 1e-3 * wanted_ms / run.wall_s);
  if (quota != nullptr && quota->cpus > 0) text += fmt::format("; their quota is {:g}", quota->cpus);
  return text;
}

Advice cpu_demand_advice(const RunAnswer& run, const Finding& finding) {
  const std::string host = host_of(run, finding);
  if (host.empty()) return {};
  const Demand demand = demand_on(run, host);
  if (demand.cpus == 0 || demand.groups.empty()) return {};
  if (demand.wanted <= static_cast<double>(demand.cpus))
    return {fmt::format("the job has work for {:.1f} of its {} CPUs on average, so they are short only at times: {}",
                        demand.wanted, demand.cpus, groups_text(demand)),
            "look at what else runs on these CPUs (hostprobe sched), and at which threads run at the same time"};
  return {fmt::format("the job has work for {:.1f} CPUs and may use {}: {}", demand.wanted, demand.cpus,
                      groups_text(demand)),
          todo_text(demand)};
}

}  // namespace hostprobe::analysis
