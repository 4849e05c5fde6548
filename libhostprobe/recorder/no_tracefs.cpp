// no_tracefs.cpp: see source.h and tracefs.h; of a build without libtracefs and libtraceevent.
#include <stdexcept>

#include "source.h"
#include "tracefs.h"

namespace hostprobe::kernel {

std::unique_ptr<Source> open_tracefs_source(const SchedOptions&, const Tell&) {
  throw std::runtime_error(
      "this hostprobe was built without libtracefs and libtraceevent: install libtracefs-dev and libtraceevent-dev and "
      "build it again");
}

std::string reach_tracefs() { return "this hostprobe was built without libtracefs and libtraceevent"; }
int sweep_instances() { return 0; }

}  // namespace hostprobe::kernel
