// cudart.c: linked to the real CUDA runtime, which looks up the whole driver and then refuses the simulated driver for good. Up to
// that point it has filled its table of driver functions; this program looks there for the launching and synchronising
// ones. It asks the driver for each under the same name, version and flags as the runtime does, and searches the
// runtime's writable memory for the answer. Prints "error N", then one line per entry point: name, version, flags, and
// hostprobe (in the table, points into libhostprobe.so), driver (in the table, points elsewhere) or absent.
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// CUDA 12 form; cuda.h redirects the plain name differently in per-thread-stream builds.
typedef CUresult (*GetProcAddress)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

struct Entry {
  const char* name;
  int version;
  unsigned flags;
};

// What the runtime of CUDA 13 asks for.
static const struct Entry kEntries[] = {
    {"cuLaunchKernel", 4000, 0},
    {"cuLaunchKernel", 7000, 2},
    {"cuLaunchKernelEx", 11060, 0},
    {"cuLaunchKernelEx", 11060, 2},
    {"cuLaunchCooperativeKernel", 9000, 0},
    {"cuLaunchCooperativeKernel", 9000, 2},
    {"cuGraphLaunch", 10000, 0},
    {"cuGraphLaunch", 10000, 2},
    {"cuLaunchHostFunc", 10000, 0},
    {"cuLaunchHostFunc", 10000, 2},
    {"cuStreamSynchronize", 2000, 0},
    {"cuStreamSynchronize", 7000, 2},
    {"cuEventSynchronize", 2000, 0},
    {"cuCtxSynchronize", 2000, 0},
    {"cuCtxSynchronize", 13000, 0},
};

struct Search {
  const void* inside;  // an address in the object that holds the runtime
  void* wanted;
  int found;
};

static int search_object(struct dl_phdr_info* object, size_t size, void* argument) {
  struct Search* search = argument;
  int holds_runtime = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && (uintptr_t)search->inside - begin < p->p_memsz) holds_runtime = 1;
  }
  if (!holds_runtime) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &object->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || (p->p_flags & PF_W) == 0) continue;
    uintptr_t begin = (object->dlpi_addr + p->p_vaddr + 7) & ~(uintptr_t)7;
    uintptr_t end = object->dlpi_addr + p->p_vaddr + p->p_memsz;
    for (uintptr_t at = begin; at + sizeof(void*) <= end; at += sizeof(void*))
      if (*(void**)at == search->wanted) search->found = 1;
  }
  return 1;
}

static const char* owner_of(void* function, const void* runtime) {
  struct Search search = {runtime, function, 0};
  Dl_info object;
  dl_iterate_phdr(search_object, &search);
  if (!search.found || dladdr(function, &object) == 0) return "absent";
  return strstr(object.dli_fname, "libhostprobe.so") != NULL ? "hostprobe" : "driver";
}

int main(void) {
  int devices = 0;
  void* volatile runtime = (void*)(uintptr_t)&cudaGetDeviceCount;
  printf("error %d\n", (int)cudaGetDeviceCount(&devices));
  // In a program that is not position-independent the address above is that of a local stub.
  void* shared = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (shared != NULL) runtime = dlsym(shared, "cudaGetDeviceCount");
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == NULL) {
    fprintf(stderr, "cudart: the runtime did not load libcuda.so.1\n");
    return 1;
  }
  GetProcAddress get = (GetProcAddress)(uintptr_t)dlsym(driver, "cuGetProcAddress_v2");
  for (size_t i = 0; i < sizeof kEntries / sizeof *kEntries; ++i) {
    const struct Entry* e = &kEntries[i];
    void* function = NULL;
    CUdriverProcAddressQueryResult status;
    if (get(e->name, &function, e->version, e->flags, &status) != CUDA_SUCCESS || function == NULL) {
      fprintf(stderr, "cudart: the driver has no %s %d %u\n", e->name, e->version, e->flags);
      return 1;
    }
    printf("%s %d %u %s\n", e->name, e->version, e->flags, owner_of(function, runtime));
  }
  return 0;
}
