// trials.cpp: see trials.h.
#include "trials.h"

#include <cstdio>

#include "columns.h"
#include "format/file.h"
#include "format/trial_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

std::string interval_text(const TrialAnswer& trial) {
  if (!trial.has_interval) return "too few windows";
  return fmt::format("{:.2f} to {:.2f} %", trial.gain_low_pct, trial.gain_high_pct);
}

std::string whose(const TrialAnswer& trial) {
  return trial.rank ? fmt::format("rank {}", *trial.rank) : fmt::format("pid {}", trial.pid);
}

}  // namespace

std::optional<TrialAnswer> trial_of(const ProcessAnswer& process, const ActionAnswer& event) {
  if (event.kind != kEventFix) return std::nullopt;
  char fix[32], verdict[16];
  TrialAnswer trial;
  const int got = std::sscanf(event.text.c_str(), kTrialScan, fix, verdict, &trial.windows_without, &trial.windows_with,
                              &trial.step_without_ms, &trial.step_with_ms, &trial.gain_pct, &trial.gain_low_pct,
                              &trial.gain_high_pct);
  if (got != 9) return std::nullopt;
  trial.rank = process.rank;
  trial.pid = process.pid;
  trial.at_s = event.at_s;
  trial.fix = fix;
  trial.verdict = verdict;
  trial.has_interval = trial.windows_without >= kTrialLeastPairs;
  return trial;
}

std::vector<TrialAnswer> trials_of(const RunAnswer& run) {
  std::vector<TrialAnswer> trials;
  for (const ProcessAnswer& process : run.processes)
    for (const ActionAnswer& event : process.actions)
      if (auto trial = trial_of(process, event)) trials.push_back(std::move(*trial));
  return trials;
}

Json trials_json(const RunAnswer& run) {
  Json json = Json::array();
  for (const TrialAnswer& trial : trials_of(run)) {
    const auto known = [&trial](double value) { return trial.has_interval ? Json(value) : Json(nullptr); };
    json.push_back({{"rank", or_null(trial.rank)},
                    {"pid", trial.pid},
                    {"at_s", trial.at_s},
                    {"fix", trial.fix},
                    {"decision", trial.verdict},
                    {"windows_without", trial.windows_without},
                    {"windows_with", trial.windows_with},
                    {"step_without_ms", trial.step_without_ms},
                    {"step_with_ms", trial.step_with_ms},
                    {"gain_pct", trial.gain_pct},
                    {"gain_low_pct", known(trial.gain_low_pct)},
                    {"gain_high_pct", known(trial.gain_high_pct)}});
  }
  return json;
}

std::string trial_table(const RunAnswer& run) {
  const std::vector<TrialAnswer> trials = trials_of(run);
  if (trials.empty()) return {};
  Lines out;
  out.line("");
  out.line("FIXES TRIED BY `auto` · windows of steps without and with each; gain: how much shorter a step is with it");
  out.line("{} {} {} {} {} {} {} {:>7}  {}", right("at", 8), left("decided by", 11), left("fix", 12),
           left("decision", 10), right("windows", 7), right("without", 8), right("with", 8), "gain", "95 % sure");
  for (const TrialAnswer& trial : trials)
    out.line("{} {} {} {} {} {} {} {:>6.2f}%  {}", right(fmt::format("{:.1f} s", trial.at_s), 8),
             left(whose(trial), 11), left(printable(trial.fix), 12), left(printable(trial.verdict), 10),
             right(fmt::format("{}+{}", trial.windows_without, trial.windows_with), 7),
             right(ms_text(trial.step_without_ms), 8), right(ms_text(trial.step_with_ms), 8), trial.gain_pct,
             interval_text(trial));
  return out.take();
}

}  // namespace hostprobe::analysis
