#include "ranks.h"

#include <dlfcn.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

float* pointer(CUdeviceptr address) { return reinterpret_cast<float*>(address); }

[[noreturn]] void fail(const std::string& what) {
  fprintf(stderr, "generated program: %s.\n", what.c_str());
  exit(1);
}

}  // namespace

template <typename Function>
void Ranks::find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library_, name));
  if (*function == nullptr) fail(std::string("libnccl.so.2 has no ") + name);
}

Ranks::Ranks(const Plan& plan, int rank) : ranks_(plan.ranks) {
  if (ranks_ == 1) return;
  library_ = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
  if (library_ == nullptr) fail(std::string("no NCCL: ") + dlerror());
  find("ncclGetErrorString", &error_text_);
  find("ncclGetUniqueId", &unique_id_);
  find("ncclCommInitRank", &init_);
  find("ncclCommDestroy", &destroy_);
  find("ncclAllReduce", &all_reduce_);
  find("ncclAllGather", &all_gather_);
  find("ncclReduceScatter", &reduce_scatter_);
  find("ncclSend", &send_);
  find("ncclRecv", &receive_);
  find("ncclGroupStart", &begin_group_);
  find("ncclGroupEnd", &end_group_);
  check(init_(&all_, ranks_, meet(rank), rank), "ncclCommInitRank");
}

Ranks::~Ranks() {
  if (all_ != nullptr) check(destroy_(all_), "ncclCommDestroy");
}

void Ranks::check(ncclResult_t result, const char* call) const {
  if (result != ncclSuccess) fail(std::string(call) + ": " + error_text_(result));
}

// Rank 0 writes the id into the folder that the launcher made; a rename, so that nobody reads half of it.
ncclUniqueId Ranks::meet(int rank) const {
  const char* folder = getenv("TRAIN_PARALLEL_MEETING");
  if (folder == nullptr) fail("no TRAIN_PARALLEL_MEETING");
  const std::string path = std::string(folder) + "/id", draft = path + ".new";
  ncclUniqueId id;
  if (rank == 0) {
    check(unique_id_(&id), "ncclGetUniqueId");
    FILE* file = fopen(draft.c_str(), "wb");
    bool good = file != nullptr && fwrite(&id, sizeof id, 1, file) == 1 && fclose(file) == 0;
    if (!good || rename(draft.c_str(), path.c_str()) != 0) fail("cannot write " + path);
    return id;
  }
  FILE* file;
  while ((file = fopen(path.c_str(), "rb")) == nullptr) usleep(1000);
  const bool good = fread(&id, sizeof id, 1, file) == 1;
  fclose(file);
  if (!good) fail("no id in " + path);
  return id;
}

void Ranks::all_reduce(CUdeviceptr values, size_t bytes, CUstream stream) {
  if (ranks_ == 1) return;
  check(all_reduce_(pointer(values), pointer(values), bytes / sizeof(float), ncclFloat32, ncclSum, all_, stream),
        "ncclAllReduce");
}

void Ranks::all_gather(CUdeviceptr shard, CUdeviceptr values, size_t bytes, CUstream stream) {
  const size_t count = bytes / sizeof(float) / static_cast<size_t>(ranks_);
  check(all_gather_(pointer(shard), pointer(values), count, ncclFloat32, all_, stream), "ncclAllGather");
}

void Ranks::reduce_scatter(CUdeviceptr values, CUdeviceptr shard, size_t bytes, CUstream stream) {
  const size_t count = bytes / sizeof(float) / static_cast<size_t>(ranks_);
  check(reduce_scatter_(pointer(values), pointer(shard), count, ncclFloat32, ncclSum, all_, stream),
        "ncclReduceScatter");
}

void Ranks::send(CUdeviceptr values, size_t bytes, int to, CUstream stream) {
  check(send_(pointer(values), bytes / sizeof(float), ncclFloat32, to, all_, stream), "ncclSend");
}

void Ranks::receive(CUdeviceptr values, size_t bytes, int from, CUstream stream) {
  check(receive_(pointer(values), bytes / sizeof(float), ncclFloat32, from, all_, stream), "ncclRecv");
}

void Ranks::begin_group() { check(begin_group_(), "ncclGroupStart"); }
void Ranks::end_group() { check(end_group_(), "ncclGroupEnd"); }
