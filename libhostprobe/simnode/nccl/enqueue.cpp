// See enqueue.h.
#include "enqueue.h"

#include "driver.h"
#include "last_error.h"
#include "node/clock.h"
#include "node/simnode.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace simnode::nccl {

namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kMostChannels = 16;
constexpr size_t kBytesPerChannel = 64 << 10;

// The one argument of every kernel, as the launch copies it.
struct Argument {
  Plan* plan;
  char rest[kArgumentBytes - sizeof(Plan*)];
};

// Runs on the stream's own thread when the kernel's turn has come. Owns the plan, unless a graph does.
int run_kernel(const simnode_launch* launch, void*) {
  Argument argument;
  memcpy(&argument, launch->parameters[0], sizeof argument);
  Plan* plan = argument.plan;
  std::shared_ptr<Run> run = plan->run;
  std::unique_ptr<Plan> owned(run != nullptr ? plan : nullptr);
  std::shared_ptr<Communicator> communicator = plan->communicator;
  if (run == nullptr) {
    run = std::make_shared<Run>();
    run->plan = plan;
    run->state.store(Run::kBegun);
    run->start_ns = launch->start_ns;
    communicator->progress().post_begun(run);
  }
  communicator->progress().begin_and_wait(*run, launch->start_ns);
  *launch->end_ns = run->end_ns;
  return run->result;
}

void register_kernels() {
  static const bool once = [] {
    size_t count;
    const char* const* names = all_kernel_names(&count);
    for (size_t i = 0; i < count; ++i) driver()->register_waiting_kernel(names[i], run_kernel, nullptr);
    return true;
  }();
  (void)once;
}

// The other streams of the group wait for its kernel, and it for them, by events.
ncclResult_t wait_for(CUstream waiter, CUstream other) {
  const Driver* cuda = driver();
  CUevent event;
  NCCL_TRY(check_cuda(cuda->create_event(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
  ncclResult_t result = check_cuda(cuda->record_event(event, other), "cuEventRecord");
  if (result == ncclSuccess) result = check_cuda(cuda->wait_event(waiter, event, 0), "cuStreamWaitEvent");
  cuda->destroy_event(event);
  return result;
}

std::vector<CUstream> streams_of(const std::vector<Call>& calls) {
  std::vector<CUstream> all;
  for (const Call& call : calls)
    if (std::find(all.begin(), all.end(), call.stream) == all.end()) all.push_back(call.stream);
  return all;
}

std::unique_ptr<Plan> make_plan(const std::shared_ptr<Communicator>& communicator, const std::vector<Call>& calls) {
  auto plan = std::make_unique<Plan>();
  plan->communicator = communicator;
  for (const Call& call : calls)
    for (const Work& work : call.works)
      (work.point_to_point() ? plan->point_to_point : plan->collectives).push_back(work);
  return plan;
}

unsigned channels_for(const Plan& plan) {
  size_t bytes = 0;
  for (const auto* works : {&plan.collectives, &plan.point_to_point})
    for (const Work& work : *works) bytes = std::max(bytes, work.count);
  return static_cast<unsigned>(std::clamp<size_t>(bytes / kBytesPerChannel, 1, kMostChannels));
}

ncclResult_t launch_kernel(const Communicator& communicator, Plan* plan, CUstream stream) {
  const Work& first = plan->collectives.empty() ? plan->point_to_point.front() : plan->collectives.front();
  CUfunction function;
  NCCL_TRY(find_kernel(communicator.context(), kernel_name(first.kind, first.op, first.type), &function));
  Argument argument{};
  argument.plan = plan;
  size_t bytes = sizeof argument;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &argument, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CUlaunchConfig config{};
  config.gridDimX = channels_for(*plan);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = kThreads;
  config.hStream = stream;
  return check_cuda(driver()->launch(&config, function, nullptr, extra), "cuLaunchKernelEx");
}

ncclResult_t launch_plan(Communicator& communicator, std::unique_ptr<Plan> plan, CUstream stream) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  NCCL_TRY(check_cuda(driver()->is_capturing(stream, &capture), "cuStreamIsCapturing"));
  if (capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    NCCL_TRY(launch_kernel(communicator, plan.get(), stream));
    plan.release();  // the graph's for ever: nothing says when the last copy of a graph has gone
    return ncclSuccess;
  }
  auto run = std::make_shared<Run>();
  run->plan = plan.get();
  plan->run = run;
  communicator.progress().post(run);
  ncclResult_t result = launch_kernel(communicator, plan.get(), stream);
  if (result == ncclSuccess)
    plan.release();  // run_kernel's now
  else
    communicator.progress().take_back(run);
  return result;
}

// A rank that is "missing" does not get as far as entering the collective, as if its host thread were stuck before.
ncclResult_t stay_away(Communicator& communicator) {
  int64_t end_ns = fault_end_ns(FaultKind::kMissingRank, communicator.world_rank(), now_ns());
  if (end_ns < 0) return ncclSuccess;
  return communicator.wait_host([&] { return now_ns() >= end_ns; }, true);
}

}  // namespace

ncclResult_t prepare(Communicator& communicator, const std::vector<Call>& calls) {
  if (settings().enqueue_ns > 0) spin_until(now_ns() + settings().enqueue_ns);
  NCCL_TRY(stay_away(communicator));
  std::vector<Work> messages;
  bool collectives = false;
  for (const Call& call : calls)
    for (const Work& work : call.works) {
      if (work.point_to_point())
        messages.push_back(work);
      else
        collectives = true;
    }
  if (collectives) NCCL_TRY(communicator.connect());
  return communicator.connect_pairs(messages);
}

ncclResult_t launch(const std::shared_ptr<Communicator>& communicator, const std::vector<Call>& calls) {
  register_kernels();
  CurrentContext current(communicator->context());
  std::vector<CUstream> streams = streams_of(calls);
  for (size_t i = 1; i < streams.size(); ++i) NCCL_TRY(wait_for(streams[0], streams[i]));
  NCCL_TRY(launch_plan(*communicator, make_plan(communicator, calls), streams[0]));
  for (size_t i = 1; i < streams.size(); ++i) NCCL_TRY(wait_for(streams[i], streams[0]));
  return ncclSuccess;
}

}  // namespace simnode::nccl
