// machine_load.h: stolen time, interrupts and pressure of the machine that a process ran on (format/machine.h).
//
// Room 3.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "answer/machine.h"
#include "answer/window.h"
#include "model/steps.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// Of the window, as far as it is covered. Nothing: not read twice.
std::optional<MachineAnswer> answer_machine(const Trace& trace, const Window& window, const std::vector<Step>& steps);

}  // namespace hostprobe::analysis
