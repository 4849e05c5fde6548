// What ran on the GPUs of a host, and where only bounds are known: model/gpu_timeline.h
#include <gtest/gtest.h>

#include <algorithm>

#include "made_gpu.h"
#include "model/gpu_timeline.h"

namespace hostprobe::analysis {
namespace {

using test::MadeGpu;

DeviceTimeline timeline_of(const MadeGpu& gpu, double offset_ns = 0) {
  std::vector<GpuMember> members(1);
  members[0].work = gpu.work;
  members[0].offset_ns = offset_ns;
  return gpu_timelines(std::move(members))[0];
}

TEST(GpuBounds, WithoutEventsAGpuIsEmptyFromAWaitForAllOfItToTheNextLaunch) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 4; ++k) gpu.launch(stream, one, 50);
    gpu.wait(stream);
    gpu.host_us += 300;
  }
  const DeviceTimeline device = timeline_of(gpu);
  EXPECT_EQ(device.source, ActivitySource::kBounds);
  EXPECT_FALSE(device.has_order());
  ASSERT_EQ(device.activities.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Activity& piece = device.activities[i];
    EXPECT_TRUE(piece.unknown);
    EXPECT_EQ(piece.kernels, 4u);
    EXPECT_DOUBLE_EQ(piece.begin_ns, gpu.work.ops[4 * i].told_ns);
    EXPECT_DOUBLE_EQ(piece.end_ns, gpu.work.syncs[i].end_ns);
    EXPECT_DOUBLE_EQ(piece.launch_ns, gpu.work.ops[4 * i].begin_ns) << "the call that ended the gap";
    EXPECT_LE(piece.begin_ns, 1000 * gpu.truth[4 * i].begin_us);
    EXPECT_GE(piece.end_ns, 1000 * gpu.truth[4 * i + 3].end_us);
  }
}

TEST(GpuBounds, AWaitForOneStreamEmptiesNoOther) {
  MadeGpu gpu;
  const std::uint32_t first = gpu.stream(7), second = gpu.stream(8), one = gpu.kind(1);
  gpu.launch(first, one, 50);
  gpu.launch(second, one, 5000);
  gpu.wait(first);
  gpu.host_us += 300;
  gpu.launch(first, one, 50);
  gpu.wait(first);
  gpu.wait(second);
  const DeviceTimeline device = timeline_of(gpu);
  ASSERT_EQ(device.activities.size(), 1u);
  EXPECT_DOUBLE_EQ(device.activities[0].end_ns, gpu.work.syncs.back().end_ns);
}

TEST(GpuBounds, WhatWasLaunchedWhileSomebodyWaitedMayRunOn) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  gpu.launch(stream, one, 50);
  gpu.wait(stream);
  GpuSync& sync = gpu.work.syncs.back();
  gpu.host_us = 1e-3 * sync.begin_ns + 1;  // another thread's
  gpu.launch(stream, one, 5000);
  const double until_ns = gpu.work.ops.back().end_ns;
  const DeviceTimeline device = timeline_of(gpu);
  ASSERT_EQ(device.activities.size(), 1u);
  EXPECT_GE(device.activities[0].end_ns, until_ns) << "the wait was not for it";
}

TEST(GpuBounds, NothingIsSaidOfAProcessThatLaunchedNothing) {
  std::vector<GpuMember> members(2);
  for (const DeviceTimeline& device : gpu_timelines(std::move(members))) {
    EXPECT_EQ(device.source, ActivitySource::kNone);
    EXPECT_TRUE(device.activities.empty());
  }
}

TEST(GpuBounds, FewTimedOpsOfManyKindsAreTooFewForAReplay) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream();
  const std::uint32_t timed = gpu.kind(1);
  gpu.is_timing = true;
  for (int i = 0; i < 10; ++i) gpu.launch(stream, timed, 20);
  gpu.is_timing = false;
  // Graphs that nobody timed, and no wait that tells when they ended.
  for (std::uint64_t i = 0; i < 50; ++i)
    gpu.launch(stream, gpu.add_kind({GpuOpType::kGraph, false, 100 + i, 0, 0, 0, 0}), 500);
  const DeviceTimeline device = timeline_of(gpu);
  EXPECT_EQ(device.source, ActivitySource::kBounds);
}

TEST(GpuBounds, WhatNobodyWaitedForMayRunOnAsLongAsAnythingIsKnown) {
  MadeGpu gpu;
  const std::uint32_t first = gpu.stream(7), second = gpu.stream(8), one = gpu.kind(1);
  gpu.launch(second, one, 90'000);
  gpu.launch(first, one, 5000);
  gpu.wait(first);
  const DeviceTimeline device = timeline_of(gpu);
  ASSERT_EQ(device.activities.size(), 1u);
  EXPECT_GE(device.activities[0].end_ns, gpu.work.syncs.back().end_ns) << "not only until the last call that launched";
}

TEST(GpuTimelines, WithEventsEachActivityHasATimeAndSaysByWhatItMayBeWrong) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1), copy = gpu.copy_kind(1000);
  gpu.work.empty_event_ns = 3e3;
  gpu.is_timing = true;
  for (int i = 0; i < 20; ++i) {
    gpu.launch(stream, one, 20);
    gpu.launch(stream, copy, 10);
    gpu.mark(stream);
  }
  gpu.is_timing = false;
  for (int i = 0; i < 20; ++i) gpu.launch(stream, one, 20);
  // On the axis of another process, and back.
  const DeviceTimeline device = timeline_of(gpu, 7e9);
  EXPECT_EQ(device.source, ActivitySource::kEvents);
  EXPECT_TRUE(device.has_order());
  ASSERT_EQ(device.activities.size(), 60u) << "marks are no work";
  EXPECT_EQ(std::count_if(device.activities.begin(), device.activities.end(),
                          [](const Activity& activity) { return activity.type == ActivityType::kCopy; }),
            20);
  EXPECT_NEAR(device.activities.back().end_ns, 1000 * gpu.end_us(), 5e3);
  EXPECT_GT(device.activities.back().error_ns, 0);
  for (const Activity& activity : device.activities) {
    EXPECT_FALSE(activity.unknown);
    EXPECT_LE(activity.error_ns, 10e3f);
  }
}

}  // namespace
}  // namespace hostprobe::analysis
