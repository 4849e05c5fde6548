// coverage_text.cpp: see coverage_text.h.
#include "coverage_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "report/columns.h"
#include "report/verdict_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastShownPct = 0.05;

bool any_process(const RunAnswer& run, bool (*is)(const ProcessAnswer&)) {
  return std::any_of(run.processes.begin(), run.processes.end(), is);
}

// Whether it would have been seen.
bool was_looked_for(const RunAnswer& run, Cause cause) {
  switch (cause) {
    case Cause::kGcPause:
    case Cause::kGilContention:
    case Cause::kPythonOverhead:
      return any_process(run, [](const ProcessAnswer& one) { return one.gc.has_value(); });
    case Cause::kLaunchBound:
    case Cause::kSyncCalls:
    case Cause::kAllocStall:
    case Cause::kPageableCopy:
    case Cause::kJitCompile:
    case Cause::kSlowGpu:
      return run.uses_gpu();
    case Cause::kProxyDelay:
      return any_process(run, [](const ProcessAnswer& one) { return !one.progress.empty(); });
    case Cause::kCommBandwidth:
    case Cause::kPoorOverlap:
      return !run.collectives.empty();
    case Cause::kWaitsForRank:
      return run.ranks > 1;
    case Cause::kLowFrequency:
      return any_process(run, [](const ProcessAnswer& one) { return one.frequency.has_value(); });
    case Cause::kCpuContention:
    case Cause::kIdleStateExit:
      return any_process(run, [](const ProcessAnswer& one) {
        const ThreadAnswer* main = one.main_thread();
        return main != nullptr && main->time.run_delay_ms.has_value();
      });
    default:
      return least_share_pct(cause) > 0;
  }
}

struct NotFound {
  Cause cause;
  double pct = 0;
};

std::vector<NotFound> not_found(const RunAnswer& run) {
  std::set<std::string> found;
  for (const Finding& finding : run.findings) found.insert(cause_id(finding.cause));
  std::vector<NotFound> causes;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (reported_cause(cause) != cause || least_share_pct(cause) <= 0 || cause == Cause::kUnexplained) continue;
    const double pct = run.step_time ? run.step_time->share_pct(cause) : 0;
    // What takes as much as a finding, and is none, would gain nothing: it is there all the same.
    if (pct < least_share_pct(cause) && found.count(cause_id(cause)) == 0 && was_looked_for(run, cause))
      causes.push_back({cause, pct});
  }
  std::stable_sort(causes.begin(), causes.end(), [](const NotFound& l, const NotFound& r) { return l.pct > r.pct; });
  return causes;
}

// "GPU memory" and "NCCL progress" keep their capitals.
std::string in_a_list(std::string title) {
  if (title.size() > 1 && std::islower(static_cast<unsigned char>(title[1])) != 0 && !title.starts_with("Python"))
    title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
  return title;
}

// Of the ranks that there must have been, by their numbers, by their communicators, and by what launchers and profiles say.
std::string seen_text(const RunAnswer& run) {
  constexpr std::uint32_t kMostRanks = 1u << 20;  // a file may say anything
  const auto profiles = std::count_if(run.processes.begin(), run.processes.end(),
                                      [&run](const ProcessAnswer& one) { return run.traced(one) != nullptr; });
  if (run.ranks == 0) return plural(run.processes.size() - static_cast<std::size_t>(profiles), "process", "processes");
  std::uint32_t expected = std::max(run.ranks, run.world <= kMostRanks ? run.world : 0);
  for (const ProcessAnswer& process : run.processes)
    if (process.kind == ProcessKind::kRank) {
      expected = std::max(expected, static_cast<std::uint32_t>(process.rank.value_or(0)) + 1);
      if (process.mode == "profile" && process.world_size <= kMostRanks)
        expected = std::max(expected, process.world_size);
    }
  for (const CollectiveAnswer& collective : run.collectives) expected = std::max(expected, collective.ranks);
  return fmt::format("{} of {}", run.ranks, plural(expected, "rank", "ranks"));
}

std::string steps_text(const RunAnswer& run) {
  if (!run.step_time || run.step_time->length_ns <= 0)
    return std::string("steps not explained: ") + unknown_steps_text(run);
  const double unknown_pct = run.step_time->share_pct(Cause::kUnexplained) + run.step_time->share_pct(Cause::kUnknown);
  if (run.steps.lengths.count == 0) return fmt::format("{:.0f} % of the run explained", 100 - unknown_pct);
  return fmt::format("{:.0f} % of {} {} explained", 100 - unknown_pct, grouped(run.step_time->steps),
                     run.step_time->steps == 1 ? "step" : "steps");
}

std::string gpu_text(const RunAnswer& run) {
  if (!run.uses_gpu()) return "no GPU";
  const ProcessAnswer* known = nullptr;
  for (const ProcessAnswer& process : run.processes)
    if (process.gpu.source != ActivitySource::kNone && known == nullptr) known = &process;
  if (known == nullptr) return "GPU times not known";
  switch (known->gpu.source) {
    case ActivitySource::kEvents:
      return fmt::format("GPU by own timing events, ± {:.1f} %", known->gpu.idle_error_pct);
    case ActivitySource::kBounds:
      return "GPU by bounds only";
    case ActivitySource::kProfile:
      return "GPU by a profile";
    default:
      return "GPU known";
  }
}

std::string lost_text(const RunAnswer& run) {
  std::uint64_t lost = 0, records = 0;
  for (const ProcessAnswer& process : run.processes) lost += process.lost, records += process.records;
  if (lost == 0) return "0 lost";
  return fmt::format("{} of {} records lost", grouped(lost), grouped(lost + records));
}

// Of the rank where it is highest.
std::string cost_text(const RunAnswer& run) {
  std::optional<double> of_steps, of_life;
  for (const ProcessAnswer& process : run.processes) {
    if (process.own_cost && process.own_cost->steps_pct)
      of_steps = std::max(of_steps.value_or(0), *process.own_cost->steps_pct);
    if (process.kind != ProcessKind::kWorker && process.own_cost_pct())
      of_life = std::max(of_life.value_or(0), *process.own_cost_pct());
  }
  if (of_steps) return fmt::format("own cost {:.1f} %", *of_steps);
  return of_life ? fmt::format("own cost {:.1f} % of the run", *of_life) : "own cost not known";
}

}  // namespace

std::string not_found_text(const RunAnswer& run, std::size_t width) {
  const std::vector<NotFound> causes = not_found(run);
  if (causes.empty() || run.processes.empty()) return {};
  std::string line = "Looked for, not found: ";
  const std::size_t room = width - std::string_view(" and 12 more").size();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    std::string one = in_a_list(cause_title(causes[i].cause));
    if (causes[i].pct >= kLeastShownPct) one += fmt::format(" {:.1f} %", causes[i].pct);
    const bool fits = columns(line) + columns(one) + 2 <= (i + 1 == causes.size() ? width : room);
    if (!fits && i == 0) return line + plural(causes.size(), "cause", "causes");
    if (!fits) return line + fmt::format(" and {} more", causes.size() - i);
    line += (i == 0 ? "" : ", ") + one;
  }
  return line;
}

std::string coverage_text(const RunAnswer& run) {
  if (run.processes.empty()) return {};
  return fmt::format("Seen: {}, {}, {}, {}, {}", seen_text(run), steps_text(run), gpu_text(run), lost_text(run),
                     cost_text(run));
}

}  // namespace hostprobe::analysis
