// text.cpp: see text.h.
#include "text.h"

#include <fmt/format.h>

#include <algorithm>

#include "action_sentences.h"
#include "collective_table.h"
#include "first_screen.h"
#include "process_text.h"
#include "rank_table.h"
#include "report/columns.h"
#include "report/delay_chain_text.h"
#include "report/kernel_report.h"
#include "step_time_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShortProcesses = 12;
constexpr std::uint32_t kFewRanks = 2;  // a section for each

class TextReport : private Lines {
 public:
  TextReport(const RunAnswer& run, const ReportOptions& options) : run_(run), options_(options) {}

  std::string write() {
    add(first_screen(run_));
    add(step_time_text(run_, options_.all));
    const bool many = run_.ranks > kFewRanks && !options_.all;
    if (run_.ranks > 1) add(rank_table(run_, options_));
    const std::vector<const ProcessAnswer*> chosen = many ? chosen_ranks(run_, run_.findings) : all_leading();
    std::vector<const ProcessAnswer*> brief;
    for (const ProcessAnswer& process : run_.processes) {
      if (!options_.shows(process)) continue;
      const bool full =
          options_.all || options_.rank || std::find(chosen.begin(), chosen.end(), &process) != chosen.end();
      if (full)
        add(process_text(run_, process, detail(many)));
      else if (!many || process.kind != ProcessKind::kRank)
        brief.push_back(&process);
    }
    if (!brief.empty()) write_brief(brief);
    add(kernel_table(run_, options_));
    add(collective_table(run_, options_.all));
    add(delay_chain_text(run_));
    add(trial_table(run_));
    write_actions();
    return take();
  }

 private:
  Detail detail(bool many) const {
    if (options_.all) return Detail::kAll;
    return many && !options_.rank ? Detail::kLittle : Detail::kUsual;
  }

  std::vector<const ProcessAnswer*> all_leading() const {
    std::vector<const ProcessAnswer*> leading;
    for (const ProcessAnswer& process : run_.processes)
      if (run_.ranks > 0 ? process.kind == ProcessKind::kRank : process.kind != ProcessKind::kWorker)
        leading.push_back(&process);
    return leading;
  }

  void write_brief(const std::vector<const ProcessAnswer*>& processes) {
    line("");
    line("{} {:>7} {:>4} {:>7} {:>7} {:>8} {:>6} {:>6}  {}", left("Others (--all)", 14), "pid", "rank", "wall", "CPU",
         "records", "lost", "cost %", "heaviest wait");
    const std::size_t shown = std::min(processes.size(), kShortProcesses);
    for (std::size_t i = 0; i < shown; ++i) {
      const ProcessAnswer* process = processes[i];
      const std::string cost =
          process->own_cost ? fmt::format("{:.2f}", process->wall_share(process->own_cost->total_ms())) : "?";
      line("{} {:>7} {:>4} {} {} {:>8} {:>6} {:>6}  {}", left(what_is(*process), 14), process->pid,
           process->rank ? std::to_string(*process->rank) : "-", right(ms_text(process->wall_ms), 7),
           right(process->cpu_ms ? ms_text(*process->cpu_ms) : "?", 7), process->records, process->lost, cost,
           shortened(heaviest_wait_text(*process), 31));
    }
    if (shown < processes.size()) line("  … and {} more (--all)", processes.size() - shown);
  }

  static std::string what_is(const ProcessAnswer& process) {
    return process.task == ProcessTask::kUnknown ? kind_name(process.kind) : task_words(process.task);
  }

  void write_actions() {
    const std::vector<std::string> sentences = action_sentences(run_, options_.all);
    if (sentences.empty()) return;
    line("");
    line("WHAT HOSTPROBE DID");
    for (const std::string& sentence : sentences) add(wrapped(sentence, "  ", "    "));
  }

  const RunAnswer& run_;
  const ReportOptions& options_;
};

}  // namespace

std::string report_text(const RunAnswer& run, const ReportOptions& options) { return TextReport(run, options).write(); }

}  // namespace hostprobe::analysis
