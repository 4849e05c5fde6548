// json_gpu.h: what the JSON report says of the GPU of a process.
//
// Room 3. Shapes of the contract; keys may be added.
#pragma once

#include "answer/process.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

// null where nothing was measured.
JsonValue gpu_json(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
