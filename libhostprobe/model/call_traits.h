// call_traits.h: what a function of a GPU's runtime or driver does, by its name: all that a profile or table tells of it.
//
// Room 3. CUDA's functions, and those of others that are named the same way (hip…, musa…).
#pragma once

#include <string_view>

namespace hostprobe::analysis {

// It gives the GPU kernels to run.
bool is_launch_name(std::string_view function);
// Of those: exactly one kernel.
bool is_kernel_launch_name(std::string_view function);
// It returns when the GPU has done something: a synchronise, or a copy that is not asynchronous.
bool is_sync_name(std::string_view function);

}  // namespace hostprobe::analysis
