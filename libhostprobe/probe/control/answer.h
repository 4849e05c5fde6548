// answer.h: the text of an answer to `hostprobe ctl`, in the shared memory.
//
// Room 2 (probe/). The writer thread. What does not fit is left out.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "format/segment.h"

namespace hostprobe::probe {

class Answer {
 public:
  explicit Answer(Control& control) : control_(control) { control_.answer[0] = 0; }

  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list list;
    va_start(list, format);
    int more = vsnprintf(control_.answer + used_, sizeof control_.answer - used_, format, list);
    va_end(list);
    if (more > 0 && used_ + static_cast<std::size_t>(more) < sizeof control_.answer)
      used_ += static_cast<std::size_t>(more);
    control_.answer[used_] = 0;
  }

 private:
  Control& control_;
  std::size_t used_ = 0;
};

}  // namespace hostprobe::probe
