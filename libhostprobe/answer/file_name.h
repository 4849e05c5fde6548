// file_name.h: the last part of a path, which is what reports say of a library or a trace.
//
// The waist (answer/).
#pragma once

#include <string>
#include <string_view>

namespace hostprobe::analysis {

std::string base_name(std::string_view path);

}  // namespace hostprobe::analysis
