// Capture of streams into graphs, as a program begins, asks and ends it.
#include "cuda/model/capture.h"
#include "cuda/model/context.h"
#include "cuda/model/graph.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <unistd.h>

namespace simnode {

namespace {

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
  SIMNODE_TRY(check_legacy_question(*stream));
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
  add_ends(ends, nodes);
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  return begin_capture(stream, nullptr, {}, mode);
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
  return begin_capture(stream, graph, std::move(ends), mode);
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
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != gettid())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  bool joined = all_joined(*capture);
  close_capture(capture);
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
  SIMNODE_TRY(check_legacy_question(*stream));
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
