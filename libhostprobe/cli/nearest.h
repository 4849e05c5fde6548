// nearest.h: the name that was probably meant.
//
// Room 4.
#pragma once

#include <string>
#include <vector>

namespace hostprobe::cli {

// The one of `names` with the fewest letters to change, "" when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

// "; the nearest is NAME", or "".
std::string suggestion(const std::string& name, const std::vector<std::string>& names);

}  // namespace hostprobe::cli
