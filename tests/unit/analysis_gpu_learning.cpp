// How long ops last that no stretch of timed ones tells: model/gpu_learning.h, model/gpu_other_ranks.h
#include <gtest/gtest.h>

#include "made_gpu.h"
#include "model/gpu_replay.h"

namespace hostprobe::analysis {
namespace {

using test::MadeGpu;

double lasts_us(const OpTime& time) { return (time.end_ns - time.begin_ns) / 1000; }

void time_some(MadeGpu& gpu, std::uint32_t stream, std::uint32_t kind, double us) {
  gpu.is_timing = true;
  gpu.work.empty_event_ns = gpu.empty_event_ns();
  for (int i = 0; i < 16; ++i) gpu.launch(stream, kind, us);
  gpu.is_timing = false;
  gpu.wait(stream);
}

// Steps of ten known ops and two that nobody timed. In every third step the process is stopped, and its wait returns half a second late.
TEST(GpuLearning, KindsThatNobodyTimedLastAsLongAsQuickWaitsSay) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), known = gpu.kind(1), rare = gpu.kind(2), last = gpu.kind(3);
  time_some(gpu, stream, known, 40);
  std::vector<std::uint32_t> ends;
  for (int step = 0; step < 30; ++step) {
    for (int i = 0; i < 10; ++i) gpu.launch(stream, known, 40);
    gpu.launch(stream, rare, 120);
    ends.push_back(gpu.launch(stream, last, 60));
    gpu.wait(stream, step % 3 == 1 ? 500'000 : 0);
  }
  const OpTimes times = replay_gpus({&gpu.work})[0];
  for (const std::uint32_t end : ends) {
    EXPECT_FALSE(times[end].guessed) << end;
    EXPECT_NEAR(times[end].end_ns, 1000 * gpu.truth[end].end_us, 100'000) << end;
    EXPECT_NEAR(lasts_us(times[end]) + lasts_us(times[end - 1]), 180, 40) << end;
  }
}

// A value is read back behind each op, and the thread is woken late each time: that is not the copy.
TEST(GpuLearning, CopiesOfFewBytesLastNoLongerThanABusTakes) {
  MadeGpu gpu;
  gpu.return_us = 80;
  const std::uint32_t stream = gpu.stream(), known = gpu.kind(1), copy = gpu.copy_kind(4);
  time_some(gpu, stream, known, 40);
  std::vector<std::uint32_t> copies;
  for (int step = 0; step < 30; ++step) {
    gpu.launch(stream, known, 40);
    copies.push_back(gpu.launch(stream, copy, 2));
    gpu.work.ops[copies.back()].bytes = 4;
    gpu.wait(stream);
  }
  const OpTimes times = replay_gpus({&gpu.work})[0];
  for (const std::uint32_t one : copies) EXPECT_LT(lasts_us(times[one]), 10) << one;
}

// The second rank's GPU takes twice as long for all, and nobody waits for what was not timed.
TEST(GpuLearning, WhatOneRankNeverTimedLastsAsOtherRanksSay) {
  MadeGpu ranks[2];
  std::uint32_t rare_op = 0;
  for (int i = 0; i < 2; ++i) {
    MadeGpu& rank = ranks[i];
    const std::uint32_t stream = rank.stream(), known = rank.kind(1, 1), rare = rank.kind(2, 2);
    const double factor = i == 0 ? 1 : 2;
    time_some(rank, stream, known, factor * 40);
    if (i == 0) time_some(rank, stream, rare, 150);
    for (int n = 0; n < 3; ++n) rank.launch(stream, known, factor * 40);
    rare_op = rank.launch(stream, rare, factor * 150);
  }
  const std::vector<OpTimes> times = replay_gpus({&ranks[0].work, &ranks[1].work});
  EXPECT_FALSE(times[1][rare_op].guessed);
  EXPECT_NEAR(lasts_us(times[1][rare_op]), 300, 30);
}

// A graph's handle means nothing in another process.
TEST(GpuLearning, GraphsOfOtherRanksTellNothing) {
  MadeGpu ranks[2];
  std::uint32_t graph_op = 0;
  for (int i = 0; i < 2; ++i) {
    MadeGpu& rank = ranks[i];
    const std::uint32_t stream = rank.stream(), known = rank.kind(1, 1),
                        graph = rank.add_kind({GpuOpType::kGraph, false, 9, 0, 0, 0, 0});
    time_some(rank, stream, known, 40);
    if (i == 0) time_some(rank, stream, graph, 150);
    graph_op = rank.launch(stream, graph, 150);
  }
  EXPECT_TRUE(replay_gpus({&ranks[0].work, &ranks[1].work})[1][graph_op].guessed);
}

// The receiver has less to do, so each time it waits for the sender: what all of its times have in common is no transfer.
TEST(GpuLearning, MessagesThatAreAlwaysWaitedForLastSinceTheSenderWasThere) {
  MadeGpu from, to;
  const std::uint32_t out = from.stream(), in = to.stream(), work = from.kind(1, 1), other = to.kind(1, 1),
                      sent = from.add_kind({GpuOpType::kKernel, true, 99, 7, 1, 64, 0}),
                      taken = to.add_kind({GpuOpType::kKernel, true, 99, 8, 1, 64, 0});
  time_some(from, out, work, 40);
  time_some(to, in, other, 40);
  std::vector<std::uint32_t> messages;
  for (std::uint32_t n = 0; n < 40; ++n) {
    from.host_us = to.host_us = std::max(from.host_us, to.host_us);
    from.is_timing = to.is_timing = n < 10;
    for (int i = 0; i < 25; ++i) from.launch(out, work, 40);
    const double there_us = from.truth[from.meet(out, sent, n, 5, 0, true, false, 5)].begin_us;
    to.launch(in, other, 40);
    messages.push_back(to.meet(in, taken, n, 30, there_us, false, true, 5));
    to.launch(in, other, 40);
    from.wait(out);
    to.wait(in);
  }
  const OpTimes times = replay_gpus({&from.work, &to.work})[1];
  for (const std::uint32_t message : messages) {
    EXPECT_FALSE(times[message].guessed) << message;
    EXPECT_NEAR(times[message].end_ns, 1000 * to.truth[message].end_us, 10'000) << message;
  }
}

}  // namespace
}  // namespace hostprobe::analysis
