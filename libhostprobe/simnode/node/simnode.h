/* simnode: what a program can tell the simulated GPU node, in plain C. Nothing here needs linking: on a machine with a
 * real driver simnode_register finds nothing, answers 0, and the program runs its kernels on the GPU.
 *
 *   static int add(const simnode_launch* launch, void* user) {
 *     float** x = (float**)launch->parameters[0]; ...
 *     return 0;                                   // else a CUresult that surfaces at the next synchronisation
 *   }
 *   simnode_register("add", add, NULL);           // from now on, launches of the kernel "add" really compute
 */
#ifndef HOSTPROBE_SIMNODE_H
#define HOSTPROBE_SIMNODE_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct simnode_launch {
  const char* kernel;
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;    /* dynamic */
  int device;                   /* ordinal */
  unsigned int parameter_count; /* 0 when the module does not tell (a cubin without parameter records) */
  const size_t* parameter_bytes;
  void* const* parameters; /* addresses of copies of the arguments, as they were at the launch */
  long long start_ns;      /* on the stream's virtual clock, which has the scale of CLOCK_MONOTONIC */
  long long* end_ns;       /* when the kernel ends there: as modelled, or what the function makes of it */
} simnode_launch;

/* Runs on a thread of the simulated driver or on one that synchronises, in stream order. It must not call the driver. */
typedef int (*simnode_kernel)(const simnode_launch* launch, void* user);

/* Exported by the simulated driver. A null function takes the registration back. Returns 0, or 1 for a null name. */
typedef int (*simnode_register_kernel_function)(const char* kernel, simnode_kernel function, void* user);

/* For libraries that bring kernels of their own, as the simulated libnccl.so.2 does; also exported by the simulated driver.
 * simnode_register_waiting_kernel: as simnode_register_kernel, but the function may wait for others (a collective waits
 *   for its peers). It therefore runs on the stream's own thread only, never inside a query or a synchronisation.
 * simnode_add_count: a counter that appears in SIMNODE_COUNTS beside the driver's; `name` must live for ever. Returns its
 *   number for simnode_count, 0 if there is no room.
 * simnode_start_ns: when this process first called cuInit (CLOCK_MONOTONIC), the zero of SIMNODE_FAULT; -1 before. */
typedef unsigned (*simnode_add_count_function)(const char* name);
typedef void (*simnode_count_function)(unsigned number);
typedef long long (*simnode_start_ns_function)(void);

/* 1: registered with the simulated driver. 0: the driver of this process is not the simulated driver, or none is loaded yet. */
static inline int simnode_register(const char* kernel, simnode_kernel function, void* user) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  simnode_register_kernel_function found = NULL;
  if (driver == NULL) return 0;
  *(void**)&found = dlsym(driver, "simnode_register_kernel");
  dlclose(driver);
  return found != NULL && found(kernel, function, user) == 0;
}

#ifdef __cplusplus
}
#endif
#endif
