// The same work for many things: analysis/graph/parallel.cpp
#include "analysis/graph/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace hostprobe::analysis {
namespace {

TEST(Parallel, EachTaskRunsOnceWhateverTheCores) {
  for (const unsigned cores : {0u, 1u, 3u, 64u}) {
    std::vector<std::atomic<int>> runs(20);
    run_parallel(runs.size(), cores, [&](std::size_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, AnExceptionComesOutWhenAllHaveEnded) {
  std::atomic<int> ended = 0;
  EXPECT_THROW(run_parallel(8, 4,
                            [&](std::size_t i) {
                              ++ended;
                              if (i == 3) throw std::runtime_error("3");
                            }),
               std::runtime_error);
  EXPECT_EQ(ended, 8);
}

}  // namespace
}  // namespace hostprobe::analysis
