// When ops ran, replayed from what their kinds last, and what nobody can know is marked and blamed on nobody: model/gpu_replay.h
#include <gtest/gtest.h>

#include <cmath>

#include "made_gpu.h"
#include "model/gpu_replay.h"

namespace hostprobe::analysis {
namespace {

using test::MadeGpu;

OpTimes replayed(const MadeGpu& gpu) { return replay_gpus({&gpu.work})[0]; }

// No op ends further from the truth than it says that it may, and than `most_us`.
void expect_true(const MadeGpu& gpu, const OpTimes& times, double most_us, std::size_t first = 0) {
  ASSERT_EQ(times.size(), gpu.truth.size());
  for (std::size_t i = first; i < times.size(); ++i) {
    if (!is_work(gpu.work.ops[i].type)) continue;
    EXPECT_NEAR(times[i].begin_ns, 1000 * gpu.truth[i].begin_us, 1000 * most_us) << i;
    EXPECT_NEAR(times[i].end_ns, 1000 * gpu.truth[i].end_us, 1000 * most_us) << i;
    EXPECT_LE(times[i].begin_ns, times[i].end_ns) << i;
    EXPECT_FALSE(times[i].guessed) << i;
  }
}

// Its kinds are known from now on.
void time_some(MadeGpu& gpu, std::uint32_t stream, const std::vector<std::pair<std::uint32_t, double>>& kinds) {
  gpu.is_timing = true;
  gpu.work.empty_event_ns = gpu.empty_event_ns();
  for (int i = 0; i < 16; ++i)
    for (const auto& [kind, us] : kinds) gpu.launch(stream, kind, us);
  gpu.is_timing = false;
  gpu.wait(stream);
}

TEST(GpuReplays, AProcessThatLaunchesTooSlowlyHasItsGapsWhereTheyWere) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  time_some(gpu, stream, {{one, 10}});
  for (int i = 0; i < 200; ++i) {
    gpu.launch(stream, one, 10);
    gpu.host_us += 40;
  }
  expect_true(gpu, replayed(gpu), 1);
}

TEST(GpuReplays, AFullStreamHasNoGaps) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1), two = gpu.kind(2);
  time_some(gpu, stream, {{one, 100}, {two, 37}});
  const std::size_t first = gpu.work.ops.size();
  for (int i = 0; i < 300; ++i) gpu.launch(stream, i % 2 ? one : two, i % 2 ? 100 : 37);
  gpu.wait(stream);
  const OpTimes times = replayed(gpu);
  expect_true(gpu, times, 6, first);
  for (std::size_t i = first + 1; i < times.size(); ++i) {
    EXPECT_NEAR(times[i].begin_ns, times[i - 1].end_ns, 1) << i;
    EXPECT_EQ(times[i].bound_by, i - 1);
  }
}

TEST(GpuReplays, WhatAGpuPausesBetweenTwoOpsIsNoTimeOfTheFirst) {
  MadeGpu gpu;
  gpu.pause_us = 1.5;
  gpu.work.empty_event_ns = gpu.empty_event_ns();
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  for (int i = 0; i < 200; ++i) {
    gpu.is_timing = i < 50;
    gpu.launch(stream, one, 20);  // into an empty stream
    gpu.launch(stream, one, 20);  // and behind it
    gpu.wait(stream);
  }
  const OpTimes times = replayed(gpu);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(times[i].end_ns, 1000 * gpu.truth[i].end_us, 100) << i;
    EXPECT_NEAR(times[i].begin_ns, i % 2 ? times[i - 1].end_ns : 1000 * gpu.truth[i].begin_us, 100) << i;
  }
}

TEST(GpuReplays, AStreamStandsStillForTheEventThatItWaitsFor) {
  MadeGpu gpu;
  const std::uint32_t first = gpu.stream(7), second = gpu.stream(8), one = gpu.kind(1), other = gpu.kind(2);
  time_some(gpu, first, {{one, 300}, {other, 20}});
  for (int i = 0; i < 20; ++i) {
    gpu.launch(first, one, 300);
    const std::uint32_t mark = gpu.mark(first);
    gpu.launch(first, one, 300);
    gpu.join(second, mark);
    gpu.launch(second, other, 20);  // while the first stream's second is running
    gpu.wait(second);
    gpu.wait(first);
  }
  expect_true(gpu, replayed(gpu), 6);
}

TEST(GpuReplays, TheLegacyStreamAndTheOthersWaitForEachOther) {
  MadeGpu gpu;
  const std::uint32_t legacy = gpu.stream(0), second = gpu.stream(8), one = gpu.kind(1);
  time_some(gpu, second, {{one, 50}});
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t before = gpu.launch(second, one, 50);
    const std::uint32_t own = gpu.launch_behind(legacy, one, 50, before);
    gpu.launch_behind(second, one, 50, own);
    gpu.wait(second);
  }
  expect_true(gpu, replayed(gpu), 6);
}

// Two ranks, each with a collective every so often; the second comes `late_us` later; below 0 the first does.
struct TwoRanks {
  MadeGpu ranks[2];
  std::uint32_t streams[2] = {}, collectives[2] = {};

  void make(int times, double late_us, double moved_us, bool timed) {
    for (int i = 0; i < 2; ++i) {
      streams[i] = ranks[i].stream();
      collectives[i] = ranks[i].collective_kind();
      ranks[i].work.empty_event_ns = ranks[i].empty_event_ns();
    }
    for (int n = 0; n < times; ++n) meet(static_cast<std::uint32_t>(n), late_us, moved_us, timed);
  }
  void meet(std::uint32_t number, double late_us, double moved_us, bool timed) {
    const double at_us = std::max(ranks[0].host_us, ranks[1].host_us) + 100;
    ranks[0].host_us = at_us + std::max(0.0, -late_us);
    ranks[1].host_us = at_us + std::max(0.0, late_us);
    const double until_us = std::max(ranks[0].host_us, ranks[1].host_us) + 2 + ranks[0].start_us;
    for (int i = 0; i < 2; ++i) {
      ranks[i].is_timing = timed;
      ranks[i].meet(streams[i], collectives[i], number, moved_us, until_us);
      ranks[i].wait(streams[i]);
    }
  }
};

TEST(GpuReplays, ACollectiveEndsForAllWhenTheLastRankHasCome) {
  TwoRanks job;
  job.make(30, 0, 80, true);
  for (std::uint32_t n = 30; n < 60; ++n) job.meet(n, n % 2 == 0 ? 500 : -500, 80, false);
  const std::vector<OpTimes> times = replay_gpus({&job.ranks[0].work, &job.ranks[1].work});
  for (int i = 0; i < 2; ++i) expect_true(job.ranks[i], times[static_cast<std::size_t>(i)], 6);
}

// The collective's stream waits for that of the work before it: so no event tells when it began.
TEST(GpuReplays, ACollectiveBehindAWaitAcrossStreamsTellsHowLongItTakes) {
  MadeGpu ranks[2];
  for (MadeGpu& rank : ranks) {
    const std::uint32_t work = rank.stream(1), moves = rank.stream(2), one = rank.kind(1),
                        collective = rank.collective_kind();
    time_some(rank, work, {{one, 200}});
    for (std::uint32_t n = 0; n < 30; ++n) {
      rank.is_timing = n < 10;
      rank.launch(work, one, 200);
      rank.join(moves, rank.mark(work));
      rank.meet(moves, collective, n, 90, 0);
      rank.join(work, rank.mark(moves));
      rank.wait(work);
    }
  }
  const std::vector<OpTimes> times = replay_gpus({&ranks[0].work, &ranks[1].work});
  for (int i = 0; i < 2; ++i) expect_true(ranks[i], times[static_cast<std::size_t>(i)], 6);
}

TEST(GpuReplays, WhatATimedOpWaitedForHadEndedThen) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), long_one = gpu.kind(1), short_one = gpu.kind(2);
  time_some(gpu, stream, {{long_one, 100}, {short_one, 50}});
  const std::uint32_t before = gpu.launch(stream, long_one, 60);  // shorter than others of its kind
  gpu.is_timing = true;
  const std::uint32_t timed = gpu.launch(stream, short_one, 50);
  const OpTimes times = replayed(gpu);
  EXPECT_NEAR(times[timed].begin_ns, 1000 * gpu.truth[timed].begin_us, 2000);
  EXPECT_LE(times[before].end_ns, times[timed].begin_ns);
  EXPECT_NEAR(times[before].end_ns, 1000 * gpu.truth[before].end_us, 2000);
}

TEST(GpuReplays, ACollectiveOfARankThatNobodySawIsUnknownAndNobodyWaitedForIt) {
  TwoRanks job;
  job.make(30, 500, 80, false);
  const OpTimes times = replay_gpus({&job.ranks[0].work})[0];
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(times[i].begin_ns, 1000 * job.ranks[0].truth[i].begin_us, 1e3) << "that it had begun is known";
    EXPECT_LE(times[i].begin_ns, times[i].end_ns);
    EXPECT_LE(times[i].end_ns, job.ranks[0].work.syncs[i].end_ns) << "and that it had ended when the wait returned";
    EXPECT_TRUE(times[i].guessed) << "but not whom it waited for";
  }
}

TEST(GpuReplays, ACollectiveOfARankThatNobodySawAndNobodyWaitedForHasNoEnd) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1), all = gpu.collective_kind();
  time_some(gpu, stream, {{one, 20}});
  const std::uint32_t alone = gpu.meet(stream, all, 1, 80, 0);
  const OpTimes times = replayed(gpu);
  EXPECT_TRUE(times[alone].guessed);
  EXPECT_GE(times[alone].end_error_ns, 1e8f);
}

// A rank of two; the other one, which nobody saw, comes 5 ms late. Work of kind `last` waits for both across streams, and the host for that.
struct HalfOfAJob {
  MadeGpu gpu;
  std::vector<std::uint32_t> meets, lasts;

  explicit HalfOfAJob(bool is_last_known) {
    const std::uint32_t work = gpu.stream(1), moves = gpu.stream(2), one = gpu.kind(1), last = gpu.kind(2),
                        collective = gpu.collective_kind();
    time_some(gpu, work, {{one, 200}});
    if (is_last_known) time_some(gpu, work, {{last, 40}});
    for (std::uint32_t n = 0; n < 30; ++n) {
      gpu.launch(work, one, 200);
      gpu.join(moves, gpu.mark(work));
      meets.push_back(gpu.meet(moves, collective, n, 90, gpu.host_us + 5000));
      gpu.host_us += 1000;  // until then it would have ended, had the other one been there
      gpu.join(work, gpu.mark(moves));
      gpu.is_timing = n % 3 == 0;
      lasts.push_back(gpu.launch(work, last, 40));
      gpu.is_timing = false;
      gpu.wait(work);
    }
  }
};

TEST(GpuReplays, ACollectiveOfARankThatNobodySawLastsUntilTheWorkBehindItBegan) {
  const HalfOfAJob job(true);
  const OpTimes times = replayed(job.gpu);
  for (std::size_t i = 0; i < job.meets.size(); ++i) {
    const OpTime &collective = times[job.meets[i]], &last = times[job.lasts[i]];
    EXPECT_TRUE(collective.is_known()) << i;
    EXPECT_NEAR(collective.end_ns, 1000 * job.gpu.truth[job.meets[i]].end_us, 50e3) << i;
    EXPECT_NEAR(last.end_ns - last.begin_ns, 40e3, 20e3) << i;
  }
}

TEST(GpuReplays, WorkThatNobodyTimedIsNotTakenForTheRanksThatItWaitedFor) {
  const HalfOfAJob job(false);
  const OpTimes times = replayed(job.gpu);
  for (std::size_t i = 0; i < job.meets.size(); ++i) {
    const OpTime &collective = times[job.meets[i]], &last = times[job.lasts[i]];
    EXPECT_TRUE(!last.is_known() || last.end_ns - last.begin_ns < 1e6) << i;
    EXPECT_TRUE(!collective.is_known() || collective.end_ns - collective.begin_ns > 4e6) << i;
  }
}

TEST(GpuReplays, AMessageIsTakenWhenItWasSent) {
  MadeGpu from, to;
  const std::uint32_t out = from.stream(), in = to.stream(), sent = from.collective_kind(),
                      taken = to.collective_kind();
  for (std::uint32_t n = 1; n <= 40; ++n) {
    from.is_timing = to.is_timing = n <= 20;
    const double at_us = std::max(from.host_us, to.host_us) + 50;
    to.host_us = at_us;
    from.host_us = at_us + (n <= 20 ? 0 : 300);
    const double until_us = from.host_us + 2 + from.start_us;
    from.meet(out, sent, n, 30, 0, true, false, 5);
    to.meet(in, taken, n, 30, until_us, false, true, 5);
    from.wait(out);
    to.wait(in);
  }
  const std::vector<OpTimes> times = replay_gpus({&from.work, &to.work});
  expect_true(from, times[0], 6);
  expect_true(to, times[1], 6);
}

TEST(GpuReplays, AWaitThatReturnedBeforeSaysThatAllHadEnded) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  time_some(gpu, stream, {{one, 100}});
  std::vector<std::uint32_t> last;
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 10; ++k) gpu.launch(stream, one, 70);  // the GPU has become quicker since, and nobody timed it
    last.push_back(static_cast<std::uint32_t>(gpu.work.ops.size() - 1));
    gpu.wait(stream);
  }
  const OpTimes times = replayed(gpu);
  for (std::size_t i = 0; i < last.size(); ++i) {
    EXPECT_LE(times[last[i]].end_ns, gpu.work.syncs[i + 1].end_ns) << i;
    EXPECT_NEAR(times[last[i] - 5].end_ns, 1000 * gpu.truth[last[i] - 5].end_us, 30e3)
        << "those before it are shorter too";
  }
}

TEST(GpuReplays, OpsWhoseOthersLeftNoRecordEndAllTheSame) {
  // Each rank saw a collective of which the other has no record, in an order in which none can go on.
  MadeGpu first, second;
  const std::uint32_t a = first.stream(), b = second.stream(), all = first.collective_kind(),
                      same = second.collective_kind();
  first.meet(a, all, 1, 20, 0);
  first.meet(a, all, 2, 20, 0);
  second.meet(b, same, 2, 20, 0);
  second.meet(b, same, 1, 20, 0);
  const std::vector<OpTimes> times = replay_gpus({&first.work, &second.work});
  for (const OpTimes& own : times) {
    ASSERT_EQ(own.size(), 2u);
    for (const OpTime& time : own) {
      EXPECT_TRUE(std::isfinite(time.begin_ns));
      EXPECT_LE(time.begin_ns, time.end_ns);
    }
    EXPECT_LE(own[0].end_ns, own[1].begin_ns);
  }
}

TEST(GpuReplays, AnOpThatWaitsForALaterOneDoesNotStandStillForEver) {
  MadeGpu gpu;
  const std::uint32_t first = gpu.stream(7), second = gpu.stream(8), one = gpu.kind(1);
  gpu.launch(first, one, 20);
  gpu.launch(second, one, 20);
  gpu.work.ops[0].other = 1;
  gpu.work.ops[1].other = 0;
  for (const OpTime& time : replayed(gpu)) EXPECT_LE(time.begin_ns, time.end_ns);
}

TEST(GpuReplays, AThreadThatReturnsLateForLackOfACpuStretchesNothing) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1);
  time_some(gpu, stream, {{one, 50}});
  for (int i = 0; i < 60; ++i) {
    gpu.launch(stream, one, 50);
    gpu.wait(stream, i % 6 == 5 ? 5000 : 0);
  }
  expect_true(gpu, replayed(gpu), 10);
}

TEST(GpuReplays, WhatHungIsUnknownAndSoIsWhenAllBehindItEnded) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1),
                      hung = gpu.add_kind({GpuOpType::kGraph, false, 9, 0, 0, 0, 0});
  time_some(gpu, stream, {{one, 20}});
  const std::uint32_t graph = gpu.launch(stream, hung, 1e9), behind = gpu.launch(stream, one, 20);
  const OpTimes times = replayed(gpu);
  EXPECT_TRUE(times[graph].guessed) << "nobody timed such a graph, and nothing tells its end";
  EXPECT_GE(times[behind].end_error_ns, 1e8f);
}

// Some of them by what was timed two kernels behind, the others as long as these.
TEST(GpuReplays, AFunctionOfTheProgramsLastsUntilTheWorkBehindItBegan) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1),
                      function = gpu.add_kind({GpuOpType::kCallback, false, 2, 0, 0, 0, 0});
  time_some(gpu, stream, {{one, 100}});
  const std::size_t first = gpu.work.ops.size();
  for (int i = 0; i < 40; ++i) {
    gpu.launch(stream, function, 5000);
    gpu.launch(stream, one, 100);
    gpu.is_timing = i % 2 == 0;
    gpu.launch(stream, one, 100);
    gpu.is_timing = false;
    gpu.wait(stream);
  }
  expect_true(gpu, replayed(gpu), 30, first);
}

// Nobody timed such a copy behind anything else.
TEST(GpuReplays, AFunctionOfTheProgramsTookTheTimeAndNotTheCopyBehindIt) {
  MadeGpu gpu;
  const std::uint32_t stream = gpu.stream(), one = gpu.kind(1), copy = gpu.copy_kind(16 << 10),
                      function = gpu.add_kind({GpuOpType::kCallback, false, 2, 0, 0, 0, 0});
  time_some(gpu, stream, {{one, 100}});
  std::vector<std::uint32_t> copies;
  for (int i = 0; i < 40; ++i) {
    gpu.launch(stream, function, 2000);
    gpu.is_timing = true;
    copies.push_back(gpu.launch(stream, copy, 3));
    gpu.work.ops[copies.back()].bytes = 16 << 10;
    gpu.is_timing = false;
    gpu.launch(stream, one, 100);
    gpu.wait(stream);
  }
  const OpTimes times = replayed(gpu);
  for (const std::uint32_t number : copies) EXPECT_LT(times[number].end_ns - times[number].begin_ns, 30'000) << number;
}

TEST(GpuReplays, ProcessesThatLaunchedNothingAreNothing) {
  EXPECT_TRUE(replay_gpus({}).empty());
  const GpuWork none;
  const std::vector<OpTimes> times = replay_gpus({&none, &none});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_TRUE(times[0].empty() && times[1].empty());
}

}  // namespace
}  // namespace hostprobe::analysis
