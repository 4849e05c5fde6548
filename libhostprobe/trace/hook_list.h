// hook_list.h: which functions hostprobe hooks, read from libhostprobe.so itself, and what a function is.
//
// Room 3. The probe keeps its hook table as constant data in an ELF section, so the list needs neither the probe's
// sources nor a process that loads it, and can never disagree with what is injected. Two kinds of rows cannot say what the function
// is (format/hook_role.h): those of files of versions 1 to 3, and those that an importer makes of what another tool saw, which knows
// names alone. For these stands here the only table of names. A name that nobody knows is kOther; new hooks need nothing here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace.h"

namespace hostprobe::analysis {

inline constexpr char kHookSection[] = "hp_hooks";

// Throws TraceError when the file is no ELF file or has no hook table.
std::vector<Hook> hooks_of_library(const std::string& path);

const char* family_name(std::uint8_t family);

// A row of the table, shared with blocks.cpp.
Hook parse_hook(const HookRow& row);

// Of a row that does not say.
HookRole role_by_name(const Hook& hook);
std::uint8_t traits_by_name(const Hook& hook);

// Of CUDA's functions, and those of others that are named the same way (hip…, musa…), and Ascend's Node@launch: it gives the GPU kernels to run.
bool is_launch_name(std::string_view function);
// Of those: exactly one kernel.
bool is_kernel_launch_name(std::string_view function);
// It returns when the GPU has done something: a synchronise, or a copy that is not asynchronous.
bool is_sync_name(std::string_view function);

}  // namespace hostprobe::analysis
