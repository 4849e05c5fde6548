// machine_report.cpp: see machine_report.h.
#include "machine_report.h"

#include <fmt/format.h>

#include "columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

double since_start_s(const ProcessAnswer& process, double ns) { return 1e-9 * (ns - process.start_since_first_ns); }

Json drop_json(const ProcessAnswer& process, const FrequencyDrop& drop) {
  return {{"from_s", since_start_s(process, drop.begin_ns)},
          {"to_s", since_start_s(process, drop.end_ns)},
          {"ghz", drop.ghz},
          {"usual_ghz", drop.usual_ghz},
          {"tid", drop.tid}};
}

Json frequency_json(const ProcessAnswer& process) {
  if (!process.frequency) return nullptr;
  const FrequencyAnswer& frequency = *process.frequency;
  Json cpus = Json::array();
  for (const CpuFrequency& one : frequency.cpus)
    cpus.push_back({{"cpu", one.cpu}, {"samples", one.samples}, {"median_ghz", one.median_ghz}, {"slow", one.is_slow}});
  Json json = {{"samples", frequency.samples}, {"dropped", frequency.dropped},  {"median_ghz", frequency.median_ghz},
               {"p5_ghz", frequency.low_ghz},  {"p95_ghz", frequency.high_ghz}, {"cpus", cpus}};
  if (frequency.drop) json["drop"] = drop_json(process, *frequency.drop);
  return json;
}

Json counts_json(const MachineCounts& counts) {
  Json json = Json::object();
  Json pressure = Json::object();
  for (std::size_t i = 0; i < kMachineCounts; ++i) {
    const auto count = static_cast<MachineCount>(i);
    (is_pressure(count) ? pressure : json)[machine_count_name(count)] = or_null(counts[i]);
  }
  json["pressure"] = pressure;
  return json;
}

Json machine_json(const ProcessAnswer& process) {
  if (!process.machine) return nullptr;
  Json json = counts_json(process.machine->all);
  json["ms"] = process.machine->ms;
  json["steps"] = process.machine->steps;
  json["per_step"] = process.machine->steps == 0 ? Json(nullptr) : counts_json(process.machine->per_step);
  return json;
}

Json quota_json(const QuotaAnswer& quota) {
  return {{"cpus", quota.cpus > 0 ? Json(quota.cpus) : Json(nullptr)},
          {"periods", quota.periods},
          {"throttled_ms", 1e-6 * quota.throttled_ns},
          {"group", quota.group}};
}

std::string frequency_line(const FrequencyAnswer& frequency) {
  std::string line = fmt::format("CPU frequency {:.2f} GHz ({:.2f} to {:.2f}) on {}", frequency.median_ghz,
                                 frequency.low_ghz, frequency.high_ghz, plural(frequency.cpus.size(), "CPU", "CPUs"));
  for (const CpuFrequency& one : frequency.cpus)
    if (one.is_slow)
      line += fmt::format(" · CPU {} ran at {:.2f} GHz, slower than the others", one.cpu, one.median_ghz);
  return line;
}

// What took time from everybody, from a hundredth on.
std::string machine_line(const MachineAnswer& machine) {
  constexpr double kLeastPart = 0.01;
  struct Told {
    MachineCount count;
    const char* words;
  };
  constexpr Told kTold[] = {{MachineCount::kStealMs, "stolen by other virtual machines"},
                            {MachineCount::kHardIrqMs, "in interrupts"},
                            {MachineCount::kSoftIrqMs, "in soft interrupts"},
                            {MachineCount::kMemorySomeMs, "with a task that waits for memory"},
                            {MachineCount::kIoSomeMs, "with a task that waits for a disk"}};
  std::string line;
  for (const Told& one : kTold) {
    const std::optional<double>& ms = machine.all[static_cast<std::size_t>(one.count)];
    if (!ms || *ms < kLeastPart * machine.ms) continue;
    line += fmt::format("{}{} {}", line.empty() ? "" : " · ", ms_text(*ms), one.words);
  }
  return line.empty() ? line : fmt::format("The machine, of {}: {}", ms_text(machine.ms), line);
}

}  // namespace

void add_machine_json(const ProcessAnswer& process, Json& json) {
  json["frequency"] = frequency_json(process);
  json["machine"] = machine_json(process);
  json["cpus"] = process.cpus == 0 ? Json(nullptr) : Json(process.cpus);
  if (process.quota) json["quota"] = quota_json(*process.quota);  // absent where none was used up
}

std::vector<std::string> machine_lines(const ProcessAnswer& process) {
  std::vector<std::string> lines;
  if (process.frequency) lines.push_back(frequency_line(*process.frequency));
  if (process.frequency && process.frequency->drop) {
    const FrequencyDrop& drop = *process.frequency->drop;
    lines.push_back(
        fmt::format("From {:.1f} to {:.1f} s the CPUs of thread {} ran at {:.2f} GHz, {:.2f} before or afterwards",
                    since_start_s(process, drop.begin_ns), since_start_s(process, drop.end_ns), drop.tid, drop.ghz,
                    drop.usual_ghz));
  }
  if (!process.machine) return lines;
  if (std::string line = machine_line(*process.machine); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace hostprobe::analysis
