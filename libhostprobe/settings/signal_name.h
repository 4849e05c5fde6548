// signal_name.h: the signal that HOSTPROBE_TRIGGER_SIGNAL names.
//
// Room pure/. What only the C library knows of signals comes from the caller.
#pragma once

#include "name.h"

namespace hostprobe {

struct KnownSignals {
  const char* (*short_name)(int);  // sigabbrev_np; null for those that have none
  int realtime_first, realtime_last;
};

// Digits alone, at most 65; -1: something else.
inline int small_number(const char* text) {
  int number = 0;
  if (*text == 0) return -1;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || number > 64) return -1;
    number = number * 10 + (*text - '0');
  }
  return number;
}

// "RTMIN+3", "RTMAX-1", "RTMIN".
inline int realtime_signal(const char* name, const KnownSignals& known) {
  const bool from_end = behind_start(name, "RTMAX") != nullptr;
  const char* rest = from_end ? behind_start(name, "RTMAX") : behind_start(name, "RTMIN");
  if (rest == nullptr) return -1;
  const int distance = *rest == 0 ? 0 : *rest == (from_end ? '-' : '+') ? small_number(rest + 1) : -1;
  if (distance < 0) return -1;
  const int number = from_end ? known.realtime_last - distance : known.realtime_first + distance;
  return number >= known.realtime_first && number <= known.realtime_last ? number : -1;
}

inline int named_signal(const char* name, const KnownSignals& known) {
  if (const char* rest = behind_start(name, "SIG")) name = rest;
  for (int i = 1; i < known.realtime_first; ++i) {
    const char* one = known.short_name(i);
    if (one != nullptr && is_same_name(one, name)) return i;
  }
  return realtime_signal(name, known);
}

// No program goes on behind its own fault, and those below the real-time ones that have no name are libc's own.
inline bool may_trigger(int number, const KnownSignals& known) {
  constexpr char kNeverUsed[][5] = {"SEGV", "BUS", "ILL", "FPE", "TRAP", "SYS", "ABRT", "KILL", "STOP"};
  if (number <= 0 || number > known.realtime_last) return false;
  if (number >= known.realtime_first) return true;
  const char* name = known.short_name(number);
  if (name == nullptr) return false;
  for (const auto& never : kNeverUsed)
    if (is_same_name(name, never)) return false;
  return true;
}

// "USR2", "SIGUSR2", "RTMIN+3", "SIGRTMAX-1", "12"; 0: "none"; -1: not a signal, or one that must not be used.
inline int trigger_signal_number(const char* name, const KnownSignals& known) {
  if (is_same_name(name, "none")) return 0;
  int number = small_number(name);
  if (number < 0) number = named_signal(name, known);
  return may_trigger(number, known) ? number : -1;
}

}  // namespace hostprobe
