// kernel_event.h: what an event of the kernel's trace says, as text, becomes a row and names (format/kernel.h).
//
// Room 3. `name=value` as the kernel prints it and as trace-cmd's plug-ins do ("comm:pid [prio] S ==> …").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/kernel.h"
#include "kernel_line.h"

namespace hostprobe::analysis {

struct TaskName {
  std::uint32_t tid;
  std::string_view name;
};

struct KernelEvent {
  KernelRow row{};  // without its time
  std::vector<TaskName> tasks;
  std::string_view irq_name;
};

enum class EventReading {
  kDone,
  kUnknown,    // an event that is not used
  kUnreadable  // one that is, and a line that is cut or damaged
};

EventReading read_kernel_event(const KernelLine& line, KernelEvent& event);

// How a task left its CPU, of the letters and of the number that stand for it. "R+", a bit above the others, and 0: it
// could have gone on.
std::uint32_t left_of(std::string_view state);
std::uint32_t left_of(std::uint64_t state);

}  // namespace hostprobe::analysis
