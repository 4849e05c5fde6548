// hook.h: a hooked function of a process: whether it was there, and what it recorded.
//
// The waist (answer/). analysis/process.cpp fills it from the hook table of the trace.
#pragma once

#include <cstdint>
#include <string>

namespace hostprobe::analysis {

struct HookAnswer {
  std::string name;
  std::uint8_t family = 0;  // format/record.h
  bool found = false;       // the process had such a function
  bool used = false;        // it was called, whether or not that left records
  std::uint64_t calls = 0;  // with records, gone ones too

  bool operator==(const HookAnswer&) const = default;
};

}  // namespace hostprobe::analysis
