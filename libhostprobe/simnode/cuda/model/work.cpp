// See work.h.
#include "work.h"

#include "capture.h"
#include "context.h"
#include "device.h"
#include "launch.h"
#include "node.h"

#include <algorithm>

namespace simnode {

int ordinal_of(const Context& context) { return context.device->ordinal; }

int64_t launch_moment_ns(int64_t submit_ns) { return g_activities ? std::min(submit_ns, now_ns()) : 0; }

ActivityLabel launched_now(ActivityLabel label, int64_t launch_ns) {
  if (!g_activities || label.type == hostprobe::kActivityNone) return label;
  label.launch_tid = launching_tid();
  label.launch_ns = launch_ns;
  return label;
}

int64_t duration_now_ns(const Work& work) {
  return work.node.type == CU_GRAPH_NODE_TYPE_KERNEL ? slowed_ns(work.duration_ns) : work.duration_ns;
}

CUresult submit_work_locked(Stream& stream, Work work, int64_t submit_ns) {
  if (stream.capture != nullptr) return capture_work(stream, std::move(work));
  SIMNODE_TRY(check_legacy_use(stream));
  order_with_legacy(stream, submit_ns);
  Op op;
  op.what = what_of(work);
  op.submit_ns = submit_ns;
  op.duration_ns = duration_now_ns(work);
  op.effect = std::move(work.effect);
  op.label = launched_now(work.label, launch_moment_ns(submit_ns));
  op.kernel = is_varying_kernel(work);
  if (work.node.type == CU_GRAPH_NODE_TYPE_KERNEL) op.launch = stream.launches.take(g_node->settings.queue);
  Context* context = stream.context;
  if (work.waits) {
    submit_and_wait(stream, std::move(op), context->wait_mode());
    return context->failure;
  }
  submit(stream, std::move(op));
  return CUDA_SUCCESS;
}

CUresult submit_work(CUstream handle, Work work) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  return submit_work_locked(*stream, std::move(work), now_ns());
}

}  // namespace simnode
