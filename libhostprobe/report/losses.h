// losses.h: what is missing from a run, in sentences: records that were lost, files that were damaged.
//
// Room 3. Printed before anything else, because every number after it is drawn from what was kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hostprobe::analysis {

struct ProcessAnswer;
struct RunAnswer;

// How many records of a process were lost for one reason. `id` is the reason in JSON, `because` in a sentence.
struct LossShare {
  const char* id;
  std::uint64_t records;
  std::string because;
};
// Those that there are; together they are all that was lost.
std::vector<LossShare> loss_shares(const ProcessAnswer& process);

// Empty when nothing is missing.
std::vector<std::string> loss_sentences(const RunAnswer& run);

}  // namespace hostprobe::analysis
