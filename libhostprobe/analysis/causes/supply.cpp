// supply.cpp: see supply.h.
#include "supply.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "analysis/measures/process_task.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastOthers = 0.1;
constexpr double kFull = 0.8;  // of its CPUs in use: the rest is lost to moving threads between them

double run_delay_ms(const ProcessAnswer& process) {
  double ms = 0;
  for (const ThreadAnswer& thread : process.threads) ms += thread.time.run_delay_ms.value_or(0);
  return ms;
}

// Threads of one kind have one name, but for a number at its end.
std::string kind_of(const ThreadAnswer& thread) {
  std::string name = thread.name;
  while (!name.empty() && (std::isdigit(static_cast<unsigned char>(name.back())) != 0 || name.back() == ' ' ||
                           name.back() == '-' || name.back() == '_'))
    name.pop_back();
  return name;
}

// Of the threads beside the main ones, on the process's host: those of one kind that ran longest.
std::pair<std::string, double> busiest_kind(const RunAnswer& run, const ProcessAnswer& process) {
  std::map<std::string, double> cpus;
  for (const ProcessAnswer& other : run.processes) {
    if (other.host != process.host || other.boot_id != process.boot_id) continue;
    for (const ThreadAnswer& thread : other.threads)
      if (thread.tid != other.pid && thread.role != Role::kHostprobe)
        cpus[kind_of(thread)] += thread.time.cpu_ms.value_or(0) / process.wall_ms;
  }
  const auto most =
      std::max_element(cpus.begin(), cpus.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
  if (most == cpus.end()) return {};
  return {most->first, most->second};
}

}  // namespace

bool Workers::are_busy() const { return count > 0 && cpu_pct + no_cpu_pct >= kBusyPct; }

Workers workers_of(const RunAnswer& run, const ProcessAnswer& process) {
  Workers workers;
  double wall_ms = 0, cpu_ms = 0, delay_ms = 0, heaviest_ms = 0;
  for (const ProcessAnswer& worker : run.processes) {
    if (!loads_for(worker, process)) continue;
    ++workers.count;
    wall_ms += worker.wall_ms;
    cpu_ms += worker.cpu_ms.value_or(0);
    delay_ms += run_delay_ms(worker);
    for (const WaitSite& site : worker.waits) {
      if (site.role != Role::kDataloader || site.own_ms <= heaviest_ms) continue;
      heaviest_ms = site.own_ms;
      workers.wait = site.python.empty() ? site.function : site.python.front().text;
    }
  }
  if (wall_ms > 0) {
    workers.cpu_pct = 100 * cpu_ms / wall_ms;
    workers.no_cpu_pct = 100 * delay_ms / wall_ms;
  }
  return workers;
}

bool Cpus::are_too_few() const {
  const auto there = static_cast<double>(allowed);
  return wanted > there && used >= kFull * there;
}

bool Cpus::are_taken() const {
  return used < kFull * static_cast<double>(allowed) && others >= kLeastOthers * static_cast<double>(allowed);
}

std::optional<Cpus> cpus_of(const RunAnswer& run, const ProcessAnswer& process) {
  if (process.cpus == 0 || process.wall_ms <= 0) return std::nullopt;
  Cpus cpus;
  cpus.allowed = process.cpus;
  for (const ProcessAnswer& other : run.processes) {
    if (other.host != process.host || other.boot_id != process.boot_id || other.wall_ms <= 0) continue;
    // Of those that lived longer, the same part.
    const double part = std::min(1.0, process.wall_ms / other.wall_ms);
    cpus.used += part * other.cpu_ms.value_or(0) / process.wall_ms;
    cpus.wanted += part * (other.cpu_ms.value_or(0) + run_delay_ms(other)) / process.wall_ms;
  }
  if (process.idle_cpus && process.cpus == process.machine_cpus)
    cpus.others = static_cast<double>(cpus.allowed) - *process.idle_cpus - cpus.used;
  // Processes that did not all live at the same time may seem to use more than there is.
  cpus.used = std::min(cpus.used, static_cast<double>(cpus.allowed));
  return cpus;
}

namespace {

NoCpuEvidence no_cpu_evidence(const RunAnswer& run, const ProcessAnswer& process) {
  constexpr double kLeastBusiest = 0.25;  // CPUs
  NoCpuEvidence evidence;
  if (const ThreadAnswer* main = process.main_thread()) {
    evidence.run_delay_ms = main->time.run_delay_ms.value_or(0);
    evidence.preempted_ms = main->time.preempted_ms;
    evidence.run_queue_ms = main->time.run_queue_ms;
  }
  const std::optional<Cpus> cpus = cpus_of(run, process);
  if (!cpus) return evidence;
  evidence.cpus = cpus->allowed;
  evidence.cpus_used = cpus->used;
  evidence.cpus_wanted = cpus->wanted;
  if (cpus->are_taken()) evidence.taken_by = "others";
  if (!cpus->are_too_few()) return evidence;
  evidence.taken_by = "job";
  const auto [kind, busy] = busiest_kind(run, process);
  if (busy < kLeastBusiest) return evidence;
  evidence.busiest = kind;
  evidence.busiest_cpus = busy;
  return evidence;
}

}  // namespace

void add_supply(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  NoCpuEvidence evidence = no_cpu_evidence(run, process);
  if (evidence.taken_by == "job") finding.fix = Fix::kMoreCpus;
  finding.evidence.add(std::move(evidence));
}

}  // namespace hostprobe::analysis
