// hook.h: a hooked function of a process: what its calls are, whether it was there, and what it recorded.
//
// The waist (answer/). analysis/process.cpp fills it from the hook table of the trace.
#pragma once

#include <cstdint>
#include <string>

namespace hostprobe::analysis {

// What a call of it holds its thread for, where that alone says something.
enum class CallKind : std::uint8_t {
  kOther,
  kSleep,  // for nothing but time
  kChild,  // for a child process to end
  kRead,   // for somebody to send
  kWrite,  // for somebody to take what it sends
  kSemaphore,
  kLock,      // a mutex or a lock for reading or writing
  kCallback,  // the GPU's stream is held, by a function of the program's that the driver calls
};

struct HookAnswer {
  std::string name;
  std::uint8_t family = 0;  // format/record.h
  bool found = false;       // the process had such a function
  bool used = false;        // it was called, whether or not that left records
  std::uint64_t calls = 0;  // with records, gone ones too

  bool operator==(const HookAnswer&) const = default;
};

}  // namespace hostprobe::analysis
