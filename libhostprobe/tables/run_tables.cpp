// run_tables.cpp: the findings of a run and its collectives; see answer_tables.h.
#include "answer/collective.h"
#include "answer/finding.h"
#include "answer_table.h"
#include "answer_tables.h"

namespace hostprobe::tables {
namespace {

using analysis::CollectiveAnswer, analysis::Finding, analysis::FindingSite;

// ---- findings ----

struct FindingRow {
  const Finding* finding;
  FindingWords words;

  const std::optional<FindingSite>& site() const { return finding->site; }
};

std::vector<FindingRow> finding_rows(const Run& run, const analysis::RunAnswer& answer) {
  std::vector<FindingRow> rows;
  for (const Finding& finding : answer.findings) rows.push_back({&finding, run.words_of(answer, finding)});
  return rows;
}

std::string stack_text(const std::vector<std::string>& frames) {
  std::string text;
  for (const std::string& frame : frames) text += (text.empty() ? "" : ";") + frame;
  return text;
}

std::vector<AnswerColumn<FindingRow>> finding_columns() {
  using Row = FindingRow;
  using Of = Columns<Row>;
  return {
      Of::word("cause", "an id of [findings.md](findings.md)",
               [](const Row& row) { return cause_id(row.finding->cause); }),
      Of::small("rank", "where the cause sits; null: the whole job, or no rank",
                [](const Row& row) { return row.finding->rank; }),
      Of::small("pid", "of a process that is no rank",
                [](const Row& row) { return some_if(!row.finding->rank && row.finding->pid != 0, row.finding->pid); }),
      Of::text("text", "in a sentence", [](const Row& row) -> const std::string& { return row.words.text; }),
      Of::real("share_pct", "of the time of share_of", [](const Row& row) { return row.finding->share_pct; }),
      Of::word("share_of", "steps, run, read_part", [](const Row& row) { return row.finding->share_of(); }),
      Of::real("ms_per_step", "of a step; null: not computed", [](const Row& row) { return row.finding->ms_per_step; }),
      Of::real("gain_pct", "expected of the fix; null: not computed",
               [](const Row& row) { return row.finding->gain_pct; }),
      Of::real("gain_low_pct", "at least", [](const Row& row) { return row.finding->gain_low_pct; }),
      Of::real("gain_high_pct", "at most", [](const Row& row) { return row.finding->gain_high_pct; }),
      Of::word("fix", "its id; null: nothing is known to help",
               [](const Row& row) { return fix_id(row.finding->fix); }),
      Of::text("fix_how", "what to do",
               [](const Row& row) { return some_if(row.finding->fix != analysis::Fix::kNone, row.words.fix_how); }),
      Of::word("site_function", "call that it was seen in",
               [](const Row& row) { return row.site() ? std::optional(row.site()->function) : std::nullopt; }),
      Of::word("site_library", "that called it",
               [](const Row& row) { return row.site() ? std::optional(row.site()->library) : std::nullopt; }),
      Of::word("site_role", "of the thread",
               [](const Row& row) { return row.site() ? std::optional(role_name(row.site()->role)) : std::nullopt; }),
      Of::text("site_stack", "frames from the innermost on, with ; between",
               [](const Row& row) { return row.site() ? std::optional(stack_text(row.site()->stack)) : std::nullopt; }),
      Of::text("evidence", "a JSON object: counts, percentiles, examples",
               [](const Row& row) -> const std::string& { return row.words.evidence; })};
}

// ---- collectives ----

struct CollectiveRow {
  const CollectiveAnswer* of;
};

std::vector<CollectiveRow> collective_rows(const Run&, const analysis::RunAnswer& answer) {
  std::vector<CollectiveRow> rows;
  for (const CollectiveAnswer& one : answer.collectives) rows.push_back({&one});
  return rows;
}

std::vector<AnswerColumn<CollectiveRow>> collective_columns() {
  using Row = CollectiveRow;
  using Of = Columns<Row>;
  return {
      Of::word("comm", "the communicator; null: not known",
               [](const Row& row) -> const std::string& { return row.of->communicator; }),
      Of::small("ranks", "how many ranks it has", [](const Row& row) { return row.of->ranks; }),
      Of::word("op", "AllReduce, …", [](const Row& row) -> const std::string& { return row.of->operation; }),
      Of::count("count", "of them", [](const Row& row) { return row.of->count; }),
      Of::count("bytes", "that a rank passed, all together",
                [](const Row& row) { return some_if(row.of->is_size_known(), row.of->bytes); }),
      Of::count("failed", "calls that were not taken", [](const Row& row) { return row.of->failed; }),
      Of::real("host_p50_us", "time of the call, median",
               [](const Row& row) { return percentile_us(row.of->host, 50); }),
      Of::real("host_p99_us", "99 of 100 are shorter", [](const Row& row) { return percentile_us(row.of->host, 99); }),
      Of::real("host_max_us", "the longest", [](const Row& row) { return us_of(row.of->host, row.of->host.max_ns()); }),
      Of::real("skew_p50_us", "from the first arrival to the last, median",
               [](const Row& row) { return percentile_us(row.of->skew, 50); }),
      Of::real("skew_p99_us", "99 of 100 are shorter", [](const Row& row) { return percentile_us(row.of->skew, 99); }),
      Of::real("skew_max_us", "the longest", [](const Row& row) { return us_of(row.of->skew, row.of->skew.max_ns()); }),
      Of::small("last_rank", "who was last most often", [](const Row& row) { return row.of->last_rank; }),
      Of::real("last_share_pct", "in so many of them",
               [](const Row& row) { return some_if(row.of->last_rank.has_value(), row.of->last_share_pct); }),
      Of::real("gpu_wait_p50_us", "what a rank's kernel waited for the last, median",
               [](const Row& row) { return percentile_us(row.of->gpu_wait, 50); }),
      Of::real("bus_gb_s", "bus bandwidth, where GPU times are known",
               [](const Row& row) { return row.of->bus_gb_s(); })};
}

}  // namespace

Table findings_table() {
  return table_of_answer<FindingRow>(
      {"findings", "what costs the job time, the heaviest first", finding_rows, finding_columns()});
}

Table collective_sites_table() {
  return table_of_answer<CollectiveRow>(
      {"collective_sites", "collectives by communicator and operation: all of them, those without a record too",
       collective_rows, collective_columns()});
}

}  // namespace hostprobe::tables
