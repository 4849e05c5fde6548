// import_answer.cpp: see import_answer.h.
#include "import_answer.h"

#include <algorithm>

#include "format/imported.h"

namespace hostprobe::analysis {

std::uint64_t ImportAnswer::left_out_count() const {
  std::uint64_t all = 0;
  for (const auto& [kind, count] : left_out) all += count;
  return all;
}

std::optional<double> ImportAnswer::read_pct() const {
  if (!in_part || all_bytes == 0) return std::nullopt;
  return 100 * std::min(1.0, static_cast<double>(read_bytes) / static_cast<double>(all_bytes));
}

std::optional<ImportAnswer> answer_import(const ProcessAnswer& process) {
  ImportAnswer answer;
  for (const ActionAnswer& event : process.actions) {
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

bool is_read_in_part(const ProcessAnswer& process) {
  return std::any_of(process.actions.begin(), process.actions.end(),
                     [](const ActionAnswer& event) { return event.kind == kEventReadInPart; });
}

void forget_what_may_be_missing(ProcessAnswer& process) {
  process.gpu.idle_in_steps_pct.reset();
  process.certain_idle.reset();
  process.gaps.reset();
  process.path.reset();
}

}  // namespace hostprobe::analysis
