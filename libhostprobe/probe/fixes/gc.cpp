// gc.cpp: the fix `gc`: Python's collector runs less often, by higher thresholds.
//
// Room 2 (probe/). The thresholds become 50000, 50, 1000 (facts: docs/reference/python.md), by the interpreter's own gc.set_threshold on its
// main thread, and what they were before when the fix is taken back. A program that has set its own thresholds, or switched the
// collector off, is left alone.
// The writer asks; the interpreter's main thread does it; the writer notes what came of it.

#include <errno.h>
#include <stdio.h>

#include <atomic>

#include "probe/fixes/row/fix.h"
#include "probe/hooks/python_calls.h"
#include "probe/hooks/python_shim.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

struct Thresholds {
  long number[3];
  bool operator==(const Thresholds&) const = default;
};
constexpr Thresholds kOurs{{50000, 50, 1000}};
// What CPython starts with: to 3.12, 3.13, and from 3.14 on.
constexpr Thresholds kUsual[] = {{{700, 10, 10}}, {{2000, 10, 10}}, {{2000, 10, 0}}};

enum class Outcome : int { kNone, kOn, kOff, kProgramsOwn, kProgramsSince, kFailed };

HP_KEPT_BY_CHILDREN std::atomic<bool> g_wanted{false};
HP_KEPT_BY_CHILDREN std::atomic<bool> g_is_on{false};  // a child has its parent's interpreter
HP_KEPT_BY_CHILDREN Thresholds g_before{};
HP_KEPT_BY_CHILDREN bool g_asked_for = false;  // what was asked of the interpreter last
HP_OF_PROCESS std::atomic<bool> g_under_way{false};
HP_OF_PROCESS std::atomic<Outcome> g_outcome{Outcome::kNone};
HP_OF_PROCESS Thresholds g_met{};
HP_KEPT_BY_CHILDREN std::atomic<FixState> g_settled{FixState::kOff};

// What a function of the module gives that takes nothing: a new reference, or null.
PythonObject* answer_of(const PythonCalls& python, PythonObject* gc, const char* name) {
  PythonObject* function = python.attribute(gc, name);
  PythonObject* answer = function == nullptr ? nullptr : python.call(function, nullptr);
  python.drop_all(function);
  return answer;
}

bool read_thresholds(const PythonCalls& python, PythonObject* gc, Thresholds& out) {
  PythonObject* tuple = answer_of(python, gc, "get_threshold");
  for (int i = 0; i < 3 && tuple != nullptr; ++i) out.number[i] = python.number(python.item(tuple, i));
  python.drop_all(tuple);
  return tuple != nullptr;
}

bool is_enabled(const PythonCalls& python, PythonObject* gc) {
  PythonObject* answer = answer_of(python, gc, "isenabled");
  const bool yes = answer != nullptr && python.number(answer) == 1;
  python.drop_all(answer);
  return yes;
}

bool write_thresholds(const PythonCalls& python, PythonObject* gc, const Thresholds& wanted) {
  PythonObject* set = python.attribute(gc, "set_threshold");
  PythonObject* numbers[3];
  for (int i = 0; i < 3; ++i) numbers[i] = python.value("l", wanted.number[i]);
  PythonObject* done = set == nullptr ? nullptr : python.call(set, numbers[0], numbers[1], numbers[2], nullptr);
  python.drop_all(done, numbers[2], numbers[1], numbers[0], set);
  return done != nullptr;
}

Outcome raise(const PythonCalls& python, PythonObject* gc) {
  bool usual = false;
  for (const Thresholds& one : kUsual) usual = usual || one == g_met;
  if (!usual || !is_enabled(python, gc)) return Outcome::kProgramsOwn;
  if (!write_thresholds(python, gc, kOurs)) return Outcome::kFailed;
  g_before = g_met;
  g_is_on.store(true, std::memory_order_release);
  return Outcome::kOn;
}

Outcome put_back(const PythonCalls& python, PythonObject* gc) {
  g_is_on.store(false, std::memory_order_release);
  if (!(g_met == kOurs)) return Outcome::kProgramsSince;
  return write_thresholds(python, gc, g_before) ? Outcome::kOff : Outcome::kFailed;
}

// On the interpreter's main thread, which holds its lock.
int move(void*) {
  int saved = errno;
  const PythonCalls& python = python_calls();
  PythonObject* gc = python.import("gc");
  Outcome outcome = Outcome::kFailed;
  if (gc != nullptr && read_thresholds(python, gc, g_met))
    outcome = g_asked_for ? raise(python, gc) : put_back(python, gc);
  python.drop_all(gc);
  python.clear_error();
  g_outcome.store(outcome, std::memory_order_release);
  errno = saved;
  return 0;
}

void note(Outcome outcome) {
  const long* met = g_met.number;
  char text[96];
  switch (outcome) {
    case Outcome::kOn:
      snprintf(text, sizeof text, "gc on: thresholds %ld,%ld,%ld became 50000,50,1000", met[0], met[1], met[2]);
      break;
    case Outcome::kOff:
      snprintf(text, sizeof text, "gc off: thresholds are %ld,%ld,%ld again", g_before.number[0], g_before.number[1],
               g_before.number[2]);
      break;
    case Outcome::kProgramsOwn:
      snprintf(text, sizeof text, "gc stands back: the program has set the collector itself (%ld,%ld,%ld)", met[0],
               met[1], met[2]);
      break;
    case Outcome::kProgramsSince:
      snprintf(text, sizeof text, "gc off: the program has set %ld,%ld,%ld since, which stay", met[0], met[1], met[2]);
      break;
    default:
      snprintf(text, sizeof text, "gc: the interpreter refused");
      break;
  }
  note_event(kEventFix, 0, outcome == Outcome::kOn, 0, text);
}

FixState settled_by(Outcome outcome) {
  if (outcome == Outcome::kOn) return FixState::kOn;
  return outcome == Outcome::kProgramsOwn || outcome == Outcome::kFailed ? FixState::kStandsBack : FixState::kOff;
}

void want(bool on) { g_wanted.store(on, std::memory_order_release); }

void tend(bool last) {
  if (const Outcome outcome = g_outcome.exchange(Outcome::kNone, std::memory_order_acq_rel);
      outcome != Outcome::kNone) {
    note(outcome);
    g_settled.store(settled_by(outcome), std::memory_order_release);
    g_under_way.store(false, std::memory_order_release);
  }
  const bool wanted = g_wanted.load(std::memory_order_acquire);
  if (last || wanted == g_asked_for || g_under_way.load(std::memory_order_acquire)) return;
  // It stood back: there is nothing to take back.
  if (!wanted && !g_is_on.load(std::memory_order_acquire)) {
    g_asked_for = false;
    g_settled.store(FixState::kOff, std::memory_order_release);
    return;
  }
  g_asked_for = wanted;
  g_under_way.store(true, std::memory_order_release);
  if (call_in_python(move)) return;
  g_asked_for = !wanted;
  g_under_way.store(false, std::memory_order_release);
}

FixState state() {
  const FixState settled = g_settled.load(std::memory_order_acquire);
  const bool is_wanted = g_wanted.load(std::memory_order_acquire);
  return is_wanted == (settled == FixState::kOn || settled == FixState::kStandsBack) ? settled : FixState::kUnderWay;
}

}  // namespace

const Fix kGcFix{fix_name::gc, want, state, tend};

}  // namespace hostprobe::probe
