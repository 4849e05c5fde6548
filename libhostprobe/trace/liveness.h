// liveness.h: is the process that a trace belongs to still running, and until when is it known to have lived?
//
// Room 3. An open trace of a live process is normal, and its segment must never be touched.
#pragma once

#include "format/file.h"

namespace hostprobe::analysis {

struct Trace;

enum class Liveness {
  kLives,
  kDead,
  kElsewhere,  // another host or an earlier boot: from here nobody can tell, and its shared memory is not here
};

Liveness process_liveness(const FileHeader& header);

// Until when a process that did not end its trace is known to have lived, and how its threads stood then: one that lives lives now,
// whatever its own hostprobe wrote last; of one that died the last proof of life is what it did last. `trace` is otherwise complete.
void find_last_moment(Trace& trace);

}  // namespace hostprobe::analysis
