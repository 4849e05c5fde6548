// stacks_text.h: the stacks of living processes, for people and for scripts.
//
// Room 3. Pure functions of the answer.
#pragma once

#include <string>

#include "process_stacks.h"

namespace hostprobe::analysis {

// Ranks side by side first; then every stack once, with the threads that have it.
std::string stacks_text(const StacksAnswer& answer);
std::string stacks_json(const StacksAnswer& answer);

}  // namespace hostprobe::analysis
