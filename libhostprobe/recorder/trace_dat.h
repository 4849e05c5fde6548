// trace_dat.h: a file of trace-cmd, read through libtracecmd.
//
// Room kernel/. The library was written for files of its own program and trusts them; so it reads in a process of its own, which
// may end as it likes: what it told until then is used.
#pragma once

#include <functional>
#include <string>

#include "import/ftrace/kernel_clock.h"
#include "import/ftrace/kernel_table.h"

namespace hostprobe::kernel {

using TraceDatReader =
    std::function<std::string(const std::string& path, analysis::KernelTable&, analysis::TraceTimes&)>;

// Empty where hostprobe was built without libtracecmd.
TraceDatReader trace_dat_reader();

}  // namespace hostprobe::kernel
