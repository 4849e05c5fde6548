// call_traits.cpp: see call_traits.h.
#include "call_traits.h"

namespace hostprobe::analysis {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool is_launch_name(std::string_view function) {
  return has(function, "Launch") && !has(function, "LaunchAttribute") && !has(function, "LaunchConfig") &&
         !has(function, "GetLaunch") && !has(function, "SetLaunch");
}

bool is_kernel_launch_name(std::string_view function) {
  return is_launch_name(function) && !has(function, "Graph") && !has(function, "HostFunc") && !has(function, "Multi");
}

bool is_sync_name(std::string_view function) {
  if (has(function, "Synchronize")) return true;
  const auto at = function.find("Memcpy");
  // cudaMemcpy, cuMemcpyDtoH_v2, but not what is about such a call: cudaGraphAddMemcpyNode.
  return at != std::string_view::npos && at <= 4 && !has(function, "Async") && !has(function, "Batch");
}

}  // namespace hostprobe::analysis
