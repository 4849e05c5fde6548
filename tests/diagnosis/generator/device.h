// A rank's GPU: the kernels of the plan, its streams, memory, and what a host may do with them.
#pragma once
#include "../../../examples/driver.h"
#include "plan.h"

#include <functional>
#include <string>
#include <vector>

class Device {
 public:
  Device(const Plan& plan, int number);

  // The kernels of a layer, `times` over; before each that is launched by itself `before` is called.
  void run_layer(int times, const std::function<void()>& before);
  void run_optimizer();

  void record(CUevent event, CUstream stream) { DRIVER_CALL(driver_, cuEventRecord, event, stream); }
  void order(CUstream behind, CUevent event) { DRIVER_CALL(driver_, cuStreamWaitEvent, behind, event, 0); }
  void wait_for(CUevent event) { DRIVER_CALL(driver_, cuEventSynchronize, event); }
  void synchronize() { DRIVER_CALL(driver_, cuStreamSynchronize, compute); }
  CUevent make_event();
  CUdeviceptr allocate(size_t bytes);

  void copy_batch(const void* batch, size_t bytes);  // through pinned memory
  void read_loss();                                  // and wait for it
  const std::vector<char>& read_parameters(size_t bytes);

  // What programs do and should not, or not so often.
  void allocate_and_free(size_t bytes);
  void read_value_into_pageable();
  void copy_from(bool pinned, size_t bytes);
  void load_module();
  void call_back(void (*function)(void*), void* argument) {
    DRIVER_CALL(driver_, cuLaunchHostFunc, compute, function, argument);
  }

  CUstream compute = nullptr, communication = nullptr, copies = nullptr;

 private:
  void set_durations() const;
  std::string code() const;
  void capture();
  void launch(int kernel);

  const Plan& plan_;
  Driver driver_;
  decltype(&cuLaunchKernel) launch_kernel_ = driver_.find<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  std::string code_;
  std::vector<CUfunction> functions_;
  CUgraphExec graph_ = nullptr;
  CUdeviceptr values_ = 0, batch_ = 0, spare_ = 0;
  CUevent copied_ = nullptr;
  void *staging_ = nullptr, *pinned_ = nullptr;
  size_t spare_bytes_ = 0;
  float* loss_ = nullptr;
  std::vector<char> pageable_, saved_;
};
