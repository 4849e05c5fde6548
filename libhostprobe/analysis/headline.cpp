// headline.cpp: see headline.h.
#include "headline.h"

#include "run_answer.h"

namespace hostprobe::analysis {

std::vector<std::string> headline(const RunAnswer& run) {
  std::vector<std::string> sentences;
  if (run.processes.empty()) sentences.push_back("Nothing was recorded.");
  return sentences;
}

}  // namespace hostprobe::analysis
