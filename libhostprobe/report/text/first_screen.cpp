// first_screen.cpp: see first_screen.h.
#include "first_screen.h"

#include <fmt/format.h>

#include "report/columns.h"
#include "report/finding_text.h"
#include "report/losses.h"
#include "report/stuck_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

class FirstScreen : private Lines {
 public:
  explicit FirstScreen(const RunAnswer& run) : run_(run) {}

  std::string write() {
    write_run();
    write_losses();
    write_stuck();
    write_headline();
    return take();
  }

 private:
  void write_run() {
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

  const RunAnswer& run_;
};

}  // namespace

std::string first_screen(const RunAnswer& run) { return FirstScreen(run).write(); }

}  // namespace hostprobe::analysis
