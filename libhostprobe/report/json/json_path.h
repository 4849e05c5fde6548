// json_path.h: what the JSON report says of critical paths.
//
// Room 3. Shapes of the contract; keys may be added. null where a path is not known.
#pragma once

#include <optional>

#include "answer/path.h"
#include "report/json_numbers.h"

namespace hostprobe::analysis {

Json path_shares_json(const PathAnswer& path);
Json path_json(const std::optional<PathAnswer>& path);
// Of the job.
Json path_shares_json(const std::optional<RunPath>& path);
Json run_path_json(const std::optional<RunPath>& path);

}  // namespace hostprobe::analysis
