// runtime LIBRARY [table]: NVIDIA's CUDA runtime, whichever version, on a host without a device: what its functions answer.
// It closes the driver when it gives up, and opens it again at the next call. With `table`: whether what dlsym gives for a
// driver function is what the runtime has looked up and put into its memory; the driver is then kept open.
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>

#include "call.h"

typedef int (*EntryPoint)(const char*, void**, unsigned long long, int*);
typedef int (*EntryPointByVersion)(const char*, void**, unsigned, unsigned long long, int*);

static void* g_runtime;

static int said(const char* name, int result) {
  const char* (*text_of)(int) = (const char* (*)(int))dlsym(g_runtime, "cudaGetErrorString");
  const char* (*name_of)(int) = (const char* (*)(int))dlsym(g_runtime, "cudaGetErrorName");
  printf("%s: %d %s, %s\n", name, result, name_of(result), text_of(result));
  return result;
}

static void entry_points(const char* name) {
  EntryPoint get = (EntryPoint)dlsym(g_runtime, "cudaGetDriverEntryPoint");
  EntryPointByVersion get_version = (EntryPointByVersion)dlsym(g_runtime, "cudaGetDriverEntryPointByVersion");
  for (int flags = 0; flags < 3; ++flags) {
    void* found = NULL;
    int status = 77;
    if (get != NULL) said(name, get(name, &found, (unsigned long long)flags, &status));
    printf("  flags %d: status %d, %s\n", flags, status, found == NULL ? "absent" : "found");
    for (unsigned version = 7000; get_version != NULL && version < 14000; version += 5000) {
      said(name, get_version(name, &found, version, (unsigned long long)flags, &status));
      printf("  flags %d version %u: status %d, %s\n", flags, version, status, found == NULL ? "absent" : "found");
    }
  }
}

struct Search {
  uintptr_t inside;  // an address in the runtime
  void* wanted;
  int found;
};

static int search_object(struct dl_phdr_info* object, size_t size, void* argument) {
  struct Search* search = argument;
  int is_runtime = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (search->inside - (object->dlpi_addr + object->dlpi_phdr[i].p_vaddr) < object->dlpi_phdr[i].p_memsz)
      is_runtime = 1;
  for (int i = 0; is_runtime && i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &object->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || (p->p_flags & PF_W) == 0) continue;
    uintptr_t begin = (object->dlpi_addr + p->p_vaddr + 7) & ~(uintptr_t)7;
    for (uintptr_t at = begin; at + 8 <= object->dlpi_addr + p->p_vaddr + p->p_memsz; at += 8)
      if (*(void**)at == search->wanted) search->found = 1;
  }
  return is_runtime;
}

static void look_into_table(void* driver) {
  static const char* const kNames[] = {"cuLaunchKernel",
                                       "cuLaunchKernel_ptsz",
                                       "cuLaunchCooperativeKernel",
                                       "cuGraphLaunch",
                                       "cuGraphLaunch_ptsz",
                                       "cuLaunchHostFunc",
                                       "cuStreamSynchronize",
                                       "cuStreamSynchronize_ptsz",
                                       "cuEventSynchronize",
                                       "cuMemcpyHtoDAsync_v2",
                                       "cuMemAlloc_v2",
                                       "cuCtxSynchronize",
                                       "cuMemcpyDtoHAsync_v2_ptsz"};
  for (unsigned i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    struct Search search = {(uintptr_t)dlsym(g_runtime, "cudaMalloc"), dlsym(driver, kNames[i]), 0};
    dl_iterate_phdr(search_object, &search);
    printf("table %s: %s\n", kNames[i], search.found ? "has it" : "lacks it");
  }
}

int main(int argc, char** argv) {
  int count = 77;
  void* driver = argc > 2 ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
  g_runtime = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (g_runtime == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  for (int round = 0; round < 2; ++round) {
    static const char* const kOfOneInt[] = {"cudaRuntimeGetVersion", "cudaDriverGetVersion", "cudaGetDeviceCount",
                                            "cudaGetDevice"};
    for (unsigned i = 0; i < sizeof kOfOneInt / sizeof *kOfOneInt; ++i) {
      said(kOfOneInt[i], ((int (*)(int*))dlsym(g_runtime, kOfOneInt[i]))(&count));
      printf("  %d\n", count);
    }
    static const char* const kOthers[] = {
        "cudaSetDevice",         "cudaMalloc",           "cudaMallocAsync",      "cudaFree",
        "cudaStreamCreate",      "cudaLaunchKernel",     "cudaMemcpyAsync",      "cudaStreamSynchronize",
        "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaGraphLaunch",      "cudaLaunchHostFunc",
        "cudaGetLastError",      "cudaPeekAtLastError",  "cudaLaunchKernel_ptsz"};
    for (unsigned i = 0; i < sizeof kOthers / sizeof *kOthers; ++i) {
      void* function = dlsym(g_runtime, kOthers[i]);
      if (function == NULL)
        printf("%s: absent\n", kOthers[i]);
      else
        said(kOthers[i], ((AnyFunction)function)(g_empty_description, NO_ARGUMENTS));
    }
    entry_points("cuLaunchKernel");
    entry_points("cuStreamSynchronize");
    entry_points("cuNoSuchFunction");
  }
  if (driver != NULL) look_into_table(driver);
  return 0;
}
