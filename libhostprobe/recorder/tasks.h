// tasks.h: what /proc tells of tasks whose numbers the kernel's trace names.
//
// Room kernel/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hostprobe::kernel {

struct TaskStatus {
  std::uint32_t process = 0;
  std::uint32_t inside = 0;  // its id in the innermost namespace of processes that it lives in
  std::uint64_t switches = 0;
  std::string name;
};

// Nothing: it has ended.
std::optional<TaskStatus> task_status(int tid);
bool is_alive(int pid);

// Numbers of tasks are the same for the kernel's trace and for us.
bool in_first_namespace();

}  // namespace hostprobe::kernel
