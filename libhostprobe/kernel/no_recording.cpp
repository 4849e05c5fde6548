// no_recording.cpp: see recording.h; of a build without libtracefs and libtraceevent.
#include <stdexcept>

#include "recording.h"
#include "tracefs.h"

namespace hostprobe::kernel {

Recording::Recording(SchedOptions options) : options_(std::move(options)) {}
Recording::~Recording() = default;

void Recording::start() {
  throw std::runtime_error(
      "this hostprobe was built without libtracefs and libtraceevent: install libtracefs-dev and libtraceevent-dev, "
      "and "
      "build it again");
}

std::string reach_tracefs() { return "this hostprobe was built without libtracefs and libtraceevent"; }
int sweep_instances() { return 0; }

bool Recording::hold() { return false; }
void Recording::let_go() {}
void Recording::wait() {}
RecordingEnd Recording::stop(std::uint64_t) { return {}; }

}  // namespace hostprobe::kernel
