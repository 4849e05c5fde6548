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
template <std::size_t n>
inline int first_number(char** environment, const Name (&names)[n]) {
  for (const Name& name : names) {
    const char* text = value_of(environment, name);
    if (text != nullptr && text[0] >= '0' && text[0] <= '9') return atoi(text);
  }
  return -1;
}

}  // namespace

HP_START_CODE int rank_from(char** environment) { return first_number(environment, kRankNames); }
int local_rank_from(char** environment) { return first_number(environment, kLocalRankNames); }
int world_size_from(char** environment) { return first_number(environment, kWorldSizeNames); }

bool says_rank(const char* entry) {
  for (const char* name : kRankNames) {
    const char* rest = after(entry, name);
    if (rest != nullptr && *rest == '=') return true;
  }
  return false;
}

}  // namespace hostprobe::probe
