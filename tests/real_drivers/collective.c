// collective LIBRARY: NVIDIA's NCCL on a host without a device: what its functions answer.
#define _GNU_SOURCE
#include <stdio.h>

#include "call.h"

typedef struct {
  char bytes[128];
} UniqueId;
typedef int (*InitRank)(void**, int, UniqueId, int);

static void* g_nccl;

static void said(const char* name, int result) {
  const char* (*text_of)(int) = (const char* (*)(int))dlsym(g_nccl, "ncclGetErrorString");
  printf("%s: %d, %s\n", name, result, text_of(result));
}

int main(int argc, char** argv) {
  g_nccl = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (g_nccl == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  int version = 0;
  said("ncclGetVersion", ((int (*)(int*))dlsym(g_nccl, "ncclGetVersion"))(&version));
  printf("  %d\n", version);
  UniqueId id = {{0}};
  void* communicator = NULL;
  said("ncclGetUniqueId", ((int (*)(UniqueId*))dlsym(g_nccl, "ncclGetUniqueId"))(&id));
  said("ncclCommInitRank", ((InitRank)dlsym(g_nccl, "ncclCommInitRank"))(&communicator, 1, id, 0));
  said("ncclCommInitRank, no such rank", ((InitRank)dlsym(g_nccl, "ncclCommInitRank"))(&communicator, 1, id, 3));
  static const char* const kNames[] = {"ncclGroupStart", "ncclAllReduce", "ncclGroupEnd",    "ncclAllGather",
                                       "ncclBroadcast",  "ncclSend",      "ncclCommDestroy", "ncclCommInitAll"};
  for (unsigned i = 0; i < sizeof kNames / sizeof *kNames; ++i)
    said(kNames[i], call_driver(kNames[i], dlsym(g_nccl, kNames[i])));
  printf("%s\n", communicator == NULL ? "no communicator" : "a communicator");
  return 0;
}
