// captures.h: which launches a stream capture took: they run nothing, and become nodes of a graph.
//
// Room 2 (probe/). How many captures are open is counted by every call that begins or ends one (Gate::captures); while that is
// not 0, each launch that succeeded asks the driver about its own stream, which captures survive. So a stream that joined a
// capture by waiting for an event is known as one, and what other threads launch elsewhere meanwhile is not marked.
#pragma once

#include <cuda.h>

#include "probe/record/gate.h"
#include "probe/record/shelter.h"

namespace hostprobe::probe {

// While it lives the calling thread may ask the driver: no capture can be harmed by it. One of another thread in the mode
// "global" forbids such calls to threads whose own mode is not "relaxed". What our calls do inside the driver is no wait of the
// program's, and a signal handler runs after it.
class BesideCaptures {
 public:
  BesideCaptures();
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;
  // False: a capture takes what is put into this stream, or nobody can tell.
  bool may_use(const void* stream, bool per_thread) const;

 private:
  Shelter shelter_;
  int errno_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool relaxed_;
};
// The driver lacks what that needs.
bool cannot_ask_beside_captures();

// A launch into this stream succeeded while some capture was open: where a capture took it, the next record of this thread, which is
// its own, carries kRecordCaptured.
void mark_captured(const void* stream, bool per_thread);

struct Captured {};
Captured track_capture_begun(CUresult result);
Captured track_capture_ended(CUresult result);

}  // namespace hostprobe::probe
