// thread.h: what is known of one thread: what it is for, what it did with its time, what it is in now.
//
// The waist (answer/). analysis/measures/thread_answer.h, progress.h and running.h fill it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "histogram.h"
#include "hook.h"
#include "role.h"
#include "thread_key.h"

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
  std::string type;     // of a std::thread, demangled
  std::string made_by;  // the library whose code it was started to run; "" = unknown
  std::string runs;     // what it was started to do, as far as its Python stacks or its C++ type show; "" = unknown
  bool in_data_loader = false;  // a stack of it goes through PyTorch's DataLoader
  ThreadTime time;
  double blocked_ms = 0;  // in blocking calls, the open one too, with what was behind the wakes
  double wake_ms = 0;     // of that: behind a post that is known
  std::optional<OpenWaitAnswer> open_wait;
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  std::uint64_t unfinished = 0;
  std::optional<std::uint64_t> migrations;  // to another CPU, as far as its switches were recorded
  std::uint64_t cpus = 0;                   // that it may use, or might at its end; 0: not known
  std::uint64_t merged = 0;                 // how many threads that ended it stands for; 0: it is one
};

// Calls of one thread at one place that said which CPUs threads may use.
struct MaskAnswer {
  std::uint32_t tid = 0;
  std::uint64_t count = 0;
  std::optional<double> at_ms;        // of the first, since the process began; nothing: only counters are left
  std::optional<std::uint64_t> cpus;  // that the last one allows
  std::uint64_t mask = 0;             // of these, the first 64
  std::string function;               // who called; "": no symbol covers the code
  std::string library;
  std::vector<std::string> stack;  // innermost first; empty: none was taken
};

// How well a progress thread of NCCL keeps up.
struct ProgressAnswer {
  std::uint32_t tid = 0;
  std::string name;
  Role role = Role::kOther;
  std::string communicator;  // the one for which the thread was started; "" = not known
  Histogram poll;            // intervals
  std::uint64_t stalls = 0;  // those recorded one by one
  double stall_ms = 0;
  std::uint32_t migrations = 0;  // polls from another CPU than the one before
  std::optional<double> cpu_ms;
  std::optional<double> run_delay_ms;
};

struct RunningRow {
  std::string function;  // "" = no symbol covers the code
  std::string file;      // of Python
  unsigned line = 0;     // the one that most samples of the function are at
  std::string library;   // of code; "kernel": in the kernel
  std::string caller;  // of Python: whoever called it most, in another file; of collections: in what most of them began
  double ns = 0;
  double step_ns = 0;  // of the mean step
  std::uint64_t samples = 0;
  std::uint64_t caller_samples = 0, called_samples = 0;  // in that function, of all whose caller is asked for
};

// What the CPU time of a thread went into, by samples of it.
struct RunningAnswer {
  ThreadKey thread{};
  std::vector<RunningRow> python, code;  // heaviest first
  double python_ns = 0, code_ns = 0;     // that samples stand for
  std::uint64_t python_samples = 0, code_samples = 0;
  std::uint64_t torn = 0;   // of the Python samples: the frames changed while they were read
  std::uint64_t steps = 0;  // that lie whole within the time of the samples; 0: step_ns is not known
  double run_ns = 0;        // from one switch to the next, by the mean; 0: not known
  double kernel_part = 0;   // of its CPU time, as the kernel counts where run_ns is known
  double step_cpu_ns = 0;   // all of its CPU time in the mean step, as the kernel counts; 0: not known
};

struct StackNode {
  std::uint32_t parent = 0;  // in the tree; of the first, itself
  std::uint32_t frame = 0;   // in its frames
  double ns = 0;             // with all that was called from there
};

// What a thread did with a part of its time, as the stacks it was seen in: a flame graph. Light branches are left out.
struct StackTree {
  std::uint32_t tid = 0;
  std::string title;                // of the thread
  bool waiting = false;             // else running, by samples
  bool in_steps = false;            // of the time from the first step to the last; else of its life
  std::vector<std::string> frames;  // different ones
  std::vector<StackNode> nodes;     // the first is the whole; parents before their children
};

inline constexpr const char* kCollecting = "garbage collection";

inline constexpr const char* kInKernel = "kernel";

}  // namespace hostprobe::analysis
