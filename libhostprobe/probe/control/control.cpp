// control.cpp: see control.h. An answer is lines of "word rest", for cli/ctl.cpp; a refusal is one sentence for people.
#include "probe/control/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "probe/control/status.h"
#include "probe/record/chunk.h"
#include "probe/record/doors.h"
#include "probe/record/gate.h"
#include "probe/record/trigger.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/profile_window.h"
#include "probe/writer/file/events.h"
#include "probe/writer/steps/live_steps.h"

namespace hostprobe::probe {
namespace {

HP_OF_PROCESS std::uint32_t g_moves_noted = 0;

// Of a trigger that is put off: once so many steps have ended; 0: there is none.
struct AtStep {
  std::uint64_t steps;
  char text[sizeof(Trigger::text)];
};
HP_OF_PROCESS AtStep g_at_step{};

bool can_trigger(Answer& answer) {
  if (mode_has_dumps()) return true;
  answer.add("mode %s keeps nothing back that a trigger could write out; everything it keeps is in the trace",
             mode_name());
  return false;
}

bool trigger(const char* text, Answer& answer) {
  if (!can_trigger(answer)) return false;
  if (request_trigger(kByCommand, text)) return true;
  answer.add("an earlier trigger is still waiting; try again in a second");
  return false;
}

// "STEPS" or "STEPS TEXT". The last one asked for counts.
bool trigger_at_step(const char* words, Answer& answer) {
  char* text = nullptr;
  const std::uint64_t steps = strtoull(words, &text, 10), now = live_step_count();
  if (!can_trigger(answer)) return false;
  if (text == words || (*text != 0 && *text != ' ') || steps == 0)
    return answer.add("a number of steps is wanted"), false;
  if (live_source() == LiveSource::kNotYet || live_source() == LiveSource::kNone) {
    answer.add("it has no steps that are known while it runs, so none can be waited for");
    return false;
  }
  if (steps <= now) return answer.add("%llu steps have ended already", static_cast<unsigned long long>(now)), false;
  snprintf(g_at_step.text, sizeof g_at_step.text, "%s", *text == ' ' ? text + 1 : "");
  g_at_step.steps = steps;
  return true;
}

// Where another one waits for the writer, in the next round.
void trigger_that_is_due() {
  if (g_at_step.steps == 0 || live_step_count() < g_at_step.steps) return;
  char text[sizeof(Trigger::text)];
  const char* colon = g_at_step.text[0] == 0 ? "" : ": ";
  snprintf(text, sizeof text, "step %llu%s%.66s", static_cast<unsigned long long>(g_at_step.steps), colon,
           g_at_step.text);
  if (request_trigger(kByCommand, text)) g_at_step.steps = 0;
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

// Behind what else is said: it may be long.
void tell_window(Answer& answer) {
  const WindowNews news = window_news();
  const char* slash = strrchr(news.path, '/');
  answer.add("window_state %s\nwindows %u\nwindow_ended %u\nwindow_refused %d\nwindow_file %s\nwindow_text %s\n",
             news.state, news.windows, news.ended, news.refused ? 1 : 0, slash == nullptr ? "" : slash + 1, news.text);
}

bool profile(const char* steps, Answer& answer) {
  char why[192];
  const unsigned ended = window_news().ended;
  const bool is_asked = ask_for_window(steps, why, sizeof why);
  if (is_asked)
    answer.add("window_ended %u\n", ended);
  else
    answer.add("%s", why);
  return is_asked;
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
  if (same(request, "status")) return tell_status(answer), tell_window(answer), true;
  if (same(request, "trigger")) return trigger(argument, answer);
  if (same(request, "trigger_at_step")) return trigger_at_step(argument, answer);
  if (same(request, "stop")) return move(pause_recording(), answer);
  if (same(request, "start")) return move(resume_recording(), answer);
  if (same(request, "check")) return check(argument, answer);
  if (same(request, "set")) return set(argument, answer);
  if (same(request, "profile")) return profile(argument, answer);
  if (same(request, "window")) return tell_window(answer), true;
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
  trigger_that_is_due();
  note_pauses();
}

}  // namespace hostprobe::probe
