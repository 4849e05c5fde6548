// profile_window.cpp: see profile_window.h.
#include "probe/sources/profile_window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "probe/hooks/python_calls.h"
#include "probe/hooks/python_shim.h"
#include "probe/hooks/regions.h"
#include "probe/hooks/steps.h"
#include "probe/record/doors.h"
#include "probe/record/limits.h"
#include "probe/record/profile_wish.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/own_threads.h"
#include "probe/sources/profile_script.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/trace_file.h"
#include "settings/profile_rule.h"

namespace hostprobe::probe {
namespace {

// What the script asks of us: the numbers in its first lines.
enum PythonCall : long { kOpened, kDone, kRefused, kUsual, kIsStep, kBegin, kEnd };

constexpr std::uint64_t kAnswerNs = 60'000'000'000;  // the main thread of an interpreter may be in a long call
constexpr std::uint64_t kStepNs = 300'000'000'000;   // no step: an evaluation, or none will come
constexpr std::uint64_t kMiB = 1 << 20;

// Written by the writer while nothing is asked of the interpreter.
HP_OF_PROCESS unsigned g_asked = 0;
HP_OF_PROCESS char g_path[sizeof g_file.path + 24];
HP_OF_PROCESS char g_part[sizeof g_path];
HP_OF_PROCESS WindowState g_seen{};
HP_OF_PROCESS std::uint64_t g_seen_ns = 0;
HP_OF_PROCESS const char* g_withdrawn = nullptr;
HP_OF_PROCESS std::uint64_t g_all_bytes = 0;
// Written by whoever ends the window, before its state says so.
struct Outcome {
  bool done;
  std::uint64_t bytes;
  char text[sizeof EventRow::text];
};
HP_OF_PROCESS Outcome g_outcome{};
HP_OF_PROCESS Outcome g_last{};  // the writer's
HP_OF_PROCESS unsigned g_ended = 0, g_done = 0;
HP_KEPT_BY_CHILDREN PythonObject* g_script = nullptr;  // a child has its parent's interpreter

// From whatever it is in: it may be refused before its first step.
void end_window(bool done, std::uint64_t bytes, const char* text) {
  g_outcome.done = done;
  g_outcome.bytes = bytes;
  snprintf(g_outcome.text, sizeof g_outcome.text, "%s", text);
  if (!move_window(WindowState::kArmed, WindowState::kEnded)) move_window(WindowState::kOpen, WindowState::kEnded);
}

PythonObject* on_call(PythonObject*, PythonObject* arguments) {
  const int saved = errno;
  const PythonCalls& python = python_calls();
  PythonObject* answer = nullptr;
  const auto number = [&](long place) {
    return static_cast<std::uint64_t>(python.number(python.item(arguments, place)));
  };
  const auto text = [&](long place) {
    const char* utf8 = python.text(python.item(arguments, place), nullptr);
    return utf8 == nullptr ? "" : utf8;
  };
  switch (static_cast<PythonCall>(number(0))) {
    case kOpened:
      move_window(WindowState::kArmed, WindowState::kOpen);
      break;
    case kDone:
      end_window(true, number(1), text(2));
      break;
    case kRefused:
      end_window(false, 0, text(2));
      break;
    case kUsual:
      answer = python.value("d", usual_step_ms());
      break;
    case kIsStep:
      answer = python.value("i", may_end_steps(python.item(arguments, 1)) ? 1 : 0);
      break;
    case kBegin:
      answer = python.value("K", static_cast<unsigned long long>(begin_region()));
      break;
    case kEnd:
      end_region(text(2), number(1), nullptr);
      break;
  }
  python.clear_error();
  errno = saved;
  return answer == nullptr ? python.value("") : answer;
}
HP_KEPT_BY_CHILDREN PythonMethod g_method{"hostprobe_window", on_call, kTakesTuple, nullptr};

// New globals, in which the script is then evaluated. Null: not even that.
PythonObject* given(const PythonCalls& python) {
  PythonObject* globals = python.dict();
  PythonObject* host = python.function(&g_method, nullptr, nullptr);
  PythonObject* path = python.value("s", g_path);
  PythonObject* part = python.value("s", g_part);
  PythonObject* steps = python.value("i", static_cast<int>(profile_wish().steps));
  const bool is_whole = globals != nullptr && host != nullptr && path != nullptr && part != nullptr &&
                        steps != nullptr && python.put(globals, "__builtins__", python.builtins()) == 0 &&
                        python.put(globals, "host", host) == 0 && python.put(globals, "path", path) == 0 &&
                        python.put(globals, "part", part) == 0 && python.put(globals, "steps", steps) == 0;
  python.drop_all(host, path, part, steps);
  if (is_whole) return globals;
  python.drop_all(globals);
  return nullptr;
}

// On the interpreter's main thread, which holds its lock; as the next two.
int arm(void*) {
  const int saved = errno;
  if (move_window(WindowState::kAsked, WindowState::kArmed)) {
    const PythonCalls& python = python_calls();
    python.drop_all(g_script);
    g_script = given(python);
    PythonObject* code = g_script == nullptr ? nullptr : python.compile(kProfileScript, "hostprobe", kFileInput);
    PythonObject* done = code == nullptr ? nullptr : python.evaluate(code, g_script, g_script);
    if (done == nullptr) end_window(false, 0, "the interpreter refused hostprobe's script");
    python.drop_all(done, code);
    python.clear_error();
  }
  errno = saved;
  return 0;
}

void call_script(const char* name, const char* argument) {
  const int saved = errno;
  const PythonCalls& python = python_calls();
  PythonObject* function = g_script == nullptr ? nullptr : python.look_up(g_script, name);
  PythonObject* word = argument == nullptr ? nullptr : python.value("s", argument);
  PythonObject* done = function == nullptr ? nullptr : python.call(function, word, nullptr);
  python.drop_all(done, word);
  python.clear_error();
  errno = saved;
}

int mark_step(void*) {
  if (window_state() >= WindowState::kArmed) call_script("mark", nullptr);
  return 0;
}

int withdraw(void*) {
  if (window_state() >= WindowState::kArmed) call_script("withdraw", g_withdrawn);
  return 0;
}

void name_window() {
  const char* end = strrchr(g_file.path, '.');
  const int stem = static_cast<int>(end == nullptr ? strlen(g_file.path) : static_cast<std::size_t>(end - g_file.path));
  ++g_asked;
  snprintf(g_path, sizeof g_path, "%.*s-%04u.profile.json", stem, g_file.path, g_asked);
  snprintf(g_part, sizeof g_part, "%.*s-%04u.part.json", stem, g_file.path, g_asked);
}

void refuse(WindowState from, const char* text) {
  if (window_state() != from) return;
  g_outcome = {};
  snprintf(g_outcome.text, sizeof g_outcome.text, "%s", text);
  move_window(from, WindowState::kEnded);
}

void ask_interpreter() {
  const ProfileWish& wish = profile_wish();
  name_window();
  if (const char* obstacle = python_obstacle()) return refuse(WindowState::kWished, obstacle);
  if (!wish.by_person && g_all_bytes >= g_options.dumps_mb * kMiB)
    return refuse(WindowState::kWished, "the windows so far take as much disk as HOSTPROBE_DUMPS_MB permits");
  move_window(WindowState::kWished, WindowState::kAsked);
  if (!call_in_python(arm)) refuse(WindowState::kAsked, "the interpreter has too many calls pending");
}

// A rule asks again and again: the same refusal is said once.
void note_outcome() {
  const bool is_new = g_outcome.done || profile_wish().by_person || strcmp(g_outcome.text, g_last.text) != 0;
  g_last = g_outcome;
  ++g_ended;
  g_done += g_last.done ? 1 : 0;
  g_all_bytes += g_last.bytes;
  if (is_new) note_event(kEventProfile, g_last.done ? 0 : 1, g_asked, g_last.bytes, g_last.text);
  move_window(WindowState::kEnded, WindowState::kNone);
}

void give_up_late(std::uint64_t now_ns) {
  const WindowState state = window_state();
  if (state != g_seen) {
    g_seen = state;
    g_seen_ns = now_ns;
  }
  const std::uint64_t since_ns = now_ns - g_seen_ns;
  if (state == WindowState::kAsked && since_ns > kAnswerNs)
    return refuse(WindowState::kAsked, "the interpreter's main thread did not come to it in 60 s");
  if (state != WindowState::kArmed && state != WindowState::kOpen) return;
  if (since_ns <= kStepNs) return;
  g_seen_ns = now_ns;
  g_withdrawn = state == WindowState::kArmed ? "no step ended in 300 s" : "its steps did not end in 300 s";
  call_in_python(withdraw);
}

}  // namespace

void mark_window_step() {
  if (own_task() == getpid()) call_in_python(mark_step);
}

bool ask_for_window(const char* steps, char* why, std::size_t bytes) {
  std::uint64_t number = 0;
  const char* obstacle = python_obstacle();
  if (!parse_number(steps, 1, kMostProfiledSteps, number))
    snprintf(why, bytes, "a window takes 1 to %llu steps, not '%.20s'",
             static_cast<unsigned long long>(kMostProfiledSteps), steps);
  else if (obstacle != nullptr)
    snprintf(why, bytes, "%s", obstacle);
  else if (!wish_profile(number, "hostprobe ctl", true))
    snprintf(why, bytes,
             "a window is asked for or open already; try again when it has ended (`hostprobe ctl PID status`)");
  else
    return ask_interpreter(), true;
  return false;
}

WindowNews window_news() {
  static constexpr char kNames[][8] = {"none", "asked", "asked", "asked", "armed", "open", "ending"};
  return {kNames[static_cast<unsigned>(window_state())],
          g_done,
          g_ended,
          g_ended != 0 && !g_last.done,
          g_last.text,
          g_path};
}

// What rings for a wish is the bell, so that the window begins with the next step.
std::uint64_t take_window_wish(const Round&) {
  if (window_state() == WindowState::kWished) ask_interpreter();
  return kNever;
}

void tend_windows(const Round& round) {
  if (round.last)
    for (WindowState state : {WindowState::kWished, WindowState::kAsked, WindowState::kArmed, WindowState::kOpen})
      refuse(state, "the process ended before the window did");
  else
    give_up_late(round.now_ns);
  if (window_state() == WindowState::kEnded) note_outcome();
}

}  // namespace hostprobe::probe
