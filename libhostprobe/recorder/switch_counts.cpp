// switch_counts.cpp: see switch_counts.h.
#include "switch_counts.h"

#include <algorithm>

#include "tasks.h"

namespace hostprobe::kernel {

void SwitchCounts::begin(const std::vector<int>& tids, int program) {
  for (const int tid : tids)
    if (const auto status = task_status(tid)) before_[static_cast<std::uint32_t>(tid)] = status->switches;
  has_program_ = program != 0;
  if (has_program_) program_before_ = before_[static_cast<std::uint32_t>(program)];
}

void SwitchCounts::end() {
  for (const auto& [tid, before] : before_)
    if (const auto status = task_status(static_cast<int>(tid))) after_[tid] = status->switches;
}

std::uint64_t SwitchCounts::missing(std::uint64_t switches, const std::function<std::uint64_t(std::uint32_t tid)>& seen,
                                    const std::function<std::uint64_t()>& seen_of_program) const {
  if (has_program_) {
    if (switches <= program_before_) return 0;
    const std::uint64_t expected = switches - program_before_;
    return expected - std::min(expected, seen_of_program());
  }
  std::uint64_t missing = 0;
  for (const auto& [tid, after] : after_) {
    const std::uint64_t expected = after - std::min(after, before_.at(tid));
    missing += expected - std::min(expected, seen(tid));
  }
  return missing;
}

}  // namespace hostprobe::kernel
