// liveness.h: is the process that a trace belongs to still running?
//
// Room 3. An open trace of a live process is normal, and its segment must never be touched.
#pragma once

#include "format/file.h"

namespace hostprobe::analysis {

enum class Liveness {
  kLives,
  kDead,
  kElsewhere,  // another host or an earlier boot: from here nobody can tell, and its shared memory is not here
};

Liveness process_liveness(const FileHeader& header);

}  // namespace hostprobe::analysis
