// json_gpu.h: what the JSON report says of the GPU of a process.
//
// Room 3. Shapes of the contract; keys may be added.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/process.h"

namespace hostprobe::analysis {

// null where nothing was measured.
nlohmann::ordered_json gpu_json(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
