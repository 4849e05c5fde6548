// See capture.h.
#include "capture.h"

#include "context.h"
#include "cuda/entries/entry.h"
#include "event.h"
#include "graph.h"
#include "node.h"
#include "stream.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <set>

namespace simnode {

namespace {

pid_t thread_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }

std::vector<std::weak_ptr<Capture>>& captures() {
  static auto* const all = new std::vector<std::weak_ptr<Capture>>;
  return *all;
}

void merge(std::vector<GraphNode*>& into, const std::vector<GraphNode*>& from) {
  for (GraphNode* node : from)
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
}

CUresult begin(CUstream handle, Graph* graph, std::vector<GraphNode*> ends, CUstreamCaptureMode mode) {
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  static uint64_t next_id = 1;
  auto capture = std::make_shared<Capture>();
  capture->id = next_id++;
  capture->own_graph = graph == nullptr;
  capture->graph = graph != nullptr ? graph : make_graph();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = thread_id();
  capture->ends[stream] = std::move(ends);
  stream->capture = capture;
  ++stream->context->captures;
  std::erase_if(captures(), [](auto& other) { return other.expired(); });
  captures().push_back(capture);
  return CUDA_SUCCESS;
}

// Lets go of all streams of the capture. The graph stays with the caller.
void close(const std::shared_ptr<Capture>& capture) {
  --capture->origin->context->captures;
  for (auto& [stream, ends] : capture->ends) stream->capture.reset();
}

bool all_joined(const Capture& capture) {
  std::set<GraphNode*> seen;
  std::vector<GraphNode*> open = capture.ends.at(capture.origin);
  while (!open.empty()) {
    GraphNode* node = open.back();
    open.pop_back();
    if (seen.insert(node).second) open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  for (auto& [stream, ends] : capture.ends)
    for (GraphNode* node : ends)
      if (seen.count(node) == 0) return false;
  return true;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

struct CaptureAnswer {
  CUstreamCaptureStatus* status;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  size_t* count = nullptr;
};

CUresult tell(CUstream handle, const CaptureAnswer& out) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (out.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out.status = status_of(*stream);
  if (*out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  Capture& capture = *stream->capture;
  if (out.id != nullptr) *out.id = capture.id;
  if (out.graph != nullptr) *out.graph = capture.graph->handle;
  capture.answer.clear();
  for (GraphNode* node : capture.ends[stream]) capture.answer.push_back(node->handle);
  if (out.dependencies != nullptr) *out.dependencies = capture.answer.data();
  if (out.count != nullptr) *out.count = capture.answer.size();
  return CUDA_SUCCESS;
}

CUresult find_nodes(const CUgraphNode* handles, size_t count, std::vector<GraphNode*>* nodes) {
  if (count != 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    auto* node = g_node->find<GraphNode>(handles[i]);
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    nodes->push_back(node);
  }
  return CUDA_SUCCESS;
}

CUresult update_dependencies(CUstream handle, const CUgraphNode* dependencies, size_t count, unsigned flags) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<GraphNode*> nodes;
  SIMNODE_TRY(find_nodes(dependencies, count, &nodes));
  auto& ends = stream->capture->ends[stream];
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) ends.clear();
  merge(ends, nodes);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult capture_work(Stream& stream, Work work) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!work.capturable) {
    capture.invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  auto& ends = capture.ends[&stream];
  GraphNode* node = add_node(*capture.graph, std::move(work), ends);
  ends = {node};
  return CUDA_SUCCESS;
}

CUresult capture_record(Stream& stream, Event& event, CUevent handle, unsigned flags) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags == CU_EVENT_RECORD_EXTERNAL) {
    Work work;
    work.node.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    work.node.event = handle;
    return capture_work(stream, std::move(work));
  }
  event.capture = stream.capture;
  event.capture_ends = capture.ends[&stream];
  return CUDA_SUCCESS;
}

CUresult capture_wait(Stream& stream, Event& event, CUevent handle, unsigned flags) {
  std::shared_ptr<Capture> from = event.capture.lock();
  if (stream.capture != nullptr && stream.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (from == nullptr) {
    if (flags == CU_EVENT_WAIT_EXTERNAL) {
      Work work;
      work.node.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
      work.node.event = handle;
      return capture_work(stream, std::move(work));
    }
    stream.capture->invalid = true;  // work outside the capture cannot be waited for inside it
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (stream.legacy) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (stream.capture != nullptr && stream.capture != from) {
    stream.capture->invalid = from->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  stream.capture = from;
  merge(from->ends[&stream], event.capture_ends);
  return CUDA_SUCCESS;
}

CUresult capture_violated(Stream& stream) {
  stream.capture->invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

bool still_capturing(const Event& event) { return !event.capture.expired(); }

void abandon_capture(Stream& stream) {
  std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return;
  if (capture->origin != &stream) {
    capture->invalid = true;
    capture->ends.erase(&stream);
    stream.capture.reset();
    return;
  }
  close(capture);
  if (capture->own_graph) destroy_graph(*capture->graph);
}

CUresult check_legacy_use(Stream& stream) {
  if (!stream.legacy || stream.context->captures == 0) return CUDA_SUCCESS;
  for (Stream* other : stream.context->streams) {
    if (other->capture == nullptr || !other->blocking()) continue;
    other->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return CUDA_SUCCESS;
}

CUresult check_unsafe_call() {
  CUstreamCaptureMode own = this_thread().capture_mode;
  if (own == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  for (auto& weak : captures()) {
    auto capture = weak.lock();
    if (capture == nullptr || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    bool others = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && own == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!others && capture->thread != thread_id()) continue;
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  return begin(stream, nullptr, {}, mode);
}

SIMNODE_ENTRY(cuStreamBeginCapture)(CUstream stream) {
  return entry_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

SIMNODE_ENTRY(cuStreamBeginCaptureToGraph)
(CUstream stream, CUgraph handle, const CUgraphNode* dependencies, const CUgraphEdgeData*, size_t count,
 CUstreamCaptureMode mode) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto* graph = g_node->find<Graph>(handle);
  std::vector<GraphNode*> ends;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(find_nodes(dependencies, count, &ends));
  return begin(stream, graph, std::move(ends), mode);
}

SIMNODE_ENTRY(cuStreamEndCapture)(CUstream handle, CUgraph* graph) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = nullptr;
  std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != thread_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  bool joined = all_joined(*capture);
  close(capture);
  if (capture->invalid || !joined) {
    if (capture->own_graph) destroy_graph(*capture->graph);
    return capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  *graph = capture->graph->handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuStreamIsCapturing)(CUstream handle, CUstreamCaptureStatus* status) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(check_legacy_use(*stream));
  *status = status_of(*stream);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuStreamGetCaptureInfo)(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return tell(stream, {status, id});
}

SIMNODE_ENTRY(cuStreamGetCaptureInfo_v2)
(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** dependencies,
 size_t* count) {
  return tell(stream, {status, id, graph, dependencies, count});
}

SIMNODE_ENTRY(cuStreamGetCaptureInfo_v3)
(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** dependencies,
 const CUgraphEdgeData** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;  // no edge of a captured graph carries data here
  return tell(stream, {status, id, graph, dependencies, count});
}

SIMNODE_ENTRY(cuStreamUpdateCaptureDependencies)
(CUstream stream, CUgraphNode* dependencies, size_t count, unsigned int flags) {
  return update_dependencies(stream, dependencies, count, flags);
}

SIMNODE_ENTRY(cuStreamUpdateCaptureDependencies_v2)
(CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData*, size_t count, unsigned int flags) {
  return update_dependencies(stream, dependencies, count, flags);
}

SIMNODE_ENTRY(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) {
  SIMNODE_TRY(ready());
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  std::swap(this_thread().capture_mode, *mode);
  return CUDA_SUCCESS;
}

}  // namespace simnode
