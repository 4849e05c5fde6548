// rank.cpp: see rank.h.
#include "probe/runtime/rank.h"

#include <stdlib.h>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {
namespace {

// Not pointers: each start would relocate them.
using Name = char[28];
constexpr Name kRankNames[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
constexpr Name kLocalRankNames[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
constexpr Name kWorldSizeNames[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
constexpr Name kRestartNames[] = {"TORCHELASTIC_RESTART_COUNT"};
constexpr Name kNodeNames[] = {"NODE_RANK", "GROUP_RANK"};
constexpr Name kNodeSizeNames[] = {"LOCAL_WORLD_SIZE"};
constexpr Name kJobNames[] = {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"};
template <std::size_t n>
inline int first_number(char** environment, const Name (&names)[n]) {
  for (const Name& name : names) {
    const char* text = value_of(environment, name);
    if (text != nullptr && text[0] >= '0' && text[0] <= '9') return atoi(text);
  }
  return -1;
}

// Lightning's launcher names the node and the place on it, and not the rank.
int rank_on_node(char** environment) {
  int local = local_rank_from(environment), node = first_number(environment, kNodeNames);
  if (local < 0 || world_size_from(environment) < 0) return -1;
  int size = node > 0 ? first_number(environment, kNodeSizeNames) : 0;
  return size < 0 ? -1 : local + (node > 0 ? node * size : 0);
}

}  // namespace

HP_START_CODE int rank_from(char** environment) { return first_number(environment, kRankNames); }
int job_rank_from(char** environment) {
  int rank = rank_from(environment);
  return rank >= 0 ? rank : rank_on_node(environment);
}
int local_rank_from(char** environment) { return first_number(environment, kLocalRankNames); }
int world_size_from(char** environment) { return first_number(environment, kWorldSizeNames); }
int restarts_from(char** environment) { return first_number(environment, kRestartNames); }

HP_START_CODE const char* job_id_from(char** environment) {
  for (const Name& name : kJobNames) {
    const char* text = value_of(environment, name);
    // torchrun's word where it was given no id, and so of many jobs.
    if (text != nullptr && text[0] != 0 && !same(text, "none")) return text;
  }
  return nullptr;
}

bool says_rank(const char* entry) {
  for (const char* name : kRankNames) {
    const char* rest = after(entry, name);
    if (rest != nullptr && *rest == '=') return true;
  }
  return false;
}

}  // namespace hostprobe::probe
