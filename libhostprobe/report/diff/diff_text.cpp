// diff_text.cpp: see diff_text.h.
#include "diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "gate_text.h"
#include "report/columns.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kRows = 8;
constexpr std::size_t kMostWidth = 120;  // of sentences: beyond that they are too long to read

std::string us_text(const std::optional<double>& us) { return us ? duration_text(1e3 * *us) : "-"; }

// More than twice as long is told as a multiple.
std::string pct_text(double pct) {
  return pct > 100 ? fmt::format("x {:.1f}", 1 + pct / 100) : fmt::format("{:+.1f} %", pct);
}

class DiffPage : private Lines {
 public:
  DiffPage(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b, const ReportOptions& options)
      : diff_(diff), a_(a), b_(b), options_(options) {}

  std::string write() {
    line("hostprobe diff {} {}", printable(a_.path), printable(b_.path));
    write_run("A", a_, diff_.steps.a_count, diff_.steps.a_median_ms);
    write_run("B", b_, diff_.steps.b_count, diff_.steps.b_median_ms);
    write_changes();
    if (diff_.gate) say(gate_text(*diff_.gate), "  ", "    ");
    write_path();
    write_chain();
    write_rows("Kernels on the GPU", diff_.kernels);
    write_rows(diff_.collective_source == "gpu" ? "Collectives, on the GPU" : "Collectives, calls of the host",
               diff_.collectives);
    write_rows("Waits", diff_.waits);
    write_rows("Wake latency", diff_.wakes);
    write_rows("Launches", diff_.launch_gaps);
    write_rows("NCCL progress", diff_.progress);
    write_same();
    return take();
  }

 private:
  void say(const std::string& text, const char* first = "", const char* next = "  ") {
    add(wrapped(text, first, next, std::min(options_.width, kMostWidth)));
  }

  void write_run(const char* name, const RunAnswer& run, std::size_t steps, const std::optional<double>& median_ms) {
    const std::string what =
        run.ranks > 0 ? plural(run.ranks, "rank", "ranks") : plural(run.processes.size(), "process", "processes");
    say(fmt::format(
            "{}  {} · {:.2f} s · {} · mode {}{}{}", name, what, run.wall_s,
            median_ms ? fmt::format("{} steps, median {}", grouped(steps), ms_text(*median_ms)) : "no steps marked",
            run.mode.empty() ? "?" : printable(run.mode),
            run.jobs.size() > 1 ? fmt::format(" · job {} of {} in its folder", run.job, run.jobs.size()) : "",
            run.unreadable.empty() ? "" : fmt::format(" · {} files cannot be read", run.unreadable.size())),
        "", "   ");
  }

  std::string steps_text() const {
    const StepChange& steps = diff_.steps;
    if (!steps.change_pct)
      return "Steps cannot be compared: " +
             std::string(steps.a_count == 0 && steps.b_count == 0 ? "neither run has any." : "only one run has any.");
    const std::string medians =
        fmt::format("median {} in A, {} in B", ms_text(*steps.a_median_ms), ms_text(*steps.b_median_ms));
    const std::string range =
        steps.low_pct ? fmt::format("the change lies between {} and {} in 99 of 100 cases", pct_text(*steps.low_pct),
                                    pct_text(*steps.high_pct))
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
    return fmt::format("Steps are {:.1f} % {} in B: {}; {}.", std::abs(*steps.change_pct),
                       *steps.change_pct > 0 ? "longer" : "shorter", medians, range);
  }

  static std::string amount_text(bool found, const std::optional<double>& share, const std::optional<double>& ms) {
    if (ms) return fmt::format("{} a step ({:.1f} %)", ms_text(*ms), share.value_or(0));
    if (share) return fmt::format("{:.1f} %", *share);
    return found ? "found" : "not found";
  }

  static std::string finding_text(const FindingChange& one) {
    return fmt::format("{} ({}){} {}: {} in A, {} in B.", cause_title(one.cause), cause_id(one.cause),
                       one.rank ? fmt::format(" on rank {}", *one.rank) : "", change_name(one.change),
                       amount_text(one.in_a, one.a_share_pct, one.a_ms_per_step),
                       amount_text(one.in_b, one.b_share_pct, one.b_ms_per_step));
  }

  void write_changes() {
    line("");
    line("WHAT CHANGED");
    if (diff_.nothing_in_common) {
      say("The two runs have nothing in common that could be compared: no step, kernel, collective or wait.", "  ",
          "  ");
      return;
    }
    say(steps_text(), "  ", "    ");
    std::size_t same = 0;
    for (const FindingChange& one : diff_.findings) {
      if (one.change == Change::kSame)
        ++same;
      else
        say(finding_text(one), "  ", "    ");
    }
    if (same == diff_.findings.size())
      line("  No finding changed{}.", same > 0 ? fmt::format(": {} in both runs", same) : "");
    else if (same > 0)
      line("  {} other {} the same.", same, same == 1 ? "finding is" : "findings are");
  }

  void write_table(const TextTable& table, std::size_t left_out = 0) {
    if (table.is_empty()) return;
    line("");
    add(table.text(options_.width));
    add(more_text(table.rows(), table.rows() + left_out));
  }

  void write_path() {
    TextTable table({{.heading = "critical path", .is_name = true},
                     {.heading = "share A"},
                     {.heading = "B"},
                     {.heading = "a step A"},
                     {.heading = "B"}});
    const auto amount = [](const std::optional<double>& ms) { return ms ? ms_text(*ms) : std::string("-"); };
    for (const PathChange& one : diff_.path)
      table.add({path_class_name(one.one), fmt::format("{:.1f} %", one.a_pct), fmt::format("{:.1f} %", one.b_pct),
                 amount(one.a_ms_per_step), amount(one.b_ms_per_step)});
    write_table(table);
  }

  void write_chain() {
    if (diff_.delay_chain.size() < 2) return;
    TextTable table({{.heading = "from a late poll to a late collective", .is_name = true, .least = 16},
                     {.heading = "count A", .spare = 1},
                     {.heading = "B", .spare = 1},
                     {.heading = "p50 A"},
                     {.heading = "B"},
                     {.heading = "p99 A"},
                     {.heading = "B"},
                     {.heading = "change"}});
    for (const DiffRow& row : diff_.delay_chain)
      table.add({row.name, compact(row.a.count), compact(row.b.count), us_text(row.a.median_us),
                 us_text(row.b.median_us), us_text(row.a.p99_us), us_text(row.b.p99_us), change_text(row)});
    write_table(table);
  }

  static std::string change_text(const DiffRow& row) {
    if (row.a.count == 0) return "only in B";
    if (row.b.count == 0) return "only in A";
    return row.significant ? pct_text(*row.change_pct) : "same";
  }

  // Changes alone; what is the same says nothing to most readers, and is counted.
  void write_rows(const char* title, std::vector<DiffRow> rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const DiffRow& l, const DiffRow& r) { return has_changed(l) && !has_changed(r); });
    const auto first_same = std::find_if_not(rows.begin(), rows.end(), has_changed);
    const auto changed = static_cast<std::size_t>(first_same - rows.begin());
    if (!options_.all) same_ += rows.size() - changed;
    const std::size_t all = options_.all ? rows.size() : changed, shown = options_.all ? all : std::min(all, kRows);
    TextTable table({{.heading = title, .is_name = true, .least = 24},
                     {.heading = "count A", .spare = 3},
                     {.heading = "B", .spare = 3},
                     {.heading = "avg A"},
                     {.heading = "B"},
                     {.heading = "median A", .spare = 1},
                     {.heading = "B", .spare = 1},
                     {.heading = "change"}});
    for (std::size_t i = 0; i < shown; ++i) {
      const DiffRow& row = rows[i];
      table.add({printable(row.name), compact(row.a.count), compact(row.b.count), us_text(row.a.avg_us),
                 us_text(row.b.avg_us), us_text(row.a.median_us), us_text(row.b.median_us), change_text(row)});
    }
    write_table(table, all - shown);
  }

  static bool has_changed(const DiffRow& row) { return row.significant || row.a.count == 0 || row.b.count == 0; }

  void write_same() {
    if (same_ == 0) return;
    line("");
    say(fmt::format("{} of kernels, collectives, waits, wakes and launches {} the same (--all).",
                    plural(same_, "row", "rows"), same_ == 1 ? "is" : "are"));
  }

  const RunDiff& diff_;
  const RunAnswer& a_;
  const RunAnswer& b_;
  const ReportOptions& options_;
  std::size_t same_ = 0;  // rows that are not shown
};

}  // namespace

std::string diff_text(const RunDiff& diff, const RunAnswer& a, const RunAnswer& b, const ReportOptions& options) {
  return DiffPage(diff, a, b, options).write();
}

}  // namespace hostprobe::analysis
