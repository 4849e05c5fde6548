// python_shim.h: garbage collections and optimizer steps of an unmodified Python program.
//
// Room 2 (probe/). Recorded processes only. The interpreter is asked to call us at its next chance, on its main thread and with
// its lock held; then our function stands first among gc.callbacks. As soon as torch.optim is there, a hook of its own
// (register_optimizer_step_post_hook) tells of the steps. docs/reference/python.md: what is left behind, and where it does not work.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Writer thread, within a LoaderVisit, whenever objects were loaded.
void find_python();

// Writer thread, once the interpreter was asked the first time. `work` is called on its main thread, which then holds its lock, and
// returns 0. False: not now.
bool call_in_python(int (*work)(void*));
const struct PythonCalls& python_calls();
// Why call_in_python() cannot, and what to do; null where it can.
const char* python_obstacle();

// Writer thread. Returns when to ask again, ns of CLOCK_MONOTONIC; kNever: all is done.
std::uint64_t ask_python(std::uint64_t now_ns);

}  // namespace hostprobe::probe
