// mask_supply.cpp: see mask_supply.h.
#include "mask_supply.h"

#include <algorithm>
#include <optional>
#include <string>

#include "analysis/measures/process_task.h"
#include "answer/telling_frames.h"
#include "supply.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastIdle = 0.2;   // CPUs of the machine, on average, where that is known
constexpr double kLeastFree = 0.5;   // CPUs that the job leaves free
constexpr double kLeastDelay = 0.1;  // of what the narrowed threads want: so much they did not get

bool is_on_host_of(const ProcessAnswer& one, const ProcessAnswer& process) {
  return one.host == process.host && one.boot_id == process.boot_id;
}

// That some thread of the job may use there, or might when it began; or that the machine has, where the others are known to be idle.
std::uint64_t widest(const RunAnswer& run, const ProcessAnswer& process) {
  std::uint64_t cpus = 0;
  for (const ProcessAnswer& one : run.processes) {
    if (!is_on_host_of(one, process)) continue;
    cpus = std::max(cpus, one.cpus);
    if (one.idle_cpus && *one.idle_cpus >= kLeastIdle) cpus = std::max(cpus, one.machine_cpus);
    for (const ThreadAnswer& thread : one.threads) cpus = std::max(cpus, thread.cpus);
  }
  return cpus;
}

// hostprobe's own fix gives threads CPUs of their own.
bool has_pins(const ProcessAnswer& process) {
  return std::any_of(process.actions.begin(), process.actions.end(), [](const ActionAnswer& action) {
    return action.kind == ActionKind::kFix && action.text.starts_with("pin");
  });
}

// Its main thread may use fewer, and does not get those. 0: no.
std::uint64_t narrow_cpus(const ProcessAnswer& process, std::uint64_t all) {
  const ThreadAnswer* main = process.main_thread();
  if (main == nullptr || has_pins(process)) return 0;
  const std::uint64_t cpus = main->cpus != 0 ? main->cpus : process.cpus;
  const double delay_ms = main->time.run_delay_ms.value_or(0);
  const double wanted_ms = delay_ms + main->time.cpu_ms.value_or(0);
  return cpus != 0 && cpus < all && delay_ms >= kLeastDelay * wanted_ms ? cpus : 0;
}

const MaskAnswer* own_setter(const ProcessAnswer& process, std::uint64_t cpus) {
  const MaskAnswer* setter = nullptr;
  for (const MaskAnswer& mask : process.masks)
    if (mask.cpus.value_or(cpus) == cpus) setter = &mask;
  return setter;
}

const ProcessAnswer* parent_of(const RunAnswer& run, const ProcessAnswer& process) {
  for (const ProcessAnswer& one : run.processes)
    if (one.pid == process.parent_pid && &one != &process && is_on_host_of(one, process)) return &one;
  return nullptr;
}

// Of the process, or of the one nearest above it, that made such a call: children inherit masks.
const MaskAnswer* setter_of(const RunAnswer& run, const ProcessAnswer& process, std::uint64_t cpus) {
  constexpr int kMostLevels = 8;
  const ProcessAnswer* one = &process;
  for (int level = 0; one != nullptr && level < kMostLevels; ++level, one = parent_of(run, *one))
    if (const MaskAnswer* setter = own_setter(*one, cpus)) return setter;
  return nullptr;
}

// "CPUs 0, 2" as far as the first 64 say it; "" where there are others or too many to be read.
std::string list_of(const MaskAnswer& mask) {
  constexpr unsigned kMost = 8;
  std::string list;
  unsigned named = 0;
  for (unsigned cpu = 0; cpu < 64; ++cpu)
    if ((mask.mask >> cpu & 1) != 0 && ++named <= kMost) list += (list.empty() ? "" : ", ") + std::to_string(cpu);
  if (named == 0 || named > kMost || named != mask.cpus.value_or(0)) return {};
  return (named == 1 ? "CPU " : "CPUs ") + list;
}

std::string caller_of(const MaskAnswer& mask) {
  return mask.function.empty() ? mask.library : mask.function + " (" + mask.library + ")";
}

MaskEvidence evidence_of(const RunAnswer& run, const ProcessAnswer& narrow, std::uint64_t cpus, std::uint64_t all) {
  MaskEvidence evidence{.mask_cpus = cpus, .mask_all_cpus = all};
  const MaskAnswer* setter = setter_of(run, narrow, cpus);
  if (setter == nullptr) return evidence;
  evidence.mask_set_by = caller_of(*setter);
  if (!setter->stack.empty()) evidence.mask_set_from = program_frame(setter->stack);
  if (evidence.mask_set_from == evidence.mask_set_by) evidence.mask_set_from.clear();
  evidence.mask_set_at_ms = setter->at_ms;
  evidence.mask_list = list_of(*setter);
  return evidence;
}

// The process itself, where it makes the finding; else the workers of its loader.
std::optional<MaskEvidence> narrowed(const Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  const std::uint64_t all = widest(run, process);
  if (finding.cause == Cause::kCpuContention)
    if (const std::uint64_t cpus = narrow_cpus(process, all); cpus != 0) return evidence_of(run, process, cpus, all);
  std::optional<MaskEvidence> evidence;
  std::uint64_t workers = 0;
  for (const ProcessAnswer& worker : run.processes) {
    if (!loads_for(worker, process)) continue;
    const std::uint64_t cpus = narrow_cpus(worker, all);
    if (cpus == 0) continue;
    ++workers;
    if (!evidence) evidence = evidence_of(run, worker, cpus, all);
  }
  if (evidence) evidence->mask_workers = workers;
  return evidence;
}

}  // namespace

void add_masks(Finding& finding, const RunAnswer& run, const ProcessAnswer& process) {
  if (finding.cause != Cause::kCpuContention && finding.cause != Cause::kDataloaderWait) return;
  if (finding.evidence.find<MaskEvidence>() != nullptr) {
    finding.fix = Fix::kWidenMask;
    return;
  }
  const std::optional<Cpus> cpus = cpus_of(run, process);
  std::optional<MaskEvidence> evidence = cpus ? narrowed(finding, run, process) : std::nullopt;
  if (!evidence || cpus->used > static_cast<double>(evidence->mask_all_cpus) - kLeastFree) return;
  if (process.idle_cpus && *process.idle_cpus < kLeastIdle) return;
  evidence->mask_cpus_used = cpus->used;
  evidence->mask_idle_cpus = process.idle_cpus;
  finding.fix = Fix::kWidenMask;
  finding.evidence.add(std::move(*evidence));
}

}  // namespace hostprobe::analysis
