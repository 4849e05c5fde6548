// task_names.cpp: see task_names.h.
#include "task_names.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "tasks.h"

namespace hostprobe::kernel {

bool add_task_name(std::uint32_t tid, std::uint64_t ticks, analysis::KernelNameTable& names) {
  const auto status = task_status(static_cast<int>(tid));
  if (!status) return false;
  names.add_task(tid, ticks, status->name, status->process);
  if (status->inside != 0 && status->inside != tid) names.add_inside(tid, status->inside);
  return true;
}

void add_irq_name(std::uint32_t number, analysis::KernelNameTable& names) {
  std::ifstream file(fmt::format("/sys/kernel/irq/{}/actions", number));
  std::string name;
  if (std::getline(file, name) && !name.empty()) names.add_irq(number, name);
}

}  // namespace hostprobe::kernel
