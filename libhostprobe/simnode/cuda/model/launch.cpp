// See launch.h.
#include "launch.h"

#include "capture.h"
#include "context.h"
#include "device.h"
#include "module.h"
#include "node.h"
#include "stream.h"

#include <cmath>
#include <cstring>

namespace simnode {

std::map<std::string, HostKernel>* g_host_kernels = nullptr;
uint64_t g_host_kernels_generation = 0;

namespace {

constexpr int kDefaultSharedBytes = 49152;

int shared_limit(const Function& function) {
  auto set = function.attributes.find(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  int standard = kDefaultSharedBytes - static_cast<int>(function.image.static_shared_bytes);
  return set == function.attributes.end() ? standard : set->second;
}

// The arguments of one launch, copied: the caller's may be gone when the kernel runs.
struct Arguments {
  std::vector<std::vector<char>> copies;
  std::vector<void*> pointers;
  std::vector<size_t> bytes;

  void add(const void* from, size_t count) {
    auto* first = static_cast<const char*>(from);
    copies.emplace_back(first, first + count);
    bytes.push_back(count);
  }
  void finish() {
    for (auto& copy : copies) pointers.push_back(copy.data());
  }
};

struct ExtraBuffer {
  const char* content = nullptr;
  size_t bytes = 0;
};

bool read_extra(void** extra, ExtraBuffer* buffer) {
  for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer->content = static_cast<const char*>(extra[i + 1]);
    else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
      buffer->bytes = *static_cast<const size_t*>(extra[i + 1]);
    else
      return false;
  }
  return true;
}

std::shared_ptr<Arguments> copy_arguments(const Function& function, void** parameters, void** extra) {
  auto arguments = std::make_shared<Arguments>();
  ExtraBuffer buffer;
  if (extra != nullptr) read_extra(extra, &buffer);
  for (size_t i = 0; i < function.image.parameters.size(); ++i) {
    const Parameter& parameter = function.image.parameters[i];
    if (parameters != nullptr)
      arguments->add(parameters[i], parameter.bytes);
    else
      arguments->add(buffer.content + parameter.offset, parameter.bytes);
  }
  arguments->finish();
  return arguments;
}

}  // namespace

int64_t launch_cost_ns() {
  const Settings& settings = g_node->settings;
  if (settings.faults.none()) return settings.launch_ns;
  return settings.launch_ns + std::llround(g_node->fault_amount(FaultKind::kLaunchDelay) * 1000);
}

int64_t slowed_ns(int64_t duration_ns) {
  if (g_node->settings.faults.none()) return duration_ns;
  return std::llround(static_cast<double>(duration_ns) * g_node->fault_factor(FaultKind::kSlowGpu));
}

bool has_host_function(Function& function) {
  if (function.host_generation != g_host_kernels_generation) {
    function.host_generation = g_host_kernels_generation;
    function.host_function = nullptr;
    if (g_host_kernels != nullptr) {
      auto found = g_host_kernels->find(function.image.name);
      if (found != g_host_kernels->end()) {
        function.host_function = found->second.function;
        function.host_user = found->second.user;
        function.host_waits = found->second.waiting;
      }
    }
  }
  return function.host_function != nullptr;
}

ActivityLabel kernel_label(Function& function) {
  ActivityLabel label;
  if (!g_activities) return label;
  if (function.activity_name == 0) function.activity_name = activity_name(function.image.name.c_str());
  label.type = hostprobe::kActivityKernel;
  label.name = function.activity_name;
  label.collective = has_host_function(function) && function.host_waits;
  return label;
}

CUresult check_launch(const Function& function, const LaunchShape& shape, void** parameters, void** extra) {
  uint64_t threads = 1;
  const unsigned block_limits[3] = {1024, 1024, 64};
  const unsigned grid_limits[3] = {2147483647, 65535, 65535};
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.block[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    if (shape.grid[i] > grid_limits[i] || shape.block[i] > block_limits[i]) return CUDA_ERROR_INVALID_VALUE;
    threads *= shape.block[i];
  }
  if (threads > 1024 || threads > static_cast<uint64_t>(function.image.max_threads)) return CUDA_ERROR_INVALID_VALUE;
  if (shape.shared_bytes > 0 && static_cast<int64_t>(shape.shared_bytes) > shared_limit(function))
    return CUDA_ERROR_INVALID_VALUE;
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& expected = function.image.parameters;
  if (expected.empty()) return CUDA_SUCCESS;
  if (extra != nullptr) {
    ExtraBuffer buffer;
    if (!read_extra(extra, &buffer)) return CUDA_ERROR_INVALID_VALUE;
    bool enough = buffer.content != nullptr && buffer.bytes >= expected.back().offset + expected.back().bytes;
    return enough ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < expected.size(); ++i)
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult kernel_work(Function& function, const LaunchShape& shape, void** parameters, void** extra, Work* work) {
  auto arguments = copy_arguments(function, parameters, extra);
  work->duration_ns = function.duration_ns;
  work->node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  work->label = kernel_label(function);
  CUDA_KERNEL_NODE_PARAMS& node = work->node.kernel;
  node.gridDimX = shape.grid[0], node.gridDimY = shape.grid[1], node.gridDimZ = shape.grid[2];
  node.blockDimX = shape.block[0], node.blockDimY = shape.block[1], node.blockDimZ = shape.block[2];
  node.sharedMemBytes = shape.shared_bytes;
  work->node.arguments = arguments->copies;
  if (!has_host_function(function)) return CUDA_SUCCESS;
  work->waiting = function.host_waits;
  auto name = std::make_shared<std::string>(function.image.name);
  Context* current;
  int device = current_context(&current) == CUDA_SUCCESS ? current->device->ordinal : 0;
  work->effect = [host = function.host_function, user = function.host_user, arguments, name, shape, device] {
    simnode_launch launch{};
    launch.kernel = name->c_str();
    memcpy(launch.grid, shape.grid, sizeof launch.grid);
    memcpy(launch.block, shape.block, sizeof launch.block);
    launch.shared_bytes = shape.shared_bytes;
    launch.device = device;
    launch.parameter_count = static_cast<unsigned>(arguments->pointers.size());
    launch.parameter_bytes = arguments->bytes.data();
    launch.parameters = arguments->pointers.data();
    launch.start_ns = t_effect_span.start_ns;
    launch.end_ns = &t_effect_span.end_ns;
    return static_cast<CUresult>(host(&launch, user));
  };
  return CUDA_SUCCESS;
}

}  // namespace simnode
