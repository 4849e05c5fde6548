#include "device.h"

#include <cstdint>
#include <cstring>

namespace {

constexpr size_t kValues = size_t{1} << 20;

unsigned context_flags(const std::string& sync) {
  if (sync == "spin") return CU_CTX_SCHED_SPIN;
  if (sync == "yield") return CU_CTX_SCHED_YIELD;
  return sync == "block" ? CU_CTX_SCHED_BLOCKING_SYNC : CU_CTX_SCHED_AUTO;
}

}  // namespace

Device::Device(const Plan& plan, int number) : plan_(plan), code_(code()) {
  int devices = 0;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  set_durations();
  DRIVER_CALL(driver_, cuInit, 0);
  DRIVER_CALL(driver_, cuDeviceGetCount, &devices);
  DRIVER_CALL(driver_, cuDeviceGet, &device, number % devices);
  DRIVER_CALL(driver_, cuDevicePrimaryCtxSetFlags, device, context_flags(plan.sync));
  DRIVER_CALL(driver_, cuDevicePrimaryCtxRetain, &context, device);
  DRIVER_CALL(driver_, cuCtxSetCurrent, context);
  DRIVER_CALL(driver_, cuModuleLoadData, &module, code_.c_str());
  for (const Kernel& kernel : plan.kernels)
    DRIVER_CALL(driver_, cuModuleGetFunction, &functions_.emplace_back(), module, kernel.name.c_str());
  for (CUstream* stream : {&compute, &communication, &copies})
    DRIVER_CALL(driver_, cuStreamCreate, stream, CU_STREAM_NON_BLOCKING);
  copied_ = make_event();
  const size_t batch_bytes = static_cast<size_t>(plan.batch_kb) << 10;
  values_ = allocate(kValues);
  batch_ = allocate(batch_bytes);
  DRIVER_CALL(driver_, cuMemAllocHost, &staging_, batch_bytes);
  DRIVER_CALL(driver_, cuMemAllocHost, reinterpret_cast<void**>(&loss_), sizeof(float));
  pageable_.resize(sizeof(float));
  if (plan.graph != 0) capture();
  DRIVER_CALL(driver_, cuCtxSynchronize);
}

// The simulated driver reads this in cuInit; a real driver does not look at it.
void Device::set_durations() const {
  std::string durations;
  for (const Kernel& kernel : plan_.kernels) durations += kernel.name + "=" + std::to_string(kernel.us) + ";";
  setenv("SIMNODE_KERNEL_US", durations.c_str(), 1);
}

std::string Device::code() const {
  std::string text = ".version 7.0\n.target sm_50\n.address_size 64\n";
  for (const Kernel& kernel : plan_.kernels)
    text += ".visible .entry " + kernel.name + "(.param .u64 values) { ret; }\n";
  return text;
}

CUevent Device::make_event() {
  CUevent event;
  DRIVER_CALL(driver_, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  return event;
}

CUdeviceptr Device::allocate(size_t bytes) {
  CUdeviceptr memory;
  DRIVER_CALL(driver_, cuMemAlloc, &memory, bytes);
  DRIVER_CALL(driver_, cuMemsetD32, memory, 0, bytes / sizeof(uint32_t));
  return memory;
}

void Device::launch(int kernel) {
  void* arguments[] = {&values_};
  driver_.check(
      launch_kernel_(functions_[static_cast<size_t>(kernel)], 32, 1, 1, 128, 1, 1, 0, compute, arguments, nullptr),
      "cuLaunchKernel");
}

void Device::capture() {
  CUgraph graph;
  DRIVER_CALL(driver_, cuStreamBeginCapture, compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  for (int kernel : plan_.layer_kernels) launch(kernel);
  DRIVER_CALL(driver_, cuStreamEndCapture, compute, &graph);
  DRIVER_CALL(driver_, cuGraphInstantiateWithFlags, &graph_, graph, 0);
}

void Device::run_layer(int times, const std::function<void()>& before) {
  for (int i = 0; i < times; ++i) {
    if (graph_ != nullptr) {
      DRIVER_CALL(driver_, cuGraphLaunch, graph_, compute);
      continue;
    }
    for (int kernel : plan_.layer_kernels) {
      before();
      launch(kernel);
    }
  }
}

void Device::run_optimizer() {
  for (int i = 0; i < plan_.optimizer_kernels; ++i) launch(static_cast<int>(functions_.size()) - 1);
}

void Device::copy_batch(const void* batch, size_t bytes) {
  if (plan_.copy_stream == 0) {
    memcpy(staging_, batch, bytes);
    DRIVER_CALL(driver_, cuMemcpyHtoDAsync, batch_, staging_, bytes, compute);
    return;
  }
  memcpy(staging_, batch, bytes);
  DRIVER_CALL(driver_, cuMemcpyHtoDAsync, batch_, staging_, bytes, copies);
  record(copied_, copies);
  order(compute, copied_);
}

void Device::read_loss() {
  DRIVER_CALL(driver_, cuMemcpyDtoHAsync, loss_, values_, sizeof(float), compute);
  synchronize();
}

const std::vector<char>& Device::read_parameters(size_t bytes) {
  if (pinned_ == nullptr) DRIVER_CALL(driver_, cuMemAllocHost, &pinned_, bytes);
  saved_.resize(bytes);
  DRIVER_CALL(driver_, cuMemcpyDtoHAsync, pinned_, values_, bytes < kValues ? bytes : kValues, compute);
  synchronize();
  memcpy(saved_.data(), pinned_, bytes);
  return saved_;
}

void Device::allocate_and_free(size_t bytes) {
  CUdeviceptr memory;
  DRIVER_CALL(driver_, cuMemAlloc, &memory, bytes);
  DRIVER_CALL(driver_, cuMemFree, memory);
}

void Device::read_value_into_pageable() {
  DRIVER_CALL(driver_, cuMemcpyDtoHAsync, pageable_.data(), values_, sizeof(float), compute);
}

void Device::copy_from(bool pinned, size_t bytes) {
  if (spare_bytes_ < bytes) {
    spare_ = allocate(bytes);
    spare_bytes_ = bytes;
    if (pinned) DRIVER_CALL(driver_, cuMemAllocHost, &pinned_, bytes);
    pageable_.resize(bytes);
  }
  DRIVER_CALL(driver_, cuMemcpyHtoDAsync, spare_, pinned ? pinned_ : pageable_.data(), bytes, compute);
}

void Device::load_module() {
  CUmodule module;
  DRIVER_CALL(driver_, cuModuleLoadData, &module, code_.c_str());
  DRIVER_CALL(driver_, cuModuleUnload, module);
}
