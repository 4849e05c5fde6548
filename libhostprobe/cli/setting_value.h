// setting_value.h: whether the probe will take a value, told before anything starts.
//
// Room 4. With the probe's own parser (pure/): it goes on with the default, so that a bad value never stops somebody's
// training; here it is refused, while nothing is lost by that.
#pragma once

#include <string>

#include "options.h"

namespace hostprobe::cli {

// "" when `value` is one this setting can have, else what is wrong with it. `name` is what the setting was given by: --mode,
// or HOSTPROBE_MODE.
std::string complaint(const Setting& setting, const std::string& value, const std::string& name);

}  // namespace hostprobe::cli
