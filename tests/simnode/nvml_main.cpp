// Settings of the simulated node are read once in a process, so they stand before everything.
#include <gtest/gtest.h>
#include <cstdlib>

int main(int argc, char** argv) {
  setenv("SIMNODE_GPUS", "2", 1);
  setenv("SIMNODE_KERNEL_US", "gemm*=1000000;*=10", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
