// parallel.h: the same work for many things, on several cores.
//
// Room 3. What comes out must not depend on the number of cores: each task writes to a place of its own.
#pragma once

#include <cstddef>
#include <functional>

namespace hostprobe::analysis {

// task(0) … task(count - 1), each once, at most `cores` at a time; the first in order come first. An exception is thrown
// on when all have ended.
void run_parallel(std::size_t count, unsigned cores, const std::function<void(std::size_t)>& task);

// CPUs that this process may run on.
unsigned usable_cores();

}  // namespace hostprobe::analysis
