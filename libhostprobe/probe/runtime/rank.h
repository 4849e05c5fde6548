// rank.h: which rank of which job this process is, as launchers say it in the environment.
//
// Room 2 (probe/). Read from the environment that the constructor is given.
#pragma once

namespace hostprobe::probe {

// -1: not said.
int rank_from(char** environment);
// The same, or else by its place on its node; a rank's children inherit that too, so it makes nobody a target.
int job_rank_from(char** environment);
int local_rank_from(char** environment);
int world_size_from(char** environment);
int restarts_from(char** environment);
// The job's id as its launcher says it; nullptr: not said.
const char* job_id_from(char** environment);

// Whether one entry of an environment, NAME=VALUE, names a rank.
bool says_rank(const char* entry);

}  // namespace hostprobe::probe
