// driver_by_lookup.h: the driver by dlsym and by cuGetProcAddress, for objects that are not linked to it.
#pragma once

#include <dlfcn.h>

#include "driver_work.h"

inline void* g_library;           // what dlsym is asked on: a handle, RTLD_DEFAULT or RTLD_NEXT
inline void* g_get_proc_address;  // what to ask by, and whether it is the five-argument form
inline bool g_second_form;

inline void open_library(int flags) {
  g_library = dlopen("libcuda.so.1", flags);
  if (g_library != nullptr) return;
  printf("dlopen: %s\n", dlerror());
  fflush(stdout);
  _exit(97);
}

inline void* find_by_dlsym(const DriverName& name, bool per_thread) {
  char text[96];
  snprintf(text, sizeof text, "%s%s", name.exported, per_thread && name.stream_version != 0 ? "_ptsz" : "");
  return dlsym(g_library, text);
}

inline CUresult ask(const char* name, void** found, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status) {
  if (g_second_form)
    return reinterpret_cast<PFN_cuGetProcAddress_v12000>(g_get_proc_address)(name, found, version, flags, status);
  return reinterpret_cast<PFN_cuGetProcAddress_v11030>(g_get_proc_address)(name, found, version, flags);
}

// As cudart asks: flags 0 for legacy, 2 for per-thread streams, and no place for a status.
inline void* find_by_procaddress(const DriverName& name, bool per_thread) {
  void* found = nullptr;
  const int version = per_thread && name.stream_version != 0 ? name.stream_version : name.version;
  const CUresult result = ask(name.base, &found, version, per_thread ? 2 : 0, nullptr);
  return result == CUDA_SUCCESS ? found : nullptr;
}

// Form 1 or 2 of cuGetProcAddress by dlsym.
inline void use_procaddress(bool second_form) {
  g_second_form = second_form;
  g_get_proc_address = dlsym(g_library, second_form ? "cuGetProcAddress_v2" : "cuGetProcAddress");
  if (g_get_proc_address == nullptr) _exit(96);
}

// From now on by the pointer that cuGetProcAddress answered for its own name.
inline void use_its_own_answer(bool second_form) {
  void* answer = nullptr;
  check(ask("cuGetProcAddress", &answer, second_form ? 12000 : 11030, 0, nullptr), "cuGetProcAddress of its own name");
  g_second_form = second_form;
  g_get_proc_address = answer;
}
