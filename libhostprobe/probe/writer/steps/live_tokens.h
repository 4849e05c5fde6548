// live_tokens.h: records as the search for steps sees them (steps/step_token.h).
//
// Room 2 (probe/). The writer thread. What a hook's calls are is worked out once, from its row.
#pragma once

#include "format/record.h"
#include "probe/writer/steps/live_steps.h"
#include "steps/step_token.h"

namespace hostprobe::probe {

enum class StepMark : std::uint8_t { kNone, kOwn, kOptimizer };

// What the calls of a row of the hook table are.
struct RowFacts {
  bool known;
  StepToken type;
  StepMark mark;
  // A step of the program is made of such calls, or ends with one: work that was submitted, or a mark. Waits are no progress:
  // a job that hangs makes them too.
  bool is_progress;
  // Which of the five words is what, plus 1; 0: none.
  std::uint8_t work, grid, communicator, elements, call, site;
};
inline constexpr unsigned kMostRows = 512;
extern RowFacts g_row_facts[kMostRows];  // by Record::hook
__attribute__((cold)) const RowFacts& work_out_row(std::uint16_t hook);

inline const RowFacts& row_facts(std::uint16_t hook) {
  const bool known = hook < kMostRows && g_row_facts[hook].known;
  return __builtin_expect(known, 1) ? g_row_facts[hook] : work_out_row(hook);
}

// A call that the analysis leaves out too.
inline bool is_left_out(const Record& record) {
  return (record.flags & (kRecordCaptured | kRecordAtOnce | kRecordTimedOut)) != 0;
}
// Of a record whose type is not kNone. Without `with_shape` its shape is not worked out.
Token live_token_of(const Record& record, const RowFacts& facts, const NsOfTicks& clock, bool with_shape);

}  // namespace hostprobe::probe
