// no_trace_dat.cpp: see trace_dat.h; of a build without libtracecmd.
#include "trace_dat.h"

namespace hostprobe::kernel {

TraceDatReader trace_dat_reader() { return {}; }

}  // namespace hostprobe::kernel
