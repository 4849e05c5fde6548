// call_names.h: what a function is, by its name: the only place where a name decides that.
//
// Room 3. Two kinds of rows cannot say it themselves (format/hook_role.h): those of files of versions 1 to 3, and those that
// an importer makes of what another tool saw, which knows names alone. A name that nobody knows here is kOther. New hooks need
// nothing here.
#pragma once

#include <string_view>

#include "trace.h"

namespace hostprobe::analysis {

// Of a row that does not say.
HookRole role_by_name(const Hook& hook);
std::uint8_t traits_by_name(const Hook& hook);

// Of CUDA's functions, and those of others that are named the same way (hip…, musa…): it gives the GPU kernels to run.
bool is_launch_name(std::string_view function);
// Of those: exactly one kernel.
bool is_kernel_launch_name(std::string_view function);
// It returns when the GPU has done something: a synchronise, or a copy that is not asynchronous.
bool is_sync_name(std::string_view function);

}  // namespace hostprobe::analysis
