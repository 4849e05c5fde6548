// text.cpp: see text.h.
#include "text.h"

#include <fmt/format.h>

#include <algorithm>

#include "action_sentences.h"
#include "answer/run.h"
#include "process_text.h"
#include "rank_table.h"
#include "report/columns.h"
#include "report/delay_chain_text.h"
#include "report/finding_text.h"
#include "report/kernel_report.h"
#include "report/losses.h"
#include "report/stuck_text.h"
#include "report/trials.h"
#include "step_time_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShortCollectives = 6;
constexpr std::size_t kShortProcesses = 12;
constexpr std::uint32_t kFewRanks = 2;  // a section for each

class TextReport : private Lines {
 public:
  TextReport(const RunAnswer& run, const ReportOptions& options) : run_(run), options_(options) {}

  std::string write() {
    write_head();
    write_losses();
    write_stuck();
    write_headline();
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
    write_collectives();
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

  void write_head() {
    std::size_t workers = 0, others = 0;
    for (const ProcessAnswer& process : run_.processes) {
      workers += process.kind == ProcessKind::kWorker;
      others += process.kind == ProcessKind::kOther;
    }
    std::string what;
    const auto append = [&what](const std::string& part) { what += (what.empty() ? "" : ", ") + part; };
    if (run_.ranks > 0) append(plural(run_.ranks, "rank", "ranks"));
    if (others > 0)
      append(run_.ranks > 0 ? plural(others, "other process", "other processes")
                            : plural(others, "process", "processes"));
    if (workers > 0) append(plural(workers, "worker", "workers"));
    if (what.empty()) what = run_.kernel.files.empty() ? "no process that could be read" : "no process of a job";
    line("hostprobe report {}", printable(run_.path));
    // A profile need not name its host.
    const std::string where = run_.hosts.empty() ? "" : " on " + plural(run_.hosts.size(), "host", "hosts");
    line("{}{} · {:.2f} s · started {} · mode {}", what, where, run_.wall_s,
         run_.started().empty() ? "?" : run_.started(), run_.mode.empty() ? "?" : printable(run_.mode));
    if (run_.jobs.size() > 1)
      line("job {} of {} in this folder{} · another one: --job 1..{}", run_.job, run_.jobs.size(),
           run_.job == run_.jobs.size() ? ", the newest" : "", run_.jobs.size());
    if (run_.hosts.size() > 1)
      line("clocks of the hosts {}", run_.clock_error_us
                                         ? fmt::format("aligned to ± {}", duration_text(1e3 * *run_.clock_error_us))
                                         : "cannot be aligned: they share too few collectives");
    write_steps();
  }

  void write_steps() {
    const auto lengths = [](const StepLengths& all) {
      return fmt::format("median {}, p99 {}, max {}", duration_text(all.median_ns), duration_text(all.p99_ns),
                         duration_text(all.max_ns));
    };
    if (run_.one_step) return write_one_step(*run_.one_step);
    if (run_.steps.lengths.count == 0) return;
    StepLengths all = run_.steps.lengths;
    all.median_ns = run_.steps.usual_ns();
    line("{} steps{} · {}", grouped(all.count), step_origin(run_.steps), lengths(all));
    if (run_.start_up_ms) line("start-up {} until the first of them", ms_text(*run_.start_up_ms));
    if (run_.steps.types.size() < 2) return;
    for (const StepTypeAnswer& type : run_.steps.types)
      line("  {} {:>9} · {}", left(type.name, 12), grouped(type.lengths.count), lengths(type.lengths));
  }

  static const char* step_origin(const StepAnswer& steps) {
    if (steps.source == StepSource::kDetected) return ", as calls repeat";
    return steps.by_optimizer ? ", of torch's optimizer" : "";
  }

  void write_one_step(const OneStep& step) {
    std::string where;
    for (const ProcessAnswer& process : run_.processes)
      if (process.trace_path == step.trace_path && process.kind == ProcessKind::kRank && run_.ranks > 1)
        where = fmt::format(" on rank {}", process.rank.value_or(0));
    line("step {} · {} · {}{}", step.number, step.type, ms_text(step.ms), where);
  }

  void write_losses() {
    const std::vector<std::string> sentences = loss_sentences(run_);
    if (sentences.empty()) return;
    line("");
    line("LOST OR DAMAGED");
    for (const std::string& sentence : sentences) add(wrapped(sentence, "  ! ", "    "));
  }

  void write_stuck() {
    if (run_.stuck.empty()) return;
    line("");
    line("STUCK");
    for (const StuckCollective& stuck : run_.stuck) add(wrapped(stuck_text(stuck), "  ! ", "    "));
  }

  void write_headline() {
    line("");
    line("WHAT TO DO NOW");
    int number = 0;
    for (const std::string& sentence : headline(run_)) add(wrapped(sentence, fmt::format("  {}. ", ++number), "     "));
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

  // A rank that is nearly always last is what the others wait for; but somebody always is.
  static std::string last_text(const CollectiveAnswer& collective) {
    if (!collective.last_beyond_chance) return "";
    return fmt::format("rank {} in {:.0f} %", *collective.last_rank, collective.last_share_pct);
  }

  void write_collectives() {
    if (run_.collectives.empty()) return;
    line("");
    line("COLLECTIVES · all ranks together; skew is from the first rank's arrival to the last one's");
    line("{} {} {:>5} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8}  {}", left("operation", 13), left("communicator", 12),
         "ranks", "count", "bytes", "host p50", "host p99", "skew p50", "skew p99", "most often last");
    const std::size_t shown =
        options_.all ? run_.collectives.size() : std::min(run_.collectives.size(), kShortCollectives);
    for (std::size_t i = 0; i < shown; ++i) {
      const CollectiveAnswer& one = run_.collectives[i];
      const bool skew = one.skew.count() > 0;
      line("{} {} {:>5} {:>7} {:>9} {} {} {} {}  {}", left(one.operation, 13),
           left(one.communicator.empty() ? "?" : one.communicator.substr(0, 8), 12), one.ranks, compact(one.count),
           bytes_text(one.bytes), right(duration_text(one.host.percentile_ns(50)), 8),
           right(duration_text(one.host.percentile_ns(99)), 8),
           right(skew ? duration_text(one.skew.percentile_ns(50)) : "-", 8),
           right(skew ? duration_text(one.skew.percentile_ns(99)) : "-", 8), last_text(one));
    }
    if (shown < run_.collectives.size()) line("  … and {} more (--all)", run_.collectives.size() - shown);
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
