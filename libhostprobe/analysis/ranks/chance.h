// chance.h: whether something happened more often than luck alone would make it.
//
// Room 3.
#pragma once

namespace hostprobe::analysis {

// The chance that of `trials` independent ones, each hit with `probability`, at least `hits` are.
double chance_of_as_many(double hits, double trials, double probability);

}  // namespace hostprobe::analysis
