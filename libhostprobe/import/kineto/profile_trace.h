// profile_trace.h: the trace files of a profile: one for each of its processes.
//
// Room 3. What stands in them reads like what the probe writes, whatever question is asked; docs/reference/import.md says what becomes
// of what.
#pragma once

#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "import/input/run_clock.h"
#include "profile.h"
#include "profile_reader.h"

namespace hostprobe::analysis {

struct ProfileTraces {
  std::vector<std::string> paths;
  std::string note;  // what had to be guessed; "" = nothing
};

// Paths of the files made in `run`; each tells what is missing in it of the profile. `source`: the profile's own path. Throws
// std::system_error when they cannot be written.
ProfileTraces write_profile(Profile& profile, const ProfileReading& reading, const std::string& source,
                            const std::string& run, LeftOut& left_out);

}  // namespace hostprobe::analysis
