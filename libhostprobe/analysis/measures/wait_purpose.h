// wait_purpose.h: what a wait is for, as far as code and stacks prove it.
//
// Room 3. The headline may only say "the data loader" or "the interpreter lock" when a symbol or a stack shows it; what
// nothing shows stays kUnknown.
#pragma once

#include <string_view>

#include "answer/wait.h"
#include "trace/symbols.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// The GPU driver, NVIDIA's or the simulated one.
bool is_driver_library(std::string_view library);

// An interpreter or its shared library, by its file name.
bool is_python_library(std::string_view library);

// By the function that called the waiting one.
WaitPurpose purpose_of_caller(const CodePlace& caller, HookRole waiting);

// By a sampled stack.
WaitPurpose purpose_of_stack(const Trace& trace, const Stack& stack, Symbols& symbols);

}  // namespace hostprobe::analysis
