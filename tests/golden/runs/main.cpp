// main.cpp: `golden_runs FOLDER` makes the run folders of the golden documents, each in FOLDER/<its name>.
#include <cstdio>

#include "runs.h"

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: golden_runs FOLDER\nExample: golden_runs /tmp/runs\n");
    return 2;
  }
  using namespace hostprobe::test;
  for (const auto& runs : {job_runs(), process_runs(), machine_runs()})
    for (const MadeRun& run : runs) {
      const std::filesystem::path folder = std::filesystem::path(words[1]) / run.name;
      std::filesystem::create_directories(folder);
      run.make(folder);
    }
}
