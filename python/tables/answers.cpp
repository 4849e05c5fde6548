// answers.cpp: see answers.h.
#include "answers.h"

#include "analysis/findings/run_diff.h"
#include "analysis/findings/step_gate.h"
#include "analysis/run_answer.h"
#include "report/advice_text.h"
#include "report/diff/diff_json.h"
#include "report/explain/explanation.h"
#include "report/finding_text.h"
#include "report/json/json.h"
#include "report/json/json_findings.h"
#include "report/json_text.h"
#include "tables/schema.h"

namespace hostprobe::tables {
namespace {

std::shared_ptr<const analysis::RunAnswer> analyse(const analysis::ChosenJob& chosen) {
  return std::make_shared<const analysis::RunAnswer>(
      analysis::analyse_run(chosen, {}, {.memory = &analysis::g_memory, .stacks = true}));
}

FindingWords words_of(const analysis::RunAnswer& run, const analysis::Finding& finding) {
  return {.text = finding_text(run, finding),
          .fix_how = fix_text(finding),
          .evidence = json_text(analysis::evidence_json(finding.evidence), analysis::kOneLine)};
}

}  // namespace

Answers answers_of_runs() { return {analyse, words_of}; }

std::string report_text(Run& run) { return analysis::report_json(*run.answer()); }

std::string diff_text(Run& a, Run& b, std::optional<double> fail_over_pct) {
  const auto answer_a = a.answer(), answer_b = b.answer();
  analysis::RunDiff diff = analysis::compare_runs(*answer_a, *answer_b);
  if (fail_over_pct) diff.gate = analysis::judge_steps(diff.steps, *answer_a, *answer_b, *fail_over_pct);
  return analysis::diff_json(diff, *answer_a, *answer_b);
}

std::string explanation_text(const std::string& cause, Run* run) {
  for (const analysis::EmbeddedText& page : analysis::cause_pages()) {
    if (page.name != cause) continue;
    const auto answer = run == nullptr ? nullptr : run->answer();
    return json_text(analysis::explanation_document(page, answer.get()), 1);
  }
  throw BadRequest("no cause is called " + cause);
}

}  // namespace hostprobe::tables
