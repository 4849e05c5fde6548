// diff_text.cpp: see diff_text.h.
#include "diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "gate_text.h"
#include "report/columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kRows = 8;
constexpr std::size_t kNameWidth = 44;

std::string ms_text(double ms) { return duration_text(1e6 * ms); }
std::string us_text(const std::optional<double>& us) { return us ? duration_text(1e3 * *us) : "-"; }

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, columns(text)), ' ');
}
std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, columns(text)), ' ') + text;
}

// More than twice as long is told as a multiple.
std::string pct_text(double pct) {
  return pct > 100 ? fmt::format("x {:.1f}", 1 + pct / 100) : fmt::format("{:+.1f} %", pct);
}

class DiffPage {
 public:
  DiffPage(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b) : diff_(diff), a_(a), b_(b) {}

  std::string write() {
    line("hostprobe diff {} {}", printable(a_.path), printable(b_.path));
    write_run("A", a_, diff_.steps.a_count, diff_.steps.a_median_ms);
    write_run("B", b_, diff_.steps.b_count, diff_.steps.b_median_ms);
    write_changes();
    if (diff_.gate) line("  {}", gate_text(*diff_.gate));
    write_path();
    write_chain();
    write_rows("Kernels on the GPU", diff_.kernels);
    write_rows(diff_.collective_source == "gpu" ? "Collectives, on the GPU" : "Collectives, calls of the host",
               diff_.collectives);
    write_rows("Waits", diff_.waits);
    write_rows("Wake latency", diff_.wakes);
    write_rows("Launches", diff_.launch_gaps);
    write_rows("NCCL progress", diff_.progress);
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    text.erase(text.find_last_not_of(' ') + 1);
    out_ += text + "\n";
  }

  void write_run(const char* name, const RunAnswer& run, std::size_t steps, const std::optional<double>& median_ms) {
    const std::string what =
        run.ranks > 0 ? plural(run.ranks, "rank", "ranks") : plural(run.processes.size(), "process", "processes");
    line("{}  {} · {:.2f} s · {} · mode {}{}{}", name, what, run.wall_s,
         median_ms ? fmt::format("{} steps, median {}", grouped(steps), ms_text(*median_ms)) : "no steps marked",
         run.mode.empty() ? "?" : printable(run.mode),
         run.jobs.size() > 1 ? fmt::format(" · job {} of {} in its folder", run.job, run.jobs.size()) : "",
         run.unreadable.empty() ? "" : fmt::format(" · {} files cannot be read", run.unreadable.size()));
  }

  std::string steps_text() const {
    const StepChange& steps = diff_.steps;
    if (!steps.change_pct)
      return "Steps cannot be compared: " +
             std::string(steps.a_count == 0 && steps.b_count == 0 ? "neither run has any." : "only one run has any.");
    const std::string medians =
        fmt::format("median {} in A, {} in B", ms_text(*steps.a_median_ms), ms_text(*steps.b_median_ms));
    const std::string range =
        steps.low_pct
            ? fmt::format("the change lies between {} and {}", pct_text(*steps.low_pct), pct_text(*steps.high_pct))
            : fmt::format("{} to {} in A, {} to {} in B", ms_text(*steps.a_min_ms), ms_text(*steps.a_max_ms),
                          ms_text(*steps.b_min_ms), ms_text(*steps.b_max_ms));
    // The interval alone would contradict that.
    if (!steps.significant && std::abs(*steps.change_pct) <= steps.noise_pct)
      return fmt::format("Steps did not change beyond noise: {}; parts of the same run differ by up to {}.", medians,
                         steps.noise_pct > 100 ? fmt::format("{:.1f} times", 1 + steps.noise_pct / 100)
                                               : fmt::format("{:.1f} %", steps.noise_pct));
    if (!steps.significant) return fmt::format("Steps did not change beyond noise: {}; {}.", medians, range);
    if (*steps.change_pct > 100)
      return fmt::format("Steps take {:.1f} times as long in B: {}; {}.", 1 + *steps.change_pct / 100, medians, range);
    return fmt::format("Steps take {:.1f} % {} in B: {}; {}.", std::abs(*steps.change_pct),
                       *steps.change_pct > 0 ? "longer" : "less", medians, range);
  }

  static std::string amount_text(bool found, const std::optional<double>& share, const std::optional<double>& ms) {
    if (ms) return fmt::format("{} a step ({:.1f} %)", ms_text(*ms), share.value_or(0));
    if (share) return fmt::format("{:.1f} %", *share);
    return found ? "found" : "not found";
  }

  static std::string finding_text(const FindingChange& one) {
    return fmt::format("{}{} {}: {} in A, {} in B.", cause_id(one.cause),
                       one.rank ? fmt::format(" of rank {}", *one.rank) : "", change_name(one.change),
                       amount_text(one.in_a, one.a_share_pct, one.a_ms_per_step),
                       amount_text(one.in_b, one.b_share_pct, one.b_ms_per_step));
  }

  void write_changes() {
    line("");
    line("WHAT CHANGED");
    if (diff_.nothing_in_common) {
      line("  The two runs have nothing in common that could be compared: no step, kernel, collective or wait.");
      return;
    }
    line("  {}", steps_text());
    std::size_t same = 0;
    for (const FindingChange& one : diff_.findings) {
      if (one.change == Change::kSame)
        ++same;
      else
        line("  {}", finding_text(one));
    }
    if (same == diff_.findings.size())
      line("  No finding changed{}.", same > 0 ? fmt::format(": {} in both runs", same) : "");
    else if (same > 0)
      line("  {} other {} the same.", same, same == 1 ? "finding is" : "findings are");
  }

  void write_path() {
    if (diff_.path.empty()) return;
    line("");
    line("{} {:>8} {:>8} {:>10} {:>10}", padded("Critical path", kNameWidth), "share A", "B", "a step A", "B");
    const auto amount = [](const std::optional<double>& ms) { return ms ? ms_text(*ms) : std::string("-"); };
    for (const PathChange& one : diff_.path)
      line("{} {:>6.1f} % {:>6.1f} % {} {}", padded(path_class_name(one.one), kNameWidth), one.a_pct, one.b_pct,
           right(amount(one.a_ms_per_step), 10), right(amount(one.b_ms_per_step), 10));
  }

  void write_chain() {
    if (diff_.delay_chain.size() < 2) return;
    line("");
    line("{} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}", padded("From a late poll to a late collective", kNameWidth),
         "count A", "B", "p50 A", "B", "p99 A", "B", "change");
    for (const DiffRow& row : diff_.delay_chain)
      line("{} {:>8} {:>8} {} {} {} {} {:>9}", padded(row.name, kNameWidth), row.a.count, row.b.count,
           right(us_text(row.a.median_us), 8), right(us_text(row.b.median_us), 8), right(us_text(row.a.p99_us), 8),
           right(us_text(row.b.p99_us), 8), change_text(row));
  }

  static std::string change_text(const DiffRow& row) {
    if (row.a.count == 0) return "only in B";
    if (row.b.count == 0) return "only in A";
    return row.significant ? pct_text(*row.change_pct) : "same";
  }

  void write_rows(const char* title, std::vector<DiffRow> rows) {
    if (rows.empty()) return;
    // Changes first; otherwise heaviest first, as they come.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const DiffRow& l, const DiffRow& r) { return l.significant && !r.significant; });
    line("");
    line("{} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}", padded(title, kNameWidth), "count A", "B", "avg A", "B",
         "median A", "B", "change");
    const std::size_t shown = std::min(rows.size(), kRows);
    for (std::size_t i = 0; i < shown; ++i) {
      const DiffRow& row = rows[i];
      line("{} {:>8} {:>8} {} {} {} {} {:>9}", padded(shortened(row.name, kNameWidth), kNameWidth), row.a.count,
           row.b.count, right(us_text(row.a.avg_us), 8), right(us_text(row.b.avg_us), 8),
           right(us_text(row.a.median_us), 8), right(us_text(row.b.median_us), 8), change_text(row));
    }
    if (shown < rows.size()) line("  … and {} more (--json has all)", rows.size() - shown);
  }

  const RunDiff& diff_;
  const RunAnswer& a_;
  const RunAnswer& b_;
  std::string out_;
};

}  // namespace

std::string diff_text(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b) {
  return DiffPage(diff, a, b).write();
}

}  // namespace hostprobe::analysis
