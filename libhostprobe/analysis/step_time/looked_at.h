// looked_at.h: when somebody asked what a thread was at, and when nobody did.
//
// Room 3. What a thread lost while nobody waited for it made no step later. Without its cause that is gone as well, and else would be
// the next to be waited for: a what-if leaves out both.
#pragma once

#include <cstddef>
#include <vector>

#include "answer/window.h"

namespace hostprobe::analysis {

class LookedAt {
 public:
  void add(const Window& window) { windows_.push_back(window); }
  // Of that window, the rest. For windows that follow each other, when all are added.
  std::vector<Window> rest_of(const Window& window);

 private:
  std::vector<Window> windows_;  // by begin once they are asked for
  std::size_t next_ = 0;
  bool is_sorted_ = false;
};

}  // namespace hostprobe::analysis
