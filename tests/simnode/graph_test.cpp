#include "node_test.h"
#include "simnode.h"

#include <atomic>
#include <thread>

using Graphs = NodeTest;

namespace {

void CUDA_CB count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

int write_on_host(const simnode_launch* launch, void*) {
  **static_cast<uint32_t**>(launch->parameters[0]) += 1;
  return 0;
}

}  // namespace

TEST_F(Graphs, CapturedWorkRunsOnlyWhenLaunched) {
  CUstream one = stream();
  std::atomic<int> runs{0};
  OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch("k100", one));
  OK(cuLaunchHostFunc(one, count_up, &runs));
  OK(launch("k100", one));
  CUgraph graph;
  OK(cuStreamEndCapture(one, &graph));
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(runs, 0);
  size_t count;
  OK(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 3u);
  CUgraphExec exec;
  OK(cuGraphInstantiate(&exec, graph, 0));
  OK(cuGraphDestroy(graph));  // the executable form stands on its own
  for (int i = 0; i < 3; ++i) OK(cuGraphLaunch(exec, one));
  OK(cuStreamSynchronize(one));
  EXPECT_EQ(runs, 3);
  OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, one), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, BranchesOverlapInVirtualTime) {
  CUgraph graph;
  OK(cuGraphCreate(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS params{};
  params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  CUgraphNode root, left, right, end;
  params.func = function("k100");
  OK(cuGraphAddKernelNode(&root, graph, nullptr, 0, &params));
  params.func = function("k1000");
  OK(cuGraphAddKernelNode(&left, graph, &root, 1, &params));
  params.func = function("k100");
  OK(cuGraphAddKernelNode(&right, graph, &root, 1, &params));
  CUgraphNode both[] = {left, right};
  OK(cuGraphAddKernelNode(&end, graph, both, 2, &params));
  CUgraphExec exec;
  OK(cuGraphInstantiate(&exec, graph, 0));
  CUstream one = stream();
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  CUevent before = recorded(one);
  OK(cuGraphLaunch(exec, one));
  CUevent after = recorded(one);
  gate.open = true;
  OK(cuStreamSynchronize(one));
  EXPECT_FLOAT_EQ(elapsed_us(before, after), 1200);
}

TEST_F(Graphs, CapturedKernelsReallyCompute) {
  OK(cuModuleUnload(module_));
  OK(cuModuleLoadData(&module_, "simnode-module 1\nkernel write 8\n"));
  ASSERT_EQ(simnode_register("write", write_on_host, nullptr), 1);
  CUstream one = stream();
  CUdeviceptr cell = allocate(4), copy = allocate(4);
  OK(cuMemsetD32(cell, 0, 1));
  OK(cuCtxSynchronize());
  void* parameters[] = {&cell};
  OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(launch(function("write"), one, parameters));
  OK(launch(function("write"), one, parameters));
  OK(cuMemcpyDtoDAsync(copy, cell, 4, one));
  CUgraph graph;
  CUgraphExec exec;
  OK(cuStreamEndCapture(one, &graph));
  OK(cuGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 5; ++i) OK(cuGraphLaunch(exec, one));
  OK(cuStreamSynchronize(one));
  uint32_t seen = 0;
  OK(cuMemcpyDtoH(&seen, copy, 4));
  EXPECT_EQ(seen, 10u);
  simnode_register("write", nullptr, nullptr);
}

TEST_F(Graphs, CaptureFollowsEventsIntoOtherStreams) {
  CUstream one = stream(), two = stream();
  CUevent fork = event(), join = event();
  OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch("k10", one));
  OK(cuEventRecord(fork, one));
  OK(cuStreamWaitEvent(two, fork, 0));
  CUstreamCaptureStatus status;
  OK(cuStreamIsCapturing(two, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK(launch("k10", two));
  OK(cuEventRecord(join, two));
  EXPECT_EQ(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
  OK(cuStreamWaitEvent(one, join, 0));
  OK(launch("k10", one));
  CUgraph graph;
  EXPECT_EQ(cuStreamEndCapture(two, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  OK(cuStreamEndCapture(one, &graph));
  size_t nodes, edges;
  OK(cuGraphGetNodes(graph, nullptr, &nodes));
#if CUDA_VERSION >= 13000
  OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
  OK(cuGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(edges, 3u);
  OK(cuStreamIsCapturing(two, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(Graphs, ViolationsInvalidateTheCapture) {
  CUstream one = stream();
  CUgraph graph;
  OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuStreamSynchronize(one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(launch("k10", one), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_ERROR_ILLEGAL_STATE);
  OK(launch("k10", one));  // the stream works again
  OK(cuStreamSynchronize(one));
}

TEST_F(Graphs, UnjoinedStreamsFailTheCapture) {
  CUstream one = stream(), two = stream();
  CUgraph graph;
  OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch("k10", one));
  OK(cuStreamWaitEvent(two, recorded(one), 0));
  OK(launch("k10", two));
  EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_F(Graphs, AllocationIsUnsafeWhileCapturingUnlessRelaxed) {
  CUstream one = stream();
  CUgraph graph;
  CUdeviceptr pointer;
  OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuMemAlloc(&pointer, 16));
  OK(cuStreamEndCapture(one, &graph));
  OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemAlloc(&pointer, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Graphs, TheLegacyStreamCannotBeCapturedNorUsedBeside) {
  CUgraph graph;
  CUstream blocking = stream(CU_STREAM_DEFAULT);
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureStatus status;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  OK(cuStreamIsCapturing(blocking, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE) << "asking spoils nothing";
  EXPECT_EQ(launch("k10", nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Graphs, UpdateTakesOverNewArgumentsAndRefusesAnotherShape) {
  CUstream one = stream();
  auto capture = [&](int kernels, const char* name) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    for (int i = 0; i < kernels; ++i) EXPECT_EQ(launch(name, one), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    return graph;
  };
  CUgraphExec exec;
  CUgraphExecUpdateResultInfo info;
  OK(cuGraphInstantiate(&exec, capture(2, "k100"), 0));
  OK(cuGraphExecUpdate(exec, capture(2, "k1000"), &info));
  EXPECT_EQ(cuGraphExecUpdate(exec, capture(3, "k1000"), &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  Gate gate;
  OK(cuLaunchHostFunc(one, Gate::wait, &gate));
  CUevent before = recorded(one);
  OK(cuGraphLaunch(exec, one));
  CUevent after = recorded(one);
  gate.open = true;
  OK(cuStreamSynchronize(one));
  EXPECT_FLOAT_EQ(elapsed_us(before, after), 2000);
}

TEST_F(Graphs, CyclesAndForeignNodesAreRefused) {
  CUgraph graph, other;
  CUgraphNode a, b, foreign;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphCreate(&other, 0));
  OK(cuGraphAddEmptyNode(&a, graph, nullptr, 0));
  OK(cuGraphAddEmptyNode(&b, graph, &a, 1));
  OK(cuGraphAddEmptyNode(&foreign, other, nullptr, 0));
  CUgraphNode made;
  EXPECT_EQ(cuGraphAddEmptyNode(&made, graph, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
#if CUDA_VERSION >= 13000
  OK(cuGraphAddDependencies(graph, &b, &a, nullptr, 1));
#else
  OK(cuGraphAddDependencies(graph, &b, &a, 1));
#endif
  CUgraphExec exec;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(reinterpret_cast<CUgraph>(0x5)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, ChildGraphsRunInTheirPlace) {
  CUgraph inner, outer;
  CUgraphNode node, child;
  std::atomic<int> runs{0};
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = count_up;
  host.userData = &runs;
  OK(cuGraphCreate(&inner, 0));
  OK(cuGraphAddHostNode(&node, inner, nullptr, 0, &host));
  OK(cuGraphCreate(&outer, 0));
  OK(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
  OK(cuGraphAddHostNode(&node, outer, &child, 1, &host));
  OK(cuGraphDestroy(inner));
  CUgraphExec exec;
  OK(cuGraphInstantiate(&exec, outer, 0));
  OK(cuGraphLaunch(exec, nullptr));
  OK(cuCtxSynchronize());
  EXPECT_EQ(runs, 2);
}
