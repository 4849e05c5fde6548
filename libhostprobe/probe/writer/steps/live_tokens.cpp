// live_tokens.cpp: see live_tokens.h. The same words by the same labels as model/function.cpp takes.
#include "probe/writer/steps/live_tokens.h"

#include <initializer_list>

#include "format/nccl_type.h"
#include "probe/record/hook_row.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

// Labels are "name" or "name:form".
std::uint8_t word_of(const HookRow& row, const char* name) {
  for (std::uint8_t i = 0; i < 5; ++i) {
    const char* rest = after(row.labels[i], name);
    if (rest != nullptr && (*rest == 0 || *rest == ':')) return static_cast<std::uint8_t>(i + 1);
  }
  return 0;
}

std::uint8_t work_word(const HookRow& row) {
  for (const char* name : {"kernel", "graph", "function"})
    if (const std::uint8_t word = word_of(row, name); word != 0) return word;
  return 0;
}

// The GPU, or other ranks, got something to do by it; every other call only waits for them.
bool submits_work(StepToken type) {
  return type == StepToken::kLaunch || type == StepToken::kGraph || type == StepToken::kCollective ||
         type == StepToken::kCopy || type == StepToken::kInput;
}

StepMark mark_of(HookRole role) {
  return role == HookRole::kStep            ? StepMark::kOwn
         : role == HookRole::kOptimizerStep ? StepMark::kOptimizer
                                            : StepMark::kNone;
}

RowFacts facts_of(const HookRow& row) {
  const auto role = static_cast<HookRole>(row.role);
  RowFacts facts{};
  facts.known = true;
  facts.type = step_token_of(role, row.blocking != 0);
  facts.mark = mark_of(role);
  if (facts.type == StepToken::kCollective) {
    facts.call = word_of(row, "call");
    facts.elements = word_of(row, "count");
    facts.communicator = word_of(row, "comm");
  }
  facts.work = is_launch(role) ? work_word(row) : std::uint8_t{0};
  facts.grid = word_of(row, "grid");
  facts.site = word_of(row, "site");
  facts.is_progress =
      facts.mark != StepMark::kNone || static_cast<Family>(row.family) == Family::kNccl || submits_work(facts.type);
  return facts;
}

std::uint64_t word(const Record& record, std::uint8_t number) { return number == 0 ? 0 : (&record.a)[number - 1]; }

}  // namespace

HP_KEPT_BY_CHILDREN RowFacts g_row_facts[kMostRows]{};

const RowFacts& work_out_row(std::uint16_t hook) {
  static constexpr RowFacts kNothing{};
  if (hook == 0 || hook > hook_count() || hook >= kMostRows) return kNothing;
  return g_row_facts[hook] = facts_of(__start_hp_hooks[hook - 1]);
}

Token live_token_of(const Record& record, const RowFacts& facts, const NsOfTicks& clock, bool with_shape) {
  const bool is_relative = (record.flags & kRecordRelative) != 0;
  Token token{0, 0, facts.type, 0, clock(record.begin_ticks), clock(record.end_ticks)};
  if (facts.type == StepToken::kCollective)
    token.bytes = word(record, facts.elements) * bytes_of_nccl_type(word(record, facts.call) >> 48 & 0xff);
  name_token({record.hook, word(record, facts.work), word(record, facts.grid),
              is_relative ? 0 : word(record, facts.communicator), word(record, facts.site)},
             with_shape, token);
  return token;
}

}  // namespace hostprobe::probe
