// runs.h: the run folders that the documents of tests/golden are made of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hostprobe::test {

struct MadeRun {
  std::string name;
  void (*make)(const std::filesystem::path& folder);
};

std::vector<MadeRun> job_runs();      // ranks whose steps lose time to planted causes
std::vector<MadeRun> process_runs();  // threads, counters, events, endings and damage of single processes
std::vector<MadeRun> machine_runs();  // clocks of CPUs, the kernel's scheduler, interrupts

}  // namespace hostprobe::test
