// profile_script.cpp: see profile_script.h. What runs inside the interpreter makes no sound: an error of a call is taken back.
#include "probe/sources/profile_script.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "probe/hooks/python_calls.h"
#include "probe/hooks/python_shim.h"
#include "probe/hooks/regions.h"
#include "probe/hooks/steps.h"
#include "probe/record/doors.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/own_threads.h"
#include "probe/sources/profile_text.h"

namespace hostprobe::probe {
namespace {

// What the script asks of us: the numbers in its first lines.
enum PythonCall : long { kOpened, kDone, kRefused, kUsual, kIsStep, kBegin, kEnd };

HP_OF_PROCESS const char* g_path = nullptr;
HP_OF_PROCESS const char* g_part = nullptr;
HP_OF_PROCESS const char* g_withdrawn = nullptr;
// Written by whoever ends the window, before its state says so.
HP_OF_PROCESS WindowOutcome g_outcome{};
HP_KEPT_BY_CHILDREN PythonObject* g_script = nullptr;  // a child has its parent's interpreter
HP_OF_PROCESS std::uint64_t g_steps_by_time = 0, g_usual_us = 0;

void set_outcome(bool done, std::uint64_t bytes, const char* text) {
  g_outcome.done = done;
  g_outcome.bytes = bytes;
  snprintf(g_outcome.text, sizeof g_outcome.text, "%s", text);
}

// It may be refused before its first step.
void end_window(bool done, std::uint64_t bytes, const char* text) {
  set_outcome(done, bytes, text);
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

// Null in `value` is taken for what could not be made.
bool give(const PythonCalls& python, PythonObject* globals, const char* name, PythonObject* value) {
  const bool is_given = value != nullptr && python.put(globals, name, value) == 0;
  python.drop_all(value);
  return is_given;
}

// New globals, in which the script is then evaluated. Null: not even that.
PythonObject* given(const PythonCalls& python) {
  PythonObject* globals = python.dict();
  const double now_s = 1e-9 * static_cast<double>(read_clock_ns(CLOCK_MONOTONIC));
  if (globals != nullptr && python.put(globals, "__builtins__", python.builtins()) == 0 &&
      give(python, globals, "host", python.function(&g_method, nullptr, nullptr)) &&
      give(python, globals, "path", python.value("s", g_path)) &&
      give(python, globals, "part", python.value("s", g_part)) &&
      give(python, globals, "steps", python.value("i", static_cast<int>(profile_wish().steps))) &&
      give(python, globals, "called_s", python.value("d", now_s)))
    return globals;
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

// Takes the arguments over; null in them ends them.
void call_script(const char* name, PythonObject* first = nullptr, PythonObject* second = nullptr) {
  const int saved = errno;
  const PythonCalls& python = python_calls();
  PythonObject* function = g_script == nullptr ? nullptr : python.look_up(g_script, name);
  PythonObject* done = function == nullptr ? nullptr : python.call(function, first, second, nullptr);
  python.drop_all(done, first, second);
  python.clear_error();
  errno = saved;
}

bool is_under_way() { return window_state() >= WindowState::kArmed && window_state() <= WindowState::kOpen; }

int mark_step(void*) {
  if (is_under_way()) call_script("mark");
  return 0;
}

int begin_by_time(void*) {
  const PythonCalls& python = python_calls();
  if (is_under_way())
    call_script("begin_by_time", python.value("K", static_cast<unsigned long long>(g_steps_by_time)),
                python.value("K", static_cast<unsigned long long>(g_usual_us)));
  return 0;
}

int end_by_time(void*) {
  if (is_under_way()) call_script("end_by_time");
  return 0;
}

int withdraw(void*) {
  if (is_under_way()) call_script("withdraw", python_calls().value("s", g_withdrawn));
  return 0;
}

}  // namespace

const WindowOutcome& window_outcome() { return g_outcome; }

void refuse_window(WindowState from, const char* text) {
  if (window_state() != from) return;
  set_outcome(false, 0, text);
  move_window(from, WindowState::kEnded);
}

bool ask_script(const char* path, const char* part) {
  g_path = path;
  g_part = part;
  return call_in_python(arm);
}

bool move_window_by_time(WindowMoment moment, std::uint64_t steps, std::uint64_t usual_us) {
  g_steps_by_time = steps;
  g_usual_us = usual_us;
  constexpr int (*kCalls[])(void*) = {begin_by_time, mark_step, end_by_time};
  return call_in_python(kCalls[static_cast<unsigned>(moment)]);
}

void withdraw_script(const char* why) {
  g_withdrawn = why;
  call_in_python(withdraw);
}

void mark_window_step() {
  if (own_task() == getpid()) call_in_python(mark_step);
}

}  // namespace hostprobe::probe
