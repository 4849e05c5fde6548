// How long ops last, as timed ones tell, and what is guessed is marked: model/gpu_durations.h
#include <gtest/gtest.h>

#include <cmath>

#include "made_gpu.h"
#include "model/gpu_durations.h"

namespace hostprobe::analysis {
namespace {

using test::MadeGpu;

TEST(GpuDurationsOf, AFullStreamAreFromEndToEnd) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), quick = gpu.kind(1), slow = gpu.kind(2);
  gpu.is_timing = true;
  for (int i = 0; i < 20; ++i) {
    gpu.launch(stream, slow, 200);
    gpu.launch(stream, quick, 40);
  }
  const GpuDurations durations(gpu.work);
  EXPECT_NEAR(durations.of(slow).ns, 200e3, 100);
  EXPECT_NEAR(durations.of(quick).ns, 40e3, 100);
  EXPECT_FALSE(durations.of(quick).guessed);
  EXPECT_GE(durations.of(quick).samples, 19u);
}

TEST(GpuDurationsOf, AnEmptyStreamAreFromWhereTheirWorkCanBegin) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  gpu.start_us = 7;
  gpu.work.empty_event_ns = 4e3;
  gpu.is_timing = true;
  for (int i = 0; i < 20; ++i) {
    gpu.launch(stream, one, 30);
    gpu.wait(stream);
    gpu.host_us += 100;
  }
  const GpuDurations durations(gpu.work);
  EXPECT_NEAR(durations.of(one).ns, 30e3, 100);
  EXPECT_NEAR(durations.start_ns(), 7e3, 100);
}

TEST(GpuDurationsOf, BothKindsOfStreamsTellWhenWorkBegins) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  gpu.start_us = 6;
  gpu.is_timing = true;
  for (int i = 0; i < 20; ++i) {
    gpu.launch(stream, one, 50);  // into an empty stream
    gpu.launch(stream, one, 50);  // and behind it
    gpu.wait(stream);
  }
  const GpuDurations durations(gpu.work);
  EXPECT_NEAR(durations.start_ns(), 6e3, 100);
  EXPECT_NEAR(durations.of(one).ns, 50e3, 100);
}

TEST(GpuDurationsOf, OnesTooShortToBeTimedAreNoLongerThanTheirEvents) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  gpu.work.empty_event_ns = 3e3;
  for (int i = 0; i < 10; ++i) {
    const std::uint32_t op = gpu.launch(stream, one, 1);
    gpu.work.ops[op].latest_ns = gpu.work.ops[op].told_ns + 8e3;
    ++gpu.work.timed;
    gpu.wait(stream);
  }
  const OpDuration duration = GpuDurations(gpu.work).of(one);
  EXPECT_FALSE(duration.guessed);
  EXPECT_NEAR(duration.ns + duration.spread_ns, 3e3, 1) << "of 8 us 6 are the way to the GPU; the clock goes in steps";
  EXPECT_GE(duration.ns - duration.spread_ns, -1);
}

// Launched while the one before it runs: it begins where that ends, and no way to the GPU is in what its event says.
TEST(GpuDurationsOf, OnesTooShortToBeTimedAreBoundByTheEndOfTheOneBefore) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  gpu.work.empty_event_ns = 3e3;
  for (int i = 0; i < 10; ++i) {
    const double begin_ns = gpu.work.ops[gpu.launch(stream, one, 1)].told_ns;
    const std::uint32_t behind = gpu.launch(stream, one, 1);
    gpu.work.ops[behind - 1].latest_ns = begin_ns + 9e3;
    gpu.work.ops[behind].latest_ns = begin_ns + 11.5e3;
    gpu.work.timed += 2;
    gpu.wait(stream);
  }
  const OpDuration duration = GpuDurations(gpu.work).of(one);
  EXPECT_FALSE(duration.guessed);
  EXPECT_NEAR(duration.ns + duration.spread_ns, 3.5e3, 1) << "2.5 us, and the clock goes in steps";
}

// As where the thread lost its CPU between the launch and the event.
TEST(GpuDurationsOf, WhatAnEventThatCameLateBoundsIsNotTakenForHalfOfIt) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), late = gpu.kind(1), usual = gpu.kind(2);
  for (int i = 0; i < 10; ++i) {
    gpu.is_timing = false;
    const std::uint32_t op = gpu.launch(stream, late, 1);
    if (i == 3) gpu.work.ops[op].latest_ns = gpu.work.ops[op].told_ns + 2e6, ++gpu.work.timed;
    gpu.wait(stream);
    gpu.is_timing = true;
    gpu.launch(stream, usual, 20);
    gpu.launch(stream, usual, 20);
    gpu.wait(stream);
  }
  const OpDuration duration = GpuDurations(gpu.work).of(late);
  EXPECT_TRUE(duration.guessed);
  EXPECT_LE(duration.ns, 20e3);
}

TEST(GpuDurationsOf, NoWorkBeginsLaterThanTheQuickestKindWasDone) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), quick = gpu.kind(1), slow = gpu.kind(2);
  gpu.start_us = 4;
  gpu.work.empty_event_ns = 4e3;  // so that seven would be expected
  for (int i = 0; i < 10; ++i) {
    gpu.is_timing = false;
    const std::uint32_t op = gpu.launch(stream, quick, 1);
    gpu.work.ops[op].latest_ns = gpu.work.ops[op].told_ns + 5e3, ++gpu.work.timed;
    gpu.wait(stream);
    gpu.is_timing = true;
    gpu.launch(stream, slow, 20);
    gpu.wait(stream);
  }
  const GpuDurations durations(gpu.work);
  EXPECT_NEAR(durations.start_ns(), 4e3, 500);
  EXPECT_NEAR(durations.of(slow).ns, 20e3, 500);
}

TEST(GpuDurationsOf, KindsThatNobodyTimedAreGuessedAndSaySo) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), timed = gpu.kind(1, 8), other = gpu.kind(2), same = gpu.kind(1, 16),
                      copy = gpu.copy_kind(2'000'000);
  gpu.is_timing = true;
  for (int i = 0; i < 10; ++i) gpu.launch(stream, timed, 100);
  gpu.is_timing = false;
  for (const std::uint32_t kind : {other, same, copy}) gpu.launch(stream, kind, 70);
  const GpuDurations durations(gpu.work);
  for (const std::uint32_t kind : {other, same, copy}) {
    EXPECT_TRUE(durations.of(kind).guessed) << kind;
    EXPECT_GE(durations.of(kind).spread_ns, durations.of(kind).ns) << kind << ": it may be anything";
  }
  EXPECT_NEAR(durations.of(same).ns, 100e3, 500) << "the same kernel with another grid is the best there is";
  EXPECT_GT(durations.of(copy).ns, 50e3) << "by its bytes";
}

TEST(GpuDurationsOf, AProcessOfWhichNothingWasTimedAreNone) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  gpu.launch(stream, one, 100);
  const GpuDurations durations(gpu.work);
  EXPECT_TRUE(durations.of(one).guessed);
  EXPECT_EQ(durations.of(one).ns, 0);
  EXPECT_EQ(durations.pace_at(0), 1);
  EXPECT_EQ(GpuDurations(GpuWork{}).pace_at(1e9), 1);
}

TEST(GpuDurationsOf, AGpuThatSlowsDownFollowItsPace) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1), two = gpu.kind(2);
  gpu.is_timing = true;
  for (int i = 0; i < 1500; ++i) {
    const double slower = i >= 500 && i < 1000 ? 1.5 : 1;
    gpu.launch(stream, one, 1000 * slower);
    gpu.launch(stream, two, 500 * slower);
  }
  const GpuDurations durations(gpu.work);
  const double begin = durations.pace_at(300e6), middle = durations.pace_at(1.3e9), end = durations.pace_at(2.4e9);
  EXPECT_NEAR(middle / begin, 1.5, 0.03);
  EXPECT_NEAR(end / begin, 1, 0.03);
  EXPECT_EQ(durations.pace_at(-1e12), durations.pace_at(0)) << "before all of them as at their begin";
  EXPECT_EQ(durations.pace_at(1e15), durations.pace_at(1e12));
}

TEST(GpuDurationsOf, SomeWrongEndsChangeNothing) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  gpu.is_timing = true;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t op = gpu.launch(stream, one, 100);
    if (i % 10 == 7) gpu.work.ops[op].timed_ns += i % 20 == 7 ? 90e6 : -150e3;  // before the one before
  }
  EXPECT_NEAR(GpuDurations(gpu.work).of(one).ns, 100e3, 1e3);
}

TEST(GpuDurationsOf, WhatWaitsForAnotherStreamTellItOnlyWhereThatHadEnded) {
  MadeGpu gpu;
  const std::uint32_t first = gpu.stream(7), second = gpu.stream(8), one = gpu.kind(1), long_one = gpu.kind(2);
  for (int i = 0; i < 20; ++i) {
    gpu.is_timing = false;
    const std::uint32_t awaited = gpu.launch(first, long_one, 400);
    gpu.is_timing = true;
    gpu.launch(second, one, 20);
    gpu.launch_behind(second, one, 20, awaited);  // stands still for what nobody timed
    gpu.wait(first);
    gpu.wait(second);
  }
  EXPECT_NEAR(GpuDurations(gpu.work).of(one).ns, 20e3, 1e3);
}

TEST(GpuDurationsOf, OpsWithSeveralPartsAreOfTheLargest) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), kernel = gpu.collective_kind();
  const std::uint32_t small = gpu.add_kind({GpuOpType::kKernel, true, 5, 0, 0, 10, 0}),
                      large = gpu.add_kind({GpuOpType::kKernel, true, 5, 0, 0, 1000, 0});
  const std::uint32_t op = gpu.launch(stream, kernel, 10);
  EXPECT_EQ(duration_kind(gpu.work, gpu.work.ops[op]), kernel);
  gpu.work.parts = {{99, 0, 1, 2, true, true, small}, {99, 0, 2, 2, true, true, large}};
  gpu.work.ops[op].parts = 2;
  EXPECT_EQ(duration_kind(gpu.work, gpu.work.ops[op]), large);
  std::vector<float> none;
  EXPECT_TRUE(robust_duration(none).guessed);
}

}  // namespace
}  // namespace hostprobe::analysis
