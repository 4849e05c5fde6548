// fix.h: what every fix is: a row in the table of fixes.cpp, with functions of its own file.
//
// Room 2 (probe/). Off when a process starts, on when it is wanted, and without a trace once it is no longer wanted. A fix never
// changes what the program computes, and stands back where the program has decided the same thing for itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {

enum class FixState : std::uint8_t {
  kOff,
  kUnderWay,  // wanted or no longer wanted, and not done yet
  kOn,
  kStandsBack,  // the program has settings of its own, or there is nothing here to change
  kRefused,     // the system does not allow it
};

// Of a fix that the writer thread turns on and off: what it has come to, unless the other is wanted by now.
inline FixState state_of(const std::atomic<bool>& wanted, const std::atomic<FixState>& settled) {
  const FixState now = settled.load(std::memory_order_acquire);
  return wanted.load(std::memory_order_acquire) == (now != FixState::kOff) ? now : FixState::kUnderWay;
}

// The names of fixes.def: a fix that is not in that list has none, and does not compile.
namespace fix_name {
#define HP_FIX(Name, name, ...) inline constexpr char name[] = #name;
#include "hostprobe/fixes.def"
}  // namespace fix_name

struct Fix {
  const char* name;
  // Any thread, not in a signal handler. Does next to nothing: tend() does the work.
  void (*want)(bool on);
  // Any thread.
  FixState (*state)();
  // Writer thread, four times a second: goes on with what is under way, and notes as an event (kEventFix) what was done and why not.
  // `last`: the trace ends; what was done is noted, and nothing new is begun.
  void (*tend)(bool last);
};

// Each is defined in a file of its own: one that is not does not link.
#define HP_FIX(Name, ...) extern const Fix k##Name##Fix;
#include "hostprobe/fixes.def"

}  // namespace hostprobe::probe
