// hook_list.h: which functions hostprobe hooks, read from libhostprobe.so itself.
//
// Room 3. The probe keeps its hook table as constant data in an ELF section, so the list needs neither the probe's
// sources nor a process that loads it, and can never disagree with what is injected.
#pragma once

#include <string>
#include <vector>

#include "trace.h"

namespace hostprobe::analysis {

inline constexpr char kHookSection[] = "hp_hooks";

// Throws TraceError when the file is no ELF file or has no hook table.
std::vector<Hook> hooks_of_library(const std::string& path);

const char* family_name(std::uint8_t family);

// A row of the table, shared with blocks.cpp.
Hook parse_hook(const HookRow& row);

}  // namespace hostprobe::analysis
