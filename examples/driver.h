// The CUDA driver, opened when the program runs: the same binary works on the simulated driver (LD_LIBRARY_PATH, or
// `hostprobe run --simgpu N --`), on a real GPU, and says what is missing where there is neither.
#pragma once
#include <cuda.h>

#include <dlfcn.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

// cuda.h renames entry points (cuMemAlloc is cuMemAlloc_v2); the detour through a second macro looks up the final name.
#define DRIVER_TEXT_OF(name) #name
#define DRIVER_TEXT(name) DRIVER_TEXT_OF(name)
#define DRIVER_CALL(driver, name, ...) \
  (driver).check((driver).find<decltype(&name)>(DRIVER_TEXT(name))(__VA_ARGS__), #name)

class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ != nullptr) return;
    fprintf(stderr,
            "%s: no CUDA driver: %s. Run it as `hostprobe run --simgpu N -- PROGRAM`, or on a machine with a GPU.\n",
            program_invocation_short_name, dlerror());
    exit(1);
  }

  template <class Function>
  Function find(const char* name) const {
    auto function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function != nullptr) return function;
    fprintf(stderr, "%s: this driver has no %s. Use a driver of CUDA 12.4 or later.\n", program_invocation_short_name,
            name);
    exit(1);
  }

  void check(CUresult result, const char* call) const {
    if (result == CUDA_SUCCESS) return;
    const char* name = nullptr;
    find<decltype(&cuGetErrorName)>("cuGetErrorName")(result, &name);
    fprintf(stderr, "%s: %s failed: %s (%d).\n", program_invocation_short_name, call,
            name != nullptr ? name : "unknown error", result);
    exit(1);
  }

 private:
  void* library_;
};
