// lost_share.h: parts of lost time that become another's.
//
// Room 3.
#pragma once

#include <vector>

#include "answer/step_time.h"

namespace hostprobe::analysis {

// That part of `from`, in each step, becomes one of `to`.
void move_share(double part, LostTime& from, LostTime& to);
// The heaviest first, without those of which nothing is left.
void put_in_order(std::vector<LostTime>& lost);
// The pieces of the second are the first's as well. The place stays that of the first.
void join(LostTime& first, const LostTime& second);
// Adds that part of each step.
void add_steps(double part, const std::vector<double>& from, std::vector<double>& to);

}  // namespace hostprobe::analysis
