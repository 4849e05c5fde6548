// file_name.cpp: see file_name.h.
#include "file_name.h"

namespace hostprobe::analysis {

std::string base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace hostprobe::analysis
