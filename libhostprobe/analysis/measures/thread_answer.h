// thread_answer.h: what is known of one thread: what it is for, what it did with its time, what it is in now.
//
// Room 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/timeline.h"
#include "thread_time.h"

namespace hostprobe::analysis {

// A wait that had not returned when the trace ended.
struct OpenWaitAnswer {
  std::string function;
  std::string library;         // that called it
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  double ms = 0;               // so far
  std::string python = {};     // where, as far as anybody has looked; "" = not known
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

ThreadAnswer describe_thread(const Timeline& timeline, const Track& track, const Blocked& blocked);

}  // namespace hostprobe::analysis
