// first_screen.h: what a reader sees first: which run this is, what of it is lost, where it hangs, and what to do now.
//
// Room 3.
#pragma once

#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

std::string first_screen(const RunAnswer& run);

}  // namespace hostprobe::analysis
