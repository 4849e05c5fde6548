// sentence_lists.cpp: see sentence_lists.h.
#include "sentence_lists.h"

#include <fmt/format.h>

#include "action_sentences.h"
#include "report/columns.h"
#include "report/finding_text.h"
#include "report/losses.h"

namespace hostprobe::analysis {

std::string finding_list(const RunAnswer& run, const ReportOptions& options) {
  std::string text;
  std::size_t number = 0;
  for (const Finding& finding : run.findings) {
    if (options.rank && finding.rank != options.rank) continue;
    const FindingText parts = finding_parts(run, finding);
    text +=
        wrapped(finding_text(run, finding), fmt::format("{:>2}. {}: ", ++number, parts.title), "    ", options.width);
  }
  return text;
}

std::string loss_list(const RunAnswer& run, const ReportOptions& options) {
  std::string text;
  for (const std::string& sentence : loss_sentences(run)) text += wrapped(sentence, "! ", "  ", options.width);
  return text;
}

std::string action_list(const RunAnswer& run, const ReportOptions& options) {
  std::string text;
  for (const std::string& sentence : action_sentences(run, options.all))
    text += wrapped(sentence, "", "  ", options.width);
  return text;
}

}  // namespace hostprobe::analysis
