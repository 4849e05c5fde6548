// thread.h: what is known of one thread: what it is for, what it did with its time, what it is in now.
//
// The waist (answer/). analysis/measures/thread_answer.h fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hook.h"
#include "role.h"

namespace hostprobe::analysis {

struct ThreadTime {
  double wall_ms = 0;                  // 0 = not known
  std::optional<double> cpu_ms;        // running
  std::optional<double> run_delay_ms;  // runnable, but not running: preempted, or behind a wake
  std::optional<double> preempted_ms;  // taken off its CPU while it had work
  std::optional<double> run_queue_ms;  // from a wake to running again
  double wait_ms = 0;                  // in blocking calls, without what was behind the wake
  double unexplained_ms = 0;
  bool from_switches = false;
};

// A wait that had not returned when the trace ended.
struct OpenWaitAnswer {
  std::string function;
  std::string library;         // that called it
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  double ms = 0;               // so far
  CallKind kind = CallKind::kOther;
  std::string python = {};  // where, as far as anybody has looked; "" = not known
};

struct ThreadAnswer {
  std::uint32_t tid = 0;
  std::uint64_t start_ticks = 0;
  std::string name;
  Role role = Role::kOther;
  std::string type;  // of a std::thread, demangled
  std::string runs;  // what it was started to do, as far as its Python stacks or its C++ type show; "" = unknown
  bool in_data_loader = false;  // a stack of it goes through PyTorch's DataLoader
  ThreadTime time;
  double blocked_ms = 0;  // in blocking calls, the open one too, with what was behind the wakes
  double wake_ms = 0;     // of that: behind a post that is known
  std::optional<OpenWaitAnswer> open_wait;
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  std::uint64_t unfinished = 0;
  std::optional<std::uint64_t> migrations;  // to another CPU, as far as its switches were recorded
  std::uint64_t merged = 0;                 // how many threads that ended it stands for; 0: it is one
};

}  // namespace hostprobe::analysis
