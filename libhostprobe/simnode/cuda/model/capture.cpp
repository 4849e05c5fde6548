// See capture.h.
#include "capture.h"

#include "context.h"
#include "event.h"
#include "graph.h"
#include "node.h"
#include "stream.h"

#include <unistd.h>
#include <algorithm>
#include <set>

namespace simnode {

namespace {

std::vector<std::weak_ptr<Capture>>& captures() {
  static auto* const all = new std::vector<std::weak_ptr<Capture>>;
  return *all;
}

}  // namespace

void add_ends(std::vector<GraphNode*>& into, const std::vector<GraphNode*>& from) {
  for (GraphNode* node : from)
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
}

CUresult begin_capture(CUstream handle, Graph* graph, std::vector<GraphNode*> ends, CUstreamCaptureMode mode) {
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
  capture->thread = gettid();
  capture->ends[stream] = std::move(ends);
  stream->capture = capture;
  ++stream->context->captures;
  std::erase_if(captures(), [](auto& other) { return other.expired(); });
  captures().push_back(capture);
  return CUDA_SUCCESS;
}

void close_capture(const std::shared_ptr<Capture>& capture) {
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
  add_ends(from->ends[&stream], event.capture_ends);
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
  close_capture(capture);
  if (capture->own_graph) destroy_graph(*capture->graph);
}

static Stream* blocking_capture(const Stream& stream) {
  if (!stream.legacy || stream.context->captures == 0) return nullptr;
  for (Stream* other : stream.context->streams)
    if (other->capture != nullptr && other->blocking()) return other;
  return nullptr;
}

CUresult check_legacy_use(Stream& stream) {
  Stream* captured = blocking_capture(stream);
  if (captured == nullptr) return CUDA_SUCCESS;
  captured->capture->invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult check_legacy_question(const Stream& stream) {
  return blocking_capture(stream) == nullptr ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult check_unsafe_call() {
  CUstreamCaptureMode own = this_thread().capture_mode;
  if (own == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  for (auto& weak : captures()) {
    auto capture = weak.lock();
    if (capture == nullptr || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    bool others = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && own == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!others && capture->thread != gettid()) continue;
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

}  // namespace simnode
