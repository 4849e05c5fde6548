// driver_costs.cpp: what a driver's timing events and launches cost and how exact they are: where the simulated driver's defaults come from.
//
// usage: driver_costs [REPETITIONS]; prints a table, each row with the setting of the simulated driver that models it. Runs on whatever
// libcuda.so.1 is found, the simulated one too (hostprobe run --off is not needed: nothing is recorded).
#include <cuda.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr char kModule[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry spins(.param .u64 cycles) {
  .reg .u64 %r<5>; .reg .pred %p;
  ld.param.u64 %r1, [cycles];
  mov.u64 %r2, %clock64;
more:
  mov.u64 %r3, %clock64;
  sub.u64 %r4, %r3, %r2;
  setp.lt.u64 %p, %r4, %r1;
  @%p bra more;
  ret;
}
)";
constexpr unsigned kRow = 200;            // kernels in a row
constexpr std::uint64_t kLong = 2000000;  // cycles: about a millisecond
constexpr std::uint64_t kShort = 40000;   // about 20 us
constexpr unsigned kMostQueued = 8192;
constexpr unsigned kSlow = 4;  // launches in a row that take long: none of them found the queue with room

template <typename Function>
Function found(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    fprintf(stderr, "driver_costs: no %s: %s\n", name, dlerror());
    exit(1);
  }
  return reinterpret_cast<Function>(function);
}

#define DRIVER(name) const auto name##_ = found<decltype(&name)>(#name)
DRIVER(cuInit);
DRIVER(cuDeviceGet);
DRIVER(cuDevicePrimaryCtxRetain);
DRIVER(cuCtxSetCurrent);
DRIVER(cuModuleLoadData);
DRIVER(cuModuleGetFunction);
DRIVER(cuStreamCreate);
DRIVER(cuStreamSynchronize);
DRIVER(cuLaunchKernel);
DRIVER(cuEventCreate);
DRIVER(cuEventRecord);
DRIVER(cuEventQuery);
DRIVER(cuEventElapsedTime);

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "driver_costs: %s answered %d\n", what, result);
  exit(1);
}
#define CHECKED(call) check(call, #call)

double now_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Driver {
 public:
  Driver() {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CHECKED(cuInit_(0));
    CHECKED(cuDeviceGet_(&device, 0));
    CHECKED(cuDevicePrimaryCtxRetain_(&context, device));
    CHECKED(cuCtxSetCurrent_(context));
    CHECKED(cuModuleLoadData_(&module, kModule));
    CHECKED(cuModuleGetFunction_(&nothing_, module, "nothing"));
    CHECKED(cuModuleGetFunction_(&spins_, module, "spins"));
    CHECKED(cuStreamCreate_(&stream_, CU_STREAM_NON_BLOCKING));
    for (CUevent& event : events_) CHECKED(cuEventCreate_(&event, CU_EVENT_DEFAULT));
  }

  void launch(std::uint64_t cycles) {
    void* parameters[] = {&cycles};
    CHECKED(cuLaunchKernel_(cycles == 0 ? nothing_ : spins_, 1, 1, 1, 1, 1, 1, 0, stream_,
                            cycles == 0 ? nullptr : parameters, nullptr));
  }
  void record(unsigned event) { CHECKED(cuEventRecord_(events_[event], stream_)); }
  bool is_reached(unsigned event) { return cuEventQuery_(events_[event]) == CUDA_SUCCESS; }
  void wait() { CHECKED(cuStreamSynchronize_(stream_)); }
  double between_us(unsigned from, unsigned to) {
    float milliseconds = 0;
    CHECKED(cuEventElapsedTime_(&milliseconds, events_[from], events_[to]));
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  CUfunction nothing_ = nullptr, spins_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent events_[4]{};
};

void say(const char* what, double value, const char* unit, const char* setting) {
  printf("| %s | %.3f %s | %s |\n", what, value, unit, setting);
}

// Of a call, on the calling thread, behind work that keeps the stream full.
template <typename Call>
double call_us(Driver& driver, unsigned repetitions, Call call) {
  std::vector<double> all;
  for (unsigned i = 0; i < repetitions; ++i) {
    driver.launch(kShort);
    const double begin_us = now_us();
    call();
    all.push_back(now_us() - begin_us);
    driver.wait();
  }
  return median(all);
}

// What one kernel takes of a stream that is full, with the pause behind it.
double row_us(Driver& driver, std::uint64_t cycles, unsigned events_each) {
  driver.wait();
  driver.launch(kLong);
  driver.record(0);
  for (unsigned i = 0; i < kRow; ++i) {
    driver.launch(cycles);
    for (unsigned e = 0; e < events_each; ++e) driver.record(2);
  }
  driver.record(1);
  driver.wait();
  return driver.between_us(0, 1) / kRow;
}

// From the return of a launch into an empty stream until an event behind the kernel is seen reached.
double seen_after_us(Driver& driver, unsigned repetitions, std::uint64_t cycles) {
  std::vector<double> all;
  for (unsigned i = 0; i < repetitions; ++i) {
    driver.wait();
    driver.launch(cycles);
    const double returned_us = now_us();
    driver.record(0);
    while (!driver.is_reached(0)) {
    }
    all.push_back(now_us() - returned_us);
  }
  return median(all);
}

// The smallest step between two answers of cuEventElapsedTime.
double resolution_us(Driver& driver, unsigned repetitions) {
  std::vector<double> answers;
  for (unsigned i = 0; i < repetitions; ++i) {
    driver.record(0);
    driver.launch(kShort / 4 + i * 97);
    driver.record(1);
    driver.wait();
    answers.push_back(driver.between_us(0, 1));
  }
  std::sort(answers.begin(), answers.end());
  double least = 1e9;
  for (std::size_t i = 1; i < answers.size(); ++i)
    if (const double step = answers[i] - answers[i - 1]; step > 1e-3) least = std::min(least, step);
  return least;
}

// How many launches a stream takes before one waits.
unsigned queue_depth(Driver& driver) {
  const double usual_us = call_us(driver, 50, [&] { driver.launch(0); });
  for (int i = 0; i < 50; ++i) driver.launch(kLong);
  unsigned taken = 50, slow = 0;
  for (; taken < kMostQueued && slow < kSlow; ++taken) {
    const double begin_us = now_us();
    driver.launch(0);
    slow = now_us() - begin_us > 2 * usual_us + 2 ? slow + 1 : 0;
  }
  driver.wait();
  return taken - slow;
}

// By how much the device's clock is faster than the host's, in millionths.
double drift_ppm(Driver& driver) {
  driver.wait();
  driver.record(0);
  driver.wait();
  const double begin_us = now_us();
  timespec second{1, 0};
  nanosleep(&second, nullptr);
  driver.record(1);
  driver.wait();
  return 1e6 * (driver.between_us(0, 1) / (now_us() - begin_us) - 1);
}

}  // namespace

int main(int count, char** arguments) {
  const auto repetitions = static_cast<unsigned>(count > 1 ? atoi(arguments[1]) : 200);
  Driver driver;
  for (int i = 0; i < 20; ++i) driver.launch(0);
  driver.wait();
  const double nothing_us = row_us(driver, 0, 0), with_one_us = row_us(driver, 0, 1),
               with_two_us = row_us(driver, 0, 2);
  printf("| what | measured | setting |\n|---|---|---|\n");
  say("cuLaunchKernel, stream full", call_us(driver, repetitions, [&] { driver.launch(0); }), "us",
      "SIMNODE_LAUNCH_US");
  say("cuEventRecord, stream full", call_us(driver, repetitions, [&] { driver.record(3); }), "us", "SIMNODE_EVENT_US");
  say("cuEventQuery, not reached", call_us(driver, repetitions, [&] { driver.is_reached(3); }), "us", "");
  say("an event behind a kernel takes of its stream", with_one_us - nothing_us, "us", "SIMNODE_EVENT_DEVICE_US");
  say("a second event behind it", with_two_us - with_one_us, "us", "SIMNODE_EVENT_DEVICE_US");
  say("an empty kernel behind another", nothing_us, "us", "SIMNODE_BEHIND_US");
  say("an empty kernel in an empty stream, until seen", seen_after_us(driver, repetitions, 0), "us",
      "SIMNODE_START_US");
  say("smallest step of cuEventElapsedTime", resolution_us(driver, repetitions), "us", "SIMNODE_EVENT_RESOLUTION_US");
  say("launches that a stream takes", queue_depth(driver), "", "SIMNODE_QUEUE");
  say("device clock against the host's", drift_ppm(driver), "ppm", "SIMNODE_DEVICE_PPM");
  return 0;
}
