// import_answer.cpp: see import_answer.h.
#include "import_answer.h"

#include <algorithm>

#include "format/imported.h"

namespace hostprobe::analysis {

std::optional<ImportAnswer> answer_import(const std::vector<ActionAnswer>& actions) {
  ImportAnswer answer;
  for (const ActionAnswer& event : actions) {
    if (event.kind == kEventReadInPart) {
      answer.in_part = true;
      answer.read_bytes = event.number;
      answer.all_bytes = event.amount;
      answer.why = event.text;
    } else if (event.kind == kEventLeftOut) {
      answer.left_out.emplace_back(event.text, event.amount);
    }
  }
  if (!answer.in_part && answer.left_out.empty()) return std::nullopt;
  return answer;
}

void forget_what_may_be_missing(ProcessAnswer& process) {
  process.gpu.idle_in_steps_pct.reset();
  process.certain_idle.reset();
  process.gaps.reset();
  process.path.reset();
}

}  // namespace hostprobe::analysis
