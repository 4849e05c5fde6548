// json_gpu.h: what the JSON report says of the GPU of a process, and of the critical path through it.
//
// Room 3. Shapes of the contract; keys may be added.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/questions/run_answer.h"

namespace hostprobe::analysis {

// null where nothing was measured.
nlohmann::ordered_json gpu_json(const ProcessAnswer& process);
nlohmann::ordered_json path_json(const ProcessAnswer& process);
// Of the job: known where it is one process. Across ranks it is not computed.
nlohmann::ordered_json path_shares_json(const RunAnswer& run);

}  // namespace hostprobe::analysis
