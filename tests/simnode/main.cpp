// The settings of the node are read by cuInit, so they are set before any test runs.
#include "exact_times.h"
#include "node_test.h"

#include <cstdlib>

int main(int argc, char** argv) {
  make_times_exact();
  setenv("SIMNODE_GPUS", "2", 1);
  setenv("SIMNODE_LAUNCH_US", "0", 1);
  setenv("SIMNODE_KERNEL_US", kSettings, 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
