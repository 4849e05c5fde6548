// switch_counts.h: how often the kernel itself counted that threads were switched, to hold a recording against it.
//
// Room kernel/.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace hostprobe::kernel {

class SwitchCounts {
 public:
  // When recording begins. `program`: the one of `tids` that is held until then, 0 = none.
  void begin(const std::vector<int>& tids, int program);
  // Before recording ends: what comes after it is nobody's loss.
  void end();
  // What it counted in between and nobody saw. `switches`: of the program and all that it started and waited for; 0 = not known.
  std::uint64_t missing(std::uint64_t switches, const std::function<std::uint64_t(std::uint32_t tid)>& seen,
                        const std::function<std::uint64_t()>& seen_of_program) const;

 private:
  std::unordered_map<std::uint32_t, std::uint64_t> before_, after_;
  std::uint64_t program_before_ = 0;
  bool has_program_ = false;
};

}  // namespace hostprobe::kernel
