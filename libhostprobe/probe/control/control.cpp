// control.cpp: see control.h. An answer is lines of "word rest", for cli/ctl.cpp; a refusal is one sentence for people.
#include "probe/control/control.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/trigger.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/steps/live_steps.h"
#include "probe/control/own_cost.h"

namespace hostprobe::probe {
namespace {

HP_OF_PROCESS std::uint32_t g_moves_noted = 0;

class Answer {
 public:
  explicit Answer(Control& control) : control_(control) { control_.answer[0] = 0; }

  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list list;
    va_start(list, format);
    int more = vsnprintf(control_.answer + used_, sizeof control_.answer - used_, format, list);
    va_end(list);
    if (more > 0 && used_ + static_cast<std::size_t>(more) < sizeof control_.answer)
      used_ += static_cast<std::size_t>(more);
    control_.answer[used_] = 0;
  }

 private:
  Control& control_;
  std::size_t used_ = 0;
};

const char* reason_name(TriggerReason reason) {
  switch (reason) {
    case kBySlowStep:
      return "slow_step";
    case kBySignal:
      return "signal";
    case kByCommand:
      return "command";
    case kByProgram:
      return "program";
    case kByHang:
      return "hang";
  }
  return "unknown";
}

using Big = unsigned long long;

void tell_status(Answer& answer) {
  const SegmentHeader& h = *g_segment.header;
  std::uint64_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_relaxed);
  answer.add("mode %s\nrecording %d\nsince_ns %llu\n", mode_name(), g_gate.recording != 0, Big{gate_moved_ns()});
  answer.add("records %llu\nlost %llu\nthreads %u\n", Big{g_header.records + records_in_memory()}, Big{g_header.lost},
             living_threads());
  answer.add("buffer_bytes %llu\nbuffer_most_bytes %llu\n", Big{ready * kChunkBytes}, Big{h.chunk_count} * kChunkBytes);
  answer.add("steps_from %s\nsteps %llu\nstep_ns %llu\n", live_source_name(live_source()), Big{live_step_count()},
             static_cast<Big>(live_step_median_ns()));
  answer.add("own_cost %llu\n", Big{cost_between(cost_at_start(), read_cost())});
  char line[64];
  for (unsigned i = 0; describe_option(i, line, sizeof line); ++i) answer.add("set %s\n", line);
  LastTrigger last;
  if (!last_trigger(last)) return;
  answer.add("trigger_number %llu\ntrigger_ns %llu\ntrigger_reason %s\ntrigger_text %s\n", Big{last.number},
             Big{last.realtime_ns}, reason_name(last.trigger.reason), last.trigger.text);
}

bool trigger(const char* text, Answer& answer) {
  if (!mode_has_dumps()) {
    answer.add("mode %s keeps nothing back that a trigger could write out; everything it keeps is in the trace",
               mode_name());
    return false;
  }
  if (request_trigger(kByCommand, text)) return true;
  answer.add("an earlier trigger is still waiting; try again in a second");
  return false;
}

// A line "NAME=VALUE" in two. False: it is none.
bool split(char* assignment, char*& value) {
  value = strchr(assignment, '=');
  if (value != nullptr) *value++ = 0;
  return value != nullptr;
}

// Lines of "NAME=VALUE". False: one of them cannot be used, the answer says why.
bool check(const char* assignments, Answer& answer) {
  char lines[sizeof(Control::request) + 1], why[256];
  snprintf(lines, sizeof lines, "%s", assignments);
  char *rest = nullptr, *value = nullptr;
  char* line = strtok_r(lines, "\n", &rest);
  if (line == nullptr) return answer.add("NAME=VALUE is wanted"), false;
  for (; line != nullptr; line = strtok_r(nullptr, "\n", &rest)) {
    if (!split(line, value)) return answer.add("NAME=VALUE is wanted, not '%.60s'", line), false;
    if (!check_option(line, value, why, sizeof why)) return answer.add("%s", why), false;
  }
  return true;
}

// All of them or none.
bool set(char* assignments, Answer& answer) {
  if (!check(assignments, answer)) return false;
  char why[256], noted[sizeof(EventRow::text)];
  char *rest = nullptr, *value = nullptr;
  for (char* line = strtok_r(assignments, "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest)) {
    snprintf(noted, sizeof noted, "%s", line);
    if (split(line, value) && set_option(line, value, why, sizeof why)) note_event(kEventSetting, 0, 0, 0, noted);
  }
  return true;
}

bool fix(const char* words, Answer& answer) {
  char why[128];
  if (ask_for_fix(words, why, sizeof why)) return true;
  answer.add("%s", why);
  return false;
}

bool move(bool moved, Answer& answer) {
  if (!moved) answer.add("recording has ended");
  return moved;
}

// `request`: a verb and, behind a blank, its argument. False: refused, the answer says why.
bool obey(char* request, Answer& answer) {
  char* argument = strchr(request, ' ');
  if (argument != nullptr)
    *argument++ = 0;
  else
    argument = request + strlen(request);
  if (same(request, "status")) return tell_status(answer), true;
  if (same(request, "trigger")) return trigger(argument, answer);
  if (same(request, "stop")) return move(pause_recording(), answer);
  if (same(request, "start")) return move(resume_recording(), answer);
  if (same(request, "check")) return check(argument, answer);
  if (same(request, "set")) return set(argument, answer);
  if (same(request, "fix")) return fix(argument, answer);
  answer.add("this process's hostprobe does not know '%.40s'; it may be of another version", request);
  return false;
}

// All of them; of a program that goes to and fro all the time the last few.
void note_pauses() {
  constexpr std::uint32_t kMost = 8;
  std::uint32_t moves = gate_moves();
  std::atomic_ref(g_segment.header->gate_moves).store(moves, std::memory_order_relaxed);
  if (moves - g_moves_noted > kMost) g_moves_noted += (moves - g_moves_noted - kMost) & ~1u;
  for (; g_moves_noted != moves; ++g_moves_noted)
    note_event(g_moves_noted % 2 == 0 ? kEventStopped : kEventStarted, 0, 0, 0, "");
}

}  // namespace

void answer_control() {
  Control& control = g_segment.header->control;
  std::uint32_t asked = std::atomic_ref(control.asked).load(std::memory_order_acquire);
  if (asked != 0 && asked != std::atomic_ref(control.answered).load(std::memory_order_relaxed)) {
    char request[sizeof control.request + 1];
    memcpy(request, control.request, sizeof control.request);
    request[sizeof control.request] = 0;
    std::atomic_thread_fence(std::memory_order_acquire);
    // Who asked may have given up, and the next one be writing: that one's word comes.
    if (std::atomic_ref(control.asked).load(std::memory_order_relaxed) != asked) return;
    Answer answer(control);
    control.refused = obey(request, answer) ? 0 : 1;
    std::atomic_ref(control.answered).store(asked, std::memory_order_release);
  }
  note_pauses();
}

}  // namespace hostprobe::probe
