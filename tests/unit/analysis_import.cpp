// What numbers and names of a profile mean. Whole profiles and tables: tests/import.
#include <gtest/gtest.h>

#include "import/kineto/collective_names.h"
#include "import/kineto/profile_event.h"
#include "trace/hook_list.h"

namespace hostprobe::analysis {
namespace {

TEST(ProfileNumbers, MicrosecondsAreExactToTheNanosecond) {
  EXPECT_EQ(nanoseconds("1695835543008415"), 1'695'835'543'008'415'000);
  EXPECT_EQ(nanoseconds("1695835543008415.123"), 1'695'835'543'008'415'123);
  EXPECT_EQ(nanoseconds("4.5"), 4500);
  EXPECT_EQ(nanoseconds("0.0009"), 1);
  EXPECT_EQ(nanoseconds("-0.5"), -500);
  EXPECT_EQ(nanoseconds("-2.25"), -2250);
  EXPECT_EQ(nanoseconds("1.5e3"), 1'500'000);
}

TEST(ProfileNumbers, WhatIsNoTimeIsNone) {
  for (const char* text :
       {"", ".", "x", "1x", "1.x", "nan", "inf", "1e300", "9223372036854775807", "- 1", "--1", "1.2.3"})
    EXPECT_FALSE(nanoseconds(text)) << text;
}

TEST(ProfileNumbers, WholeNumbersMayBeWrittenAsOthers) {
  EXPECT_EQ(whole_number("7"), 7);
  EXPECT_EQ(whole_number("7.0"), 7);
  EXPECT_EQ(whole_number("-3"), -3);
  for (const char* text : {"", "7.5", "0x7", "seven", "1e19", "nan"}) EXPECT_FALSE(whole_number(text)) << text;
}

TEST(CallTraits, NamesTellWhatACallDoes) {
  for (const char* name : {"cudaLaunchKernel", "cuLaunchKernelEx", "hipModuleLaunchKernel", "cudaGraphLaunch"})
    EXPECT_TRUE(is_launch_name(name)) << name;
  for (const char* name : {"cudaLaunchKernelExC", "hipLaunchKernel", "cuLaunchCooperativeKernel"})
    EXPECT_TRUE(is_kernel_launch_name(name)) << name;
  for (const char* name : {"cudaGraphLaunch", "cudaLaunchHostFunc"}) EXPECT_FALSE(is_kernel_launch_name(name)) << name;
  for (const char* name : {"cudaStreamSynchronize", "cuCtxSynchronize", "cudaMemcpy", "cuMemcpyDtoH_v2"})
    EXPECT_TRUE(is_sync_name(name)) << name;
  for (const char* name : {"cudaMemcpyAsync", "cudaGraphAddMemcpyNode", "cudaStreamWaitEvent", "cudaMalloc"})
    EXPECT_FALSE(is_launch_name(name) || is_sync_name(name)) << name;
  EXPECT_TRUE(is_kernel_launch_name("Node@launch"));
  for (const char* name : {"aclrtSynchronizeStream", "aclrtMemcpy"}) EXPECT_TRUE(is_sync_name(name)) << name;
  EXPECT_FALSE(is_sync_name("aclrtMemcpyAsync"));
}

TEST(CollectiveNames, PyTorchsNamesAreThoseOfNccl) {
  EXPECT_EQ(collective_operation("_allgather_base"), "AllGather");
  EXPECT_EQ(collective_operation("all_gather_into_tensor_coalesced"), "AllGather");
  EXPECT_EQ(collective_operation("reduce_scatter_tensor"), "ReduceScatter");
  EXPECT_EQ(collective_operation("all_to_allv"), "AlltoAll");
  EXPECT_EQ(collective_operation("_broadcast_oop"), "Broadcast");
  EXPECT_EQ(collective_operation("receive"), "Recv");
  EXPECT_EQ(collective_operation("wait"), "");
  EXPECT_EQ(collective_type("c10::BFloat16"), 9);
  EXPECT_EQ(collective_type("Float"), 7);
  EXPECT_EQ(collective_type("ComplexFloat"), 255);
}

}  // namespace
}  // namespace hostprobe::analysis
