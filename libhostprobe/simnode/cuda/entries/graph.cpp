// Graphs as a program makes, asks, changes and launches them.
#include "cuda/model/graph.h"
#include "cuda/model/capture.h"
#include "cuda/model/copy.h"
#include "cuda/model/event.h"
#include "cuda/model/launch.h"
#include "cuda/model/module.h"
#include "cuda/model/node.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <algorithm>

namespace simnode {

namespace {

template <class T>
CUresult find(const void* handle, T** object) {
  SIMNODE_TRY(ready());
  *object = g_node->find<T>(handle);
  return *object == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find_dependencies(const Graph& graph, const CUgraphNode* handles, size_t count,
                           std::vector<GraphNode*>* found) {
  if (count != 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    auto* node = g_node->find<GraphNode>(handles[i]);
    if (node == nullptr || node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    found->push_back(node);
  }
  return CUDA_SUCCESS;
}

// Opens graph and dependencies, lets `fill` describe the work, and adds the node.
template <class Fill>
CUresult add(CUgraphNode* handle, CUgraph graph_handle, const CUgraphNode* dependencies, size_t count, Fill fill) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(graph_handle, &graph));
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> found;
  SIMNODE_TRY(find_dependencies(*graph, dependencies, count, &found));
  Work work;
  SIMNODE_TRY(fill(&work));
  *handle = add_node(*graph, std::move(work), std::move(found))->handle;
  return CUDA_SUCCESS;
}

CUresult fill_kernel(const CUDA_KERNEL_NODE_PARAMS& params, Work* work) {
  const void* handle = params.func != nullptr ? static_cast<const void*>(params.func) : params.kern;
  Function* function = find_function(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LaunchShape shape{{params.gridDimX, params.gridDimY, params.gridDimZ},
                    {params.blockDimX, params.blockDimY, params.blockDimZ},
                    params.sharedMemBytes};
  SIMNODE_TRY(check_launch(*function, shape, params.kernelParams, params.extra));
  SIMNODE_TRY(kernel_work(*function, shape, params.kernelParams, params.extra, work));
  work->node.kernel.func = params.func;
  work->node.kernel.kern = params.kern;
  work->node.kernel.ctx = params.ctx;
  return CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS widened(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = old.func;
  params.gridDimX = old.gridDimX, params.gridDimY = old.gridDimY, params.gridDimZ = old.gridDimZ;
  params.blockDimX = old.blockDimX, params.blockDimY = old.blockDimY, params.blockDimZ = old.blockDimZ;
  params.sharedMemBytes = old.sharedMemBytes;
  params.kernelParams = old.kernelParams;
  params.extra = old.extra;
  return params;
}

CUresult fill_host(const CUDA_HOST_NODE_PARAMS& params, Work* work) {
  if (params.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  work->callback = true;
  work->node.type = CU_GRAPH_NODE_TYPE_HOST;
  work->node.host = {params.fn, params.userData};
  work->effect = [params] {
    params.fn(params.userData);
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

CUresult fill_copy(const CUDA_MEMCPY3D& copy, Work* work) {
  if (copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  bool from, to;
  return copy_work(copy, work, &from, &to);
}

CUresult instantiate(CUgraphExec* handle, CUgraph graph_handle) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(graph_handle, &graph));
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (has_cycle(*graph)) return CUDA_ERROR_INVALID_VALUE;
  auto* exec = new Exec;
  flatten(*graph, *exec);
  measure(*exec);
  exec->handle = static_cast<CUgraphExec>(g_node->handles.add(Kind::kExec, exec));
  *handle = exec->handle;
  return CUDA_SUCCESS;
}

CUresult launch_locked(CUgraphExec handle, CUstream stream_handle, int64_t cost_ns, int64_t* call_end_ns) {
  MutexLock lock(g_mutex);
  Exec* exec;
  Stream* stream;
  SIMNODE_TRY(find(handle, &exec));
  SIMNODE_TRY(find_stream(stream_handle, &stream));
  if (stream->capture != nullptr) return capture_violated(*stream);
  SIMNODE_TRY(check_legacy_use(*stream));
  if (!has_room(*stream, *call_end_ns)) {
    SIMNODE_TRY(wait_for_room(stream_handle));
    SIMNODE_TRY(find(handle, &exec));
    SIMNODE_TRY(find_stream(stream_handle, &stream));
    *call_end_ns = now_ns() + cost_ns;
  }
  order_with_legacy(*stream, *call_end_ns);
  submit_exec(*exec, *stream, *call_end_ns);
  return CUDA_SUCCESS;
}

// Same shape: as many nodes of the same types with the same dependencies. Then the new contents are taken over.
CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphNode* error_node, CUgraphExecUpdateResult* why) {
  MutexLock lock(g_mutex);
  Exec* exec;
  Graph* graph;
  SIMNODE_TRY(find(handle, &exec));
  SIMNODE_TRY(find(graph_handle, &graph));
  Exec fresh;
  flatten(*graph, fresh);
  *error_node = nullptr;
  *why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  if (fresh.dependencies != exec->dependencies) *why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (size_t i = 0; *why == CU_GRAPH_EXEC_UPDATE_SUCCESS && i < fresh.nodes.size(); ++i) {
    if (fresh.nodes[i].work.node.type == exec->nodes[i].work.node.type) continue;
    *why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    *error_node = fresh.nodes[i].source;
  }
  if (*why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  exec->nodes = std::move(fresh.nodes);
  measure(*exec);
  return CUDA_SUCCESS;
}

CUresult set_exec_kernel(CUgraphExec handle, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& params) {
  MutexLock lock(g_mutex);
  Exec* exec;
  SIMNODE_TRY(find(handle, &exec));
  for (ExecNode& inside : exec->nodes) {
    if (inside.source != node || inside.work.node.type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    Work work;
    SIMNODE_TRY(fill_kernel(params, &work));
    inside.work = std::move(work);
    measure(*exec);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult set_kernel(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS& params) {
  MutexLock lock(g_mutex);
  GraphNode* node;
  SIMNODE_TRY(find(handle, &node));
  if (node->work.node.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  SIMNODE_TRY(fill_kernel(params, &work));
  node->work = std::move(work);
  return CUDA_SUCCESS;
}

// As with all of CUDA's listing calls: a null array asks for the number, a larger one is padded with nulls.
CUresult list(const std::vector<CUgraphNode>& all, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr)
    for (size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? all[i] : nullptr;
  *count = out == nullptr ? all.size() : std::min(*count, all.size());
  return CUDA_SUCCESS;
}

CUresult list_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(handle, &graph));
  std::vector<CUgraphNode> sources, targets;
  for (const GraphNode* node : graph->nodes)
    for (const GraphNode* dependency : node->dependencies) {
      sources.push_back(dependency->handle);
      targets.push_back(node->handle);
    }
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  size_t wanted = *count;
  SIMNODE_TRY(list(sources, from, count));
  return list(targets, to, from == nullptr ? count : &wanted);
}

CUresult list_dependencies(CUgraphNode handle, CUgraphNode* out, size_t* count) {
  MutexLock lock(g_mutex);
  GraphNode* node;
  SIMNODE_TRY(find(handle, &node));
  std::vector<CUgraphNode> all;
  for (const GraphNode* dependency : node->dependencies) all.push_back(dependency->handle);
  return list(all, out, count);
}

CUresult list_dependents(CUgraphNode handle, CUgraphNode* out, size_t* count) {
  MutexLock lock(g_mutex);
  GraphNode* node;
  SIMNODE_TRY(find(handle, &node));
  std::vector<CUgraphNode> all;
  for (const GraphNode* other : node->graph->nodes)
    if (std::count(other->dependencies.begin(), other->dependencies.end(), node) != 0) all.push_back(other->handle);
  return list(all, out, count);
}

CUresult add_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(handle, &graph));
  std::vector<GraphNode*> sources, targets;
  SIMNODE_TRY(find_dependencies(*graph, from, count, &sources));
  SIMNODE_TRY(find_dependencies(*graph, to, count, &targets));
  for (size_t i = 0; i < count; ++i) {
    auto& dependencies = targets[i]->dependencies;
    if (sources[i] == targets[i]) return CUDA_ERROR_INVALID_VALUE;
    if (std::count(dependencies.begin(), dependencies.end(), sources[i]) != 0) return CUDA_ERROR_INVALID_VALUE;
    dependencies.push_back(sources[i]);
  }
  return CUDA_SUCCESS;
}

CUresult remove_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(handle, &graph));
  std::vector<GraphNode*> sources, targets;
  SIMNODE_TRY(find_dependencies(*graph, from, count, &sources));
  SIMNODE_TRY(find_dependencies(*graph, to, count, &targets));
  for (size_t i = 0; i < count; ++i)
    if (std::erase(targets[i]->dependencies, sources[i]) == 0) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuGraphCreate)(CUgraph* handle, unsigned int flags) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = make_graph()->handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphDestroy)(CUgraph handle) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(handle, &graph));
  if (graph->child) return CUDA_ERROR_INVALID_VALUE;
  destroy_graph(*graph);
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphClone)(CUgraph* handle, CUgraph original) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(original, &graph));
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = copy_of(*graph)->handle;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphAddKernelNode_v2)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, dependencies, count, [&](Work* work) { return fill_kernel(*params, work); });
}

SIMNODE_ENTRY(cuGraphAddKernelNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
 const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, dependencies, count, [&](Work* work) { return fill_kernel(widened(*params), work); });
}

SIMNODE_ENTRY(cuGraphAddMemcpyNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, const CUDA_MEMCPY3D* copy,
 CUcontext) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, dependencies, count, [&](Work* work) { return fill_copy(*copy, work); });
}

SIMNODE_ENTRY(cuGraphAddMemsetNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, const CUDA_MEMSET_NODE_PARAMS* fill,
 CUcontext) {
  if (fill == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, dependencies, count, [&](Work* work) { return fill_work(*fill, work); });
}

SIMNODE_ENTRY(cuGraphAddHostNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, dependencies, count, [&](Work* work) { return fill_host(*params, work); });
}

SIMNODE_ENTRY(cuGraphAddEmptyNode)(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return add(node, graph, dependencies, count, [](Work*) { return CUDA_SUCCESS; });
}

SIMNODE_ENTRY(cuGraphAddEventRecordNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUevent event) {
  return add(node, graph, dependencies, count, [&](Work* work) {
    work->node.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    work->node.event = event;
    return g_node->find<Event>(event) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

SIMNODE_ENTRY(cuGraphAddEventWaitNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUevent event) {
  return add(node, graph, dependencies, count, [&](Work* work) {
    work->node.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    work->node.event = event;
    return g_node->find<Event>(event) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

SIMNODE_ENTRY(cuGraphAddChildGraphNode)
(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, CUgraph child) {
  return add(node, graph, dependencies, count, [&](Work* work) {
    auto* inner = g_node->find<Graph>(child);
    if (inner == nullptr || child == graph) return CUDA_ERROR_INVALID_VALUE;
    Graph* copy = copy_of(*inner);
    copy->child = true;
    work->node.type = CU_GRAPH_NODE_TYPE_GRAPH;
    work->node.child = copy->handle;
    return CUDA_SUCCESS;
  });
}

SIMNODE_ENTRY(cuGraphChildGraphNodeGetGraph)(CUgraphNode handle, CUgraph* graph) {
  MutexLock lock(g_mutex);
  GraphNode* node;
  SIMNODE_TRY(find(handle, &node));
  if (graph == nullptr || node->work.node.child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = node->work.node.child;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphAddDependencies)(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return add_edges(graph, from, to, count);
}

SIMNODE_ENTRY(cuGraphRemoveDependencies)(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return remove_edges(graph, from, to, count);
}

SIMNODE_ENTRY(cuGraphGetEdges)(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return list_edges(graph, from, to, count);
}

// Edges carry no data here: what a program asks for reads as zero.
static CUresult without_data(CUresult result, CUgraphEdgeData* data, const CUgraphNode* nodes, const size_t* count) {
  if (result == CUDA_SUCCESS && data != nullptr && nodes != nullptr) std::fill(data, data + *count, CUgraphEdgeData{});
  return result;
}

SIMNODE_ENTRY(cuGraphGetEdges_v2)
(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  return without_data(list_edges(graph, from, to, count), data, from, count);
}

SIMNODE_ENTRY(cuGraphNodeGetDependencies_v2)
(CUgraphNode node, CUgraphNode* dependencies, CUgraphEdgeData* data, size_t* count) {
  return without_data(list_dependencies(node, dependencies, count), data, dependencies, count);
}

SIMNODE_ENTRY(cuGraphNodeGetDependentNodes_v2)
(CUgraphNode node, CUgraphNode* dependents, CUgraphEdgeData* data, size_t* count) {
  return without_data(list_dependents(node, dependents, count), data, dependents, count);
}

SIMNODE_ENTRY(cuGraphNodeGetDependencies)(CUgraphNode node, CUgraphNode* dependencies, size_t* count) {
  return list_dependencies(node, dependencies, count);
}

SIMNODE_ENTRY(cuGraphNodeGetDependentNodes)(CUgraphNode node, CUgraphNode* dependents, size_t* count) {
  return list_dependents(node, dependents, count);
}

SIMNODE_ENTRY(cuGraphAddDependencies_v2)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*, size_t count) {
  return add_edges(graph, from, to, count);
}

SIMNODE_ENTRY(cuGraphRemoveDependencies_v2)
(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*, size_t count) {
  return remove_edges(graph, from, to, count);
}

SIMNODE_ENTRY(cuGraphGetNodes)(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(handle, &graph));
  std::vector<CUgraphNode> all;
  for (const GraphNode* node : graph->nodes) all.push_back(node->handle);
  return list(all, nodes, count);
}

SIMNODE_ENTRY(cuGraphGetRootNodes)(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  MutexLock lock(g_mutex);
  Graph* graph;
  SIMNODE_TRY(find(handle, &graph));
  std::vector<CUgraphNode> all;
  for (const GraphNode* node : graph->nodes)
    if (node->dependencies.empty()) all.push_back(node->handle);
  return list(all, nodes, count);
}

SIMNODE_ENTRY(cuGraphNodeGetType)(CUgraphNode handle, CUgraphNodeType* type) {
  MutexLock lock(g_mutex);
  GraphNode* node;
  SIMNODE_TRY(find(handle, &node));
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->work.node.type;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphDestroyNode)(CUgraphNode handle) {
  MutexLock lock(g_mutex);
  GraphNode* node;
  SIMNODE_TRY(find(handle, &node));
  std::erase(node->graph->nodes, node);
  for (GraphNode* other : node->graph->nodes) std::erase(other->dependencies, node);
  g_node->handles.remove(handle);
  delete node;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphKernelNodeGetParams_v2)(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* params) {
  MutexLock lock(g_mutex);
  GraphNode* node;
  SIMNODE_TRY(find(handle, &node));
  if (params == nullptr || node->work.node.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  *params = node->work.node.kernel;
  node->work.node.argument_pointers.clear();
  for (auto& argument : node->work.node.arguments) node->work.node.argument_pointers.push_back(argument.data());
  params->kernelParams = node->work.node.argument_pointers.data();
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphKernelNodeSetParams_v2)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set_kernel(node, *params);
}

SIMNODE_ENTRY(cuGraphKernelNodeSetParams)(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set_kernel(node, widened(*params));
}

SIMNODE_ENTRY(cuGraphExecKernelNodeSetParams_v2)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set_exec_kernel(exec, node, *params);
}

SIMNODE_ENTRY(cuGraphExecKernelNodeSetParams)
(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set_exec_kernel(exec, node, widened(*params));
}

SIMNODE_ENTRY(cuGraphInstantiate)(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return instantiate(exec, graph);
}

SIMNODE_ENTRY(cuGraphInstantiate_v2)(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return instantiate(exec, graph);
}

SIMNODE_ENTRY(cuGraphInstantiateWithFlags)(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return instantiate(exec, graph);
}

SIMNODE_ENTRY(cuGraphInstantiateWithParams)(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = instantiate(exec, graph);
  params->hErrNode_out = nullptr;
  params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

SIMNODE_ENTRY(cuGraphExecDestroy)(CUgraphExec handle) {
  MutexLock lock(g_mutex);
  Exec* exec;
  SIMNODE_TRY(find(handle, &exec));
  g_node->handles.remove(handle);
  delete exec;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuGraphExecUpdate_v2)(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  return update(exec, graph, &info->errorNode, &info->result);
}

SIMNODE_ENTRY(cuGraphExecUpdate)
(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* why) {
  if (error_node == nullptr || why == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return update(exec, graph, error_node, why);
}

SIMNODE_ENTRY(cuGraphUpload)(CUgraphExec handle, CUstream stream_handle) {
  MutexLock lock(g_mutex);
  Exec* exec;
  Stream* stream;
  SIMNODE_TRY(find(handle, &exec));
  return find_stream(stream_handle, &stream);
}

SIMNODE_ENTRY(cuGraphLaunch)(CUgraphExec handle, CUstream stream) {
  SIMNODE_TRY(ready());
  const int64_t cost_ns = launch_cost_ns();
  int64_t submit_ns = now_ns() + cost_ns;
  SIMNODE_TRY(launch_locked(handle, stream, cost_ns, &submit_ns));
  spin_until(submit_ns);
  return CUDA_SUCCESS;
}

}  // namespace simnode
