// first_screen.cpp: see first_screen.h.
#include "first_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "answer/verdict.h"
#include "coverage_text.h"
#include "finding_block.h"
#include "report/columns.h"
#include "report/cpu_demand.h"
#include "report/losses.h"
#include "report/news.h"
#include "report/shell_word.h"
#include "report/stuck_text.h"
#include "report/verdict_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostFindings = 3;
constexpr std::size_t kLeastWidth = 40, kMostWidth = 120;  // beyond that lines are too long to read
constexpr std::size_t kMostEvents = 2;
constexpr double kUsualPart =
    0.1;  // by which the mean step may differ from the median one, and one figure stands for both
constexpr char kOtherWays[] = "  (or --html FILE, --all, --help)";

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Both on one line where they fit.
std::string apart(const std::string& left_text, const std::string& right_text, std::size_t width) {
  const std::size_t taken = columns(left_text) + columns(right_text);
  if (right_text.empty()) return wrapped(left_text, "", "  ", width);
  if (taken + 2 > width) return wrapped(left_text, "", "  ", width) + wrapped(right_text, "  ", "  ", width);
  return left_text + std::string(width - taken, ' ') + right_text + "\n";
}

std::string processes_text(const RunAnswer& run) {
  const auto others = static_cast<std::size_t>(std::count_if(
      run.processes.begin(), run.processes.end(),
      [&run](const ProcessAnswer& one) { return one.kind == ProcessKind::kOther && run.traced(one) == nullptr; }));
  if (run.ranks > 0) return plural(run.ranks, "rank", "ranks");
  if (others > 0) return plural(others, "process", "processes");
  if (!run.processes.empty()) return plural(run.processes.size(), "worker", "workers");
  return run.kernel.files.empty() ? "no process that could be read" : "no process of a job";
}

std::string run_text(const RunAnswer& run) {
  std::string text = processes_text(run);
  // A profile need not name its host.
  if (!run.hosts.empty()) text += " · " + plural(run.hosts.size(), "host", "hosts");
  text += fmt::format(" · {:.1f} s", run.wall_s);
  if (run.steps.lengths.count > 0 && !run.one_step) text += " · " + plural(run.steps.lengths.count, "step", "steps");
  return run.jobs.size() > 1 ? text + fmt::format(" · job {} of {} (--job)", run.job, run.jobs.size()) : text;
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char one) { return std::toupper(one); });
  return text;
}

std::string one_step_text(const RunAnswer& run, const OneStep& step) {
  std::string where;
  for (const ProcessAnswer& process : run.processes)
    if (process.trace_path == step.trace_path && process.kind == ProcessKind::kRank && run.ranks > 1)
      where = fmt::format(" on rank {}", process.rank.value_or(0));
  return fmt::format("step {} ({}) takes {}{}", step.number, step.type, ms_text(step.ms), where);
}

// How long steps take, and how long they could. Prices are of the mean step, so where that is another one than the usual it stands first.
std::string steps_text(const RunAnswer& run, const Verdict& verdict) {
  if (run.one_step) return one_step_text(run, *run.one_step);
  const StepLengths& lengths = run.steps.lengths;
  if (lengths.count == 0) return {};
  const double usual_ns = run.steps.usual_ns(), mean_ns = lengths.total_ns / static_cast<double>(lengths.count);
  const bool is_usual = std::abs(mean_ns - usual_ns) <= kUsualPart * usual_ns;
  const double step_ns = is_usual ? usual_ns : mean_ns;
  std::string text =
      fmt::format("step {} ({}p99 {})", duration_text(step_ns),
                  is_usual ? "" : fmt::format("median {}, ", duration_text(usual_ns)), duration_text(lengths.p99_ns));
  const double gain = verdict.finding == nullptr ? 0 : verdict.finding->gain_pct.value_or(0);
  return gain < 1 ? text : fmt::format("{}, could be about {}", text, duration_text(step_ns * (1 - gain / 100)));
}

class FirstScreen : private Lines {
 public:
  FirstScreen(const RunAnswer& run, std::size_t width)
      : run_(run), verdict_(verdict_of(run)), width_(std::clamp(width, kLeastWidth, kMostWidth)) {}

  std::string write() {
    const std::string head = head_text(), foot = foot_text();
    add(head);
    write_findings(count_lines(head) + count_lines(foot));
    add(foot);
    return take();
  }

 private:
  std::string head_text() {
    const std::string about = run_text(run_);
    const std::string command = "hostprobe report ";
    const std::size_t room = width_ - std::min(width_ - 8, columns(command) + columns(about) + 2);
    std::string text = apart(command + shortened_place(run_.path, room), about, width_) + "\n";
    std::string word = in_capitals(verdict_id(verdict_.word));
    if (verdict_.severity != Severity::kNone) word += std::string(" · ") + severity_id(verdict_.severity);
    text += apart(word, steps_text(run_, verdict_), width_);
    text += events_text();
    return verdict_.finding == nullptr ? text + wrapped(verdict_why(run_, verdict_), "", "", width_) : text;
  }

  // What happened, and what is missing, before all findings.
  std::string events_text() {
    std::vector<std::string> events;
    for (const StuckCollective& stuck : run_.stuck) events.push_back(stuck_text(stuck));
    for (const std::string& one : news(run_))
      if (verdict_.finding != nullptr || one != verdict_why(run_, verdict_)) events.push_back(one);
    std::string text;
    for (std::size_t i = 0; i < std::min(events.size(), kMostEvents); ++i)
      text += wrapped(events[i], "! ", "  ", width_);
    const std::vector<std::string> losses = loss_sentences(run_);
    if (losses.empty()) return text;
    text += wrapped(losses.front(), "! ", "  ", width_);
    if (losses.size() > 1)
      text += wrapped(fmt::format("{} more of this kind: hostprobe report {} losses", losses.size() - 1, shown_path()),
                      "  ", "  ", width_);
    return text;
  }

  // As many as fit on the screen, whole.
  void write_findings(std::size_t taken) {
    std::size_t shown = 0, about_the_job = 0;
    for (const Finding& finding : run_.findings) about_the_job += is_about_the_job(finding);
    std::string blocks;
    for (const Finding& finding : run_.findings) {
      if (!is_about_the_job(finding) || shown == kMostFindings) continue;
      const std::string block = finding_block(run_, finding, shown + 1, width_);
      const std::size_t more = shown + 1 < about_the_job ? 1 : 0;
      if (shown > 0 && taken + 1 + count_lines(blocks) + count_lines(block) + more > kScreenLines) break;
      blocks += block;
      ++shown;
    }
    if (blocks.empty()) return;
    line("");
    add(blocks);
    if (shown < about_the_job)
      line("    and {} more: hostprobe report {} findings", about_the_job - shown, shown_path());
  }

  std::string foot_text() {
    std::string text = "\n";
    if (const std::string others = not_found_text(run_, width_); !others.empty()) text += others + "\n";
    if (const std::string use = knows_only_threads() ? cpu_use_text(run_) : ""; !use.empty())
      text += wrapped(use, "", "  ", width_);
    if (const std::string seen = coverage_text(run_); !seen.empty()) text += wrapped(seen, "", "  ", width_);
    std::string next = "Next: " + next_command();
    if (columns(next) + columns(kOtherWays) <= width_) next += kOtherWays;
    return text + wrapped(next, "", "  ", width_);
  }

  // Of a program without steps and GPU that is what there is to say.
  bool knows_only_threads() const { return run_.steps.lengths.count == 0 && run_.ranks == 0 && !run_.uses_gpu(); }

  std::string shown_path() const { return shell_word(printable(run_.path)); }

  // What shows most of the heaviest finding.
  std::string next_command() const {
    const std::string command = "hostprobe report " + shown_path();
    if (run_.processes.empty()) return command + " machine";
    const Finding* finding = verdict_.finding;
    std::string table = run_.step_time ? "time" : "waits";
    if (finding != nullptr) table = table_for(finding->cause);
    const std::string rank =
        finding != nullptr && finding->rank && run_.ranks > 1 ? fmt::format(" --rank {}", *finding->rank) : "";
    return fmt::format("{} {}{}", command, table, rank);
  }

  static const char* table_for(Cause cause) {
    switch (reported_cause(cause)) {
      case Cause::kCpuContention:
      case Cause::kCpuThrottle:
      case Cause::kHostWork:
      case Cause::kGilContention:
        return "threads";
      case Cause::kPythonOverhead:
        return "running";
      case Cause::kGcPause:
        return "python";
      case Cause::kLaunchBound:
      case Cause::kSyncCalls:
      case Cause::kAllocStall:
      case Cause::kPageableCopy:
      case Cause::kSlowGpu:
        return "launches";
      case Cause::kCommBandwidth:
      case Cause::kPoorOverlap:
      case Cause::kWaitsForRank:
        return "collectives";
      case Cause::kProxyDelay:
        return "progress";
      case Cause::kIdleStateExit:
        return "wakes";
      case Cause::kLowFrequency:
        return "machine";
      default:
        return "waits";
    }
  }

  const RunAnswer& run_;
  const Verdict verdict_;
  const std::size_t width_;
};

}  // namespace

std::string first_screen(const RunAnswer& run, const ReportOptions& options) {
  return FirstScreen(run, options.width).write();
}

}  // namespace hostprobe::analysis
