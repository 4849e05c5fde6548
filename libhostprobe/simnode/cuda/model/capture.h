// Stream capture: while a stream is captured, work submitted to it becomes nodes of a graph. Other streams join by waiting
// for an event that was recorded in a captured one, and must be joined back before the capture ends.
#pragma once
#include "work.h"

#include <cuda.h>
#include <sys/types.h>
#include <map>
#include <memory>
#include <vector>

namespace simnode {

struct Event;
struct Graph;
struct GraphNode;
struct Stream;

struct Capture {
  uint64_t id = 0;
  Graph* graph = nullptr;
  bool own_graph = true;  // false: cuStreamBeginCaptureToGraph
  Stream* origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  pid_t thread = 0;
  bool invalid = false;
  std::map<Stream*, std::vector<GraphNode*>> ends;  // per captured stream: what its next node depends on
  std::vector<CUgraphNode> answer;                  // memory behind cuStreamGetCaptureInfo's array
};

// All with the node's lock held. Violations invalidate the capture, as in CUDA.
CUresult capture_work(Stream& stream, Work work);
CUresult capture_record(Stream& stream, Event& event, CUevent handle, unsigned flags);
CUresult capture_wait(Stream& stream, Event& event, CUevent handle, unsigned flags);
CUresult capture_violated(Stream& stream);
bool still_capturing(const Event& event);
void abandon_capture(Stream& stream);
// Null graph: the capture makes its own.
CUresult begin_capture(CUstream handle, Graph* graph, std::vector<GraphNode*> ends, CUstreamCaptureMode mode);
// Releases all streams of the capture. The graph stays with the caller.
void close_capture(const std::shared_ptr<Capture>& capture);
// Whether every captured stream has been joined back into the one where the capture began.
bool all_joined(const Capture& capture);
void add_ends(std::vector<GraphNode*>& into, const std::vector<GraphNode*>& from);
// The legacy default stream may not be used while a blocking stream of its context is captured.
CUresult check_legacy_use(Stream& stream);
// Asking about it then is refused too, and leaves the capture as it is.
CUresult check_legacy_question(const Stream& stream);
// Calls that could synchronise behind the program's back (allocation) are refused while a capture forbids them.
CUresult check_unsafe_call();

}  // namespace simnode
