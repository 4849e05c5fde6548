// What costs a run time, as ids and numbers, and only what was measured: analysis/findings/run_findings.cpp, analysis/causes/,
// answer/finding.h
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analysis/findings/run_findings.h"
#include "analysis/run_answer.h"
#include "support/counters.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;

constexpr std::uint64_t kLibX = 0x100000;

class Causes : public testing::Test {
 protected:
  // A process of one second.
  TraceFile process(int rank) {
    TraceFile file;
    file.header.rank = rank;
    file.header.pid = static_cast<std::uint32_t>(1000 + rank);
    test::HookLook allocate = test::sync_hook("cuMemAlloc_v2"), copy = test::sync_hook("cuMemcpyHtoDAsync_v2");
    allocate.blocking = copy.blocking = false;
    file.hooks({test::wait_hook("sem_wait"),
                test::launch_hook("cuLaunchKernel"),
                test::sync_hook("cuStreamSynchronize"),
                allocate,
                copy,
                {.name = "hostprobe_gc",
                 .family = Family::kPython,
                 .labels = {"generation", "collected", "uncollectable"},
                 .blocking = false},
                {.name = "hostprobe_step", .family = Family::kPython, .labels = {"number"}, .blocking = false},
                test::wait_hook("pthread_cond_timedwait"),
                {.name = "hostprobe_gc",
                 .family = Family::kPython,
                 .labels = {"generation", "collected", "uncollectable", "blocks", "requested"},
                 .blocking = false},
                test::wait_hook("pthread_mutex_lock")});
    file.module(kLibX, kLibX + 0x1000, "/x/libx.so");
    return file;
  }
  void keep(const TraceFile& file) { file.write(folder_.file("h-" + std::to_string(file.header.pid) + "-1.hptrace")); }
  std::vector<Finding> findings() { return find_causes(analyse_run(folder_.path().string(), {})); }
  // Where there must be exactly one.
  Finding finding() {
    const std::vector<Finding> all = findings();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Finding{} : all.front();
  }
  static Call wait(double begin_ms, double end_ms, std::uint16_t stack = 0) {
    return {.hook = 1, .begin_us = 1000 * begin_ms, .end_us = 1000 * end_ms, .c = kLibX + 1, .stack = stack};
  }
  test::TestFolder folder_;
};

TEST_F(Causes, AreNoneWhereNothingIsWrong) {
  TraceFile file = process(0);
  file.calls(1000, 0, {wait(0, 1)});
  keep(file);
  EXPECT_TRUE(findings().empty());
  const WorstWaits worst = worst_waits(analyse_run(folder_.path().string(), {}));
  EXPECT_NEAR(worst.wait_pct, 0.1, 0.001);
  EXPECT_EQ(worst.wake_p99_ns, 0);
}

TEST_F(Causes, GarbageOfTheImportsIsNone) {
  TraceFile file = process(0);
  file.calls(1000, 0, {{.hook = 6, .begin_us = 10'000, .end_us = 90'000, .a = 2}});
  keep(file);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Causes, GarbageCollectionIsOneByItsShareOfTheRun) {
  TraceFile file = process(0);
  file.calls(1000, 0,
             {{.hook = 6, .begin_us = 600'000, .end_us = 650'000, .a = 2},
              {.hook = 6, .begin_us = 660'000, .end_us = 661'000}});
  keep(file);
  const Finding one = finding();
  EXPECT_EQ(one.cause, Cause::kGcPause);
  EXPECT_EQ(one.fix, Fix::kGc);
  EXPECT_EQ(one.rank, 0);
  EXPECT_NEAR(one.share_pct, 5.1, 0.001);
  EXPECT_EQ(one.evidence.of<GarbageEvidence>().oldest_generation, 2u);
  EXPECT_EQ(one.evidence.of<GarbageEvidence>().oldest_count, 1u);
}

// Collections of the oldest generation, 20 in the later half of a run of a second; 8 % of it.
class Collections : public Causes {
 protected:
  Finding of(std::uint64_t collected, std::uint64_t new_blocks, bool requested) {
    TraceFile file = process(0);
    std::vector<Call> calls;
    for (unsigned i = 0; i < 20; ++i)
      calls.push_back({.hook = 9,
                       .begin_us = 510'000 + 20'000.0 * i,
                       .end_us = 512'000 + 20'000.0 * i,
                       .a = 2,
                       .b = collected,
                       .d = 1'000'000 + i % 2 * 100 + new_blocks * i,
                       .e = requested ? 1u : 0u});
    file.calls(1000, 0, calls);
    keep(file);
    return finding();
  }
};

TEST_F(Collections, ThatTheProgramAsksForAreLeftOutByTheProgram) {
  const Finding one = of(0, 10'000, true);
  EXPECT_EQ(one.fix, Fix::kNoCollect);
  ASSERT_TRUE(one.site);
  EXPECT_EQ(one.site->function, "gc.collect");
  const auto& work = one.evidence.of<GarbageWorkEvidence>();
  EXPECT_EQ(work.requests, 20u);
  EXPECT_EQ(work.requests_collected, 0u);
  EXPECT_EQ(work.living_blocks, 1'165'050u) << "in the last third";
}

TEST_F(Collections, OfAHeapThatGrowsAreHelpedByFreezingIt) {
  const Finding one = of(0, 10'000, false);
  EXPECT_EQ(one.fix, Fix::kFreeze);
  EXPECT_FALSE(one.site) << "the interpreter begins it wherever it likes";
  const auto& work = one.evidence.of<GarbageWorkEvidence>();
  EXPECT_EQ(work.requests, 0u);
  EXPECT_NEAR(work.new_blocks_per_s.value_or(0), 500'000, 1000);
  EXPECT_NEAR(work.last_pause_ms.value_or(0), 2, 1e-6);
}

TEST_F(Collections, ThatFreeAnythingAreHelpedByThresholds) { EXPECT_EQ(of(5'000, 10'000, false).fix, Fix::kGc); }

TEST_F(Collections, OfAHeapThatBreathesSayNothingOfGrowth) {
  const Finding one = of(0, 0, false);
  EXPECT_EQ(one.fix, Fix::kGc);
  EXPECT_FALSE(one.evidence.of<GarbageWorkEvidence>().new_blocks_per_s);
}

TEST_F(Causes, GarbageCollectionOutsideOfTheStepsIsNone) {
  TraceFile file = process(0);
  std::vector<Call> calls = {{.hook = 6, .begin_us = 0, .end_us = 90'000, .a = 2}};
  for (int step = 0; step < 20; ++step)
    calls.push_back({.hook = 7,
                     .begin_us = 100'000.0 + 10'000 * step,
                     .end_us = 110'000.0 + 10'000 * step,
                     .a = std::uint64_t(step)});
  file.calls(1000, 0, calls);
  keep(file);
  EXPECT_TRUE(findings().empty());
}

// As mode monitor leaves them: counters, without a place in time. Steps of 2 ms; the rest of the second is start-up.
TEST_F(Causes, WhatMayAllBeBeforeTheFirstStepHasNoAdvice) {
  const auto garbage_of = [this](std::size_t steps, std::size_t collections) {
    TraceFile file = process(0);
    file.thread(test::thread_entry(1000, "main"));
    const auto ticks = [](double ms) { return static_cast<std::uint64_t>(1e6 * ms * test::kTicksPerNs); };
    const auto count = [&file](std::uint16_t hook, std::size_t times, std::uint64_t each) {
      file.block(kBlockCounters,
                 test::sums_row({.tid = 1000, .hook = hook, .counters = {std::vector<std::uint64_t>(times, each)}}));
    };
    count(7, steps, ticks(2));
    count(6, collections, ticks(2));
    file.clock({test::kStartTicks + ticks(1000), test::kStartMonotonicNs + 1'000'000'000,
                test::kStartRealtimeNs + 1'000'000'000});
    keep(file);
    return finding();
  };
  const Finding before = garbage_of(100, 60);
  EXPECT_EQ(before.cause, Cause::kGcPause);
  EXPECT_NEAR(before.share_pct, 12, 0.5);
  EXPECT_TRUE(before.with_start_up) << "800 ms are outside of the steps, and it took 120";
  EXPECT_EQ(before.fix, Fix::kNone);
  const Finding inside = garbage_of(490, 60);
  EXPECT_FALSE(inside.with_start_up) << "of 120 ms at least 100 were in steps";
  EXPECT_EQ(inside.fix, Fix::kGc);
}

TEST_F(Causes, TheInterpreterLockIsToldWithItsHolder) {
  TraceFile file = process(0);
  file.module(0x900000, 0x901000, "/usr/bin/python3.11");
  file.thread(test::thread_entry(1000, "main"));
  file.thread(test::thread_entry(1001, "other"));
  file.calls(1000, 0,
             {{.hook = 8, .begin_us = 0, .end_us = 60'000, .b = pack_post(1001, test::at_us(59'999)), .c = 0x900007}});
  keep(file);
  const Finding one = finding();
  EXPECT_EQ(one.cause, Cause::kGilContention);
  EXPECT_EQ(one.evidence.of<HolderEvidence>().held_by_tid, 1001u);
  EXPECT_EQ(one.evidence.of<InterpreterLockEvidence>().requests, 1u);
}

TEST_F(Causes, DataLoaderIsOneWhereAStackShowsIt) {
  TraceFile file = process(0);
  test::StringArea strings;
  const auto get = strings.add("Queue.get (queues.py:113)"), next = strings.add("_next_data (dataloader.py:1300)");
  file.strings(strings);
  file.stack(0, {}, {get, next});
  file.calls(1000, 0, {wait(0, 360, 1)});
  keep(file);
  const Finding found = finding();
  EXPECT_EQ(found.cause, Cause::kDataloaderWait);
  EXPECT_EQ(found.rank, 0);
  EXPECT_NEAR(found.share_pct, 36, 0.01);
  EXPECT_EQ(found.fix, Fix::kNone) << "no worker was seen that would have no time left";
  ASSERT_TRUE(found.site);
  EXPECT_EQ(found.site->function, "sem_wait");
  EXPECT_EQ(found.site->library, "libx.so");
  EXPECT_EQ(found.site->role, Role::kMain);
  EXPECT_EQ(found.site->stack.at(0), "Queue.get (queues.py:113)");
  EXPECT_EQ(found.evidence.of<LongWaitEvidence>().python, "Queue.get (queues.py:113)");
  EXPECT_EQ(found.evidence.of<LongWaitEvidence>().count, 1u);
  EXPECT_NEAR(found.evidence.of<LongWaitEvidence>().total_ms, 360, 1e-6);
}

TEST_F(Causes, MoreWorkersHelpOnlyWhereThoseThatAreThereAreBusy) {
  for (const bool busy : {true, false}) {
    TraceFile file = process(0);
    test::StringArea strings;
    const auto next = strings.add("_next_data (dataloader.py:1300)"), loop = strings.add("_worker_loop (worker.py:1)");
    file.strings(strings);
    file.stack(0, {}, {next});
    file.calls(1000, 0, {wait(0, 360, 1)});
    keep(file);
    TraceFile worker = process(0);
    worker.header.pid = 2000;
    worker.header.parent_pid = worker.header.forked_from = 1000;
    worker.header.process_cpu_ns = busy ? 950'000'000 : 100'000'000;
    worker.thread(test::thread_entry(2000, "pt_data_worker"));
    worker.strings(strings);
    worker.stack(0, {}, {loop});
    worker.calls(2000, 0, {{.hook = 1, .begin_us = 0, .end_us = 5000, .c = kLibX + 1, .stack = 1}});
    keep(worker);
    const Finding found = finding();
    EXPECT_EQ(found.cause, Cause::kDataloaderWait);
    EXPECT_EQ(found.fix, busy ? Fix::kNumWorkers : Fix::kNone);
    EXPECT_EQ(found.evidence.of<WorkersEvidence>().workers, 1u);
    EXPECT_NEAR(found.evidence.of<WorkersEvidence>().workers_cpu_pct, busy ? 95 : 10, 0.01);
  }
}

TEST_F(Causes, MoreCpusHelpOnlyWhereTheJobFillsThoseItHas) {
  for (const std::uint64_t cpus : {0, 1, 8}) {
    TraceFile file = process(0);
    file.header.cpus = cpus;
    file.header.process_cpu_ns = 950'000'000;
    ThreadEntry main = test::thread_entry(1000, "python3");
    main.cpu_ns = 600'000'000;
    main.run_delay_ns = 300'000'000;
    file.thread(main);
    keep(file);
    const Finding found = finding();
    EXPECT_EQ(found.cause, Cause::kCpuContention);
    EXPECT_EQ(found.fix, cpus == 1 ? Fix::kMoreCpus : Fix::kNone);
    EXPECT_NEAR(found.evidence.of<NoCpuEvidence>().cpus_wanted.value_or(0), cpus == 0 ? 0 : 1.25, 0.001);
  }
}

TEST_F(Causes, CallsThatWaitForTheGpuThoughTheyAreNotThereForItAreOne) {
  for (const bool memory : {true, false}) {
    TraceFile file = process(0);
    const std::uint16_t hook = memory ? 4 : 5;
    std::vector<Call> calls;
    for (int i = 0; i < 50; ++i) {
      calls.push_back({.hook = hook, .begin_us = 10'000.0 * i, .end_us = 10'000.0 * i + 2'000});
      calls.push_back({.hook = hook, .begin_us = 10'000.0 * i + 5'000, .end_us = 10'000.0 * i + 5'020});
    }
    file.calls(1000, 0, calls);
    keep(file);
    const Finding found = finding();
    EXPECT_EQ(found.cause, memory ? Cause::kAllocStall : Cause::kPageableCopy);
    EXPECT_NEAR(found.share_pct, 10, 0.01);
    EXPECT_EQ(found.evidence.of<GpuStallsEvidence>().count, 50u) << "those that returned at once are none";
  }
}

TEST_F(Causes, QueueIsFollowedToTheThreadThatFillsIt) {
  for (const bool loader : {false, true}) {
    TraceFile file = process(0);
    test::StringArea strings;
    const auto get = strings.add("Queue.get (queue.py:180)"), fill = strings.add("Prefetcher._fill (train.py:7)");
    const auto next = strings.add("_next_data (dataloader.py:1300)"),
               run = strings.add("Thread.run (threading.py:975)");
    file.strings(strings);
    file.stack(0, {}, {get});
    file.stack(1, {}, loader ? std::vector<std::uint32_t>{next, fill, run} : std::vector<std::uint32_t>{fill, run});
    file.thread(test::thread_entry(77, "python3"));
    Call woken = wait(0, 360, 1);
    woken.b = pack_post(77, test::at_us(359'990));
    file.calls(1000, 0, {woken});
    file.calls(77, 0, {wait(0, 1, 2)});
    keep(file);
    const Finding found = finding();
    EXPECT_EQ(found.cause, loader ? Cause::kDataloaderWait : Cause::kUnexplained);
    EXPECT_EQ(found.evidence.of<LongWaitEvidence>().other_side_runs, "Prefetcher._fill");
    EXPECT_EQ(found.evidence.of<LongWaitEvidence>().other_side_tid, 77u);
  }
}

TEST_F(Causes, WaitInALockIsForThatLock) {
  TraceFile file = process(0);
  Call locked = wait(0, 500);
  locked.hook = 10;
  file.calls(1000, 0, {locked});
  keep(file);
  EXPECT_EQ(finding().cause, Cause::kLockContention);
}

TEST_F(Causes, WaitThatNothingExplainsIsGivenNone) {
  TraceFile file = process(0);
  file.calls(1000, 0, {wait(0, 500)});
  keep(file);
  EXPECT_EQ(finding().cause, Cause::kUnexplained);
  EXPECT_EQ(finding().evidence.of<LongWaitEvidence>().purpose, WaitedFor::kUnknown);
  EXPECT_EQ(finding().fix, Fix::kNone);
}

TEST_F(Causes, TheWorstRankIsTheOneThatIsNamed) {
  for (const int rank : {0, 1, 2}) {
    TraceFile file = process(rank);
    file.calls(1000 + static_cast<std::uint32_t>(rank), 0, {wait(0, rank == 1 ? 700 : 200)});
    keep(file);
  }
  EXPECT_EQ(finding().rank, 1);
  EXPECT_EQ(finding().pid, 1001u);
  EXPECT_NEAR(finding().share_pct, 70, 0.01);
}

TEST_F(Causes, TheRankThatTheOthersWaitForHasIt) {
  for (const int rank : {0, 1}) {
    TraceFile file = process(rank);
    test::StringArea strings;
    const auto frame = strings.add("barrier (distributed_c10d.py:77)");
    file.strings(strings);
    file.stack(0, {}, {frame});
    file.calls(1000 + static_cast<std::uint32_t>(rank), 0, {wait(0, rank == 0 ? 400 : 50, 1)});
    keep(file);
  }
  const Finding found = finding();
  EXPECT_EQ(found.cause, Cause::kSlowRank);
  EXPECT_EQ(found.rank, 1);
  EXPECT_NEAR(found.share_pct, 35, 0.01);
  EXPECT_EQ(found.evidence.of<LateRankEvidence>().waits_most_rank, 0u);
  EXPECT_NEAR(found.evidence.of<LateRankEvidence>().waits_pct, 5, 0.01);
}

// How long a program waits for its GPU, or launches, is no fault by itself: a healthy one does nothing else.
TEST_F(Causes, WaitingForAGpuOfWhichNothingIsKnownIsNone) {
  TraceFile file = process(0);
  std::vector<Call> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back({.hook = 2, .begin_us = 50'000.0 * i, .end_us = 50'000.0 * i + 5});
    calls.push_back({.hook = 3, .begin_us = 50'000.0 * i + 10, .end_us = 50'000.0 * i + 49'000});
  }
  file.calls(1000, 0, calls);
  keep(file);
  for (const Finding& found : findings()) EXPECT_NE(found.cause, Cause::kSyncCalls);
}

TEST_F(Causes, ManyLaunchesAreNone) {
  TraceFile file = process(0);
  std::vector<Call> calls;
  for (int i = 0; i < 2000; ++i) calls.push_back({.hook = 2, .begin_us = 400.0 * i, .end_us = 400.0 * i + 5});
  file.calls(1000, 0, calls);
  keep(file);
  for (const Finding& found : findings()) EXPECT_NE(found.cause, Cause::kLaunchBound);
}

// A job of which the GPU's time is not known has findings all the same.
TEST_F(Causes, TotalsAreHeardWhereMostOfTheStepsIsUnknownAndNotElse) {
  RunAnswer run;
  ProcessAnswer process;
  process.kind = ProcessKind::kRank;
  process.wall_ms = 10'000;
  process.syncs.memory.count = 7;
  process.syncs.memory.share_pct = 20;
  process.trace_path = "a";
  run.processes.push_back(process);
  run.step_members = {"a"};
  for (const double unknown : {0.8, 0.2}) {
    StepTime time;
    time.length_ns = 1e9;
    time.steps = 1;
    for (const auto& [cause, part] : {std::pair(Cause::kUnknown, unknown), std::pair(Cause::kFileIo, 1 - unknown)}) {
      time.lost.emplace_back();
      time.lost.back().cause = cause;
      time.lost.back().ns = part * time.length_ns;
      time.lost.back().step_ns = {part * time.length_ns};
    }
    run.step_time = time;
    std::vector<Cause> causes;
    for (const Finding& found : find_causes(run)) causes.push_back(found.cause);
    EXPECT_EQ(std::set(causes.begin(), causes.end()),
              unknown > 0.5 ? (std::set{Cause::kFileIo, Cause::kAllocStall}) : std::set{Cause::kFileIo});
  }
}

TEST_F(Causes, AThreadWithoutACpuIsOne) {
  TraceFile file = process(0);
  ThreadEntry main = test::thread_entry(1000, "python3");
  main.cpu_ns = 600'000'000;
  main.run_delay_ns = 200'000'000;
  file.thread(main);
  keep(file);
  EXPECT_EQ(finding().cause, Cause::kCpuContention);
  EXPECT_NEAR(finding().share_pct, 20, 0.01);
  EXPECT_NEAR(finding().evidence.of<NoCpuEvidence>().run_delay_ms, 200, 1e-6);
}

TEST_F(Causes, AreHeaviestFirstAndDelayBehindWakesIsToldOnce) {
  for (const bool contended : {false, true}) {
    TraceFile file = process(0);
    ThreadEntry main = test::thread_entry(1000, "python3");
    main.cpu_ns = 200'000'000;
    main.run_delay_ns = contended ? 110'000'000 : 20'000'000;
    file.thread(main);
    Call late = wait(0, 400);
    late.b = pack_post(7, test::at_us(300'000));
    file.calls(1000, 0, {late, {.hook = 3, .begin_us = 500'010, .end_us = 800'000}});
    keep(file);
    std::vector<Cause> causes;
    for (const Finding& found : findings()) causes.push_back(found.cause);
    EXPECT_EQ(causes,
              (std::vector<Cause>{Cause::kUnexplained, contended ? Cause::kCpuContention : Cause::kUnexplained}));
    EXPECT_NEAR(findings().front().share_pct, 30, 0.5) << "without the 100 ms behind the wake";
  }
}

TEST_F(Causes, AThreadWithoutACpuDoesNotWaitForTheGpu) {
  TraceFile file = process(0);
  ThreadEntry main = test::thread_entry(1000, "python3");
  main.cpu_ns = 50'000'000;
  main.run_delay_ns = 840'000'000;
  file.thread(main);
  std::vector<Call> calls;
  for (int i = 0; i < 100; ++i) {
    calls.push_back({.hook = 2, .begin_us = 10'000.0 * i, .end_us = 10'000.0 * i + 5});
    calls.push_back({.hook = 3, .begin_us = 10'000.0 * i + 10, .end_us = 10'000.0 * i + 9'900});
  }
  file.calls(1000, 0, calls);
  keep(file);
  EXPECT_EQ(finding().cause, Cause::kCpuContention);
  EXPECT_NEAR(finding().share_pct, 84, 0.01);
}

TEST_F(Causes, AJobThatStandsStillHasNoOther) {
  RunAnswer run;
  run.ranks = 2;
  ProcessAnswer process;
  process.kind = ProcessKind::kRank;
  process.wall_ms = 10'000;
  process.syncs.memory.count = 7;
  process.syncs.memory.share_pct = 20;
  run.processes.push_back(process);
  ASSERT_EQ(find_causes(run).size(), 1u);
  EXPECT_EQ(find_causes(run)[0].cause, Cause::kAllocStall);
  StuckCollective stuck{.communicator = "c",
                        .ranks = 2,
                        .operation = "AllReduce",
                        .sequence = 8,
                        .arrived = 1,
                        .since_ms = 6'000,
                        .missing = {}};
  stuck.missing.push_back({.rank = 1, .job_rank = 5, .sequence = 7});
  run.stuck.push_back(stuck);
  const std::vector<Finding> all = find_causes(run);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].cause, Cause::kSlowRank);
  EXPECT_EQ(all[0].rank, 5);
  EXPECT_EQ(all[0].evidence.of<StandstillEvidence>().sequence, 8u);
  EXPECT_EQ(all[0].evidence.of<StandstillEvidence>().since_ms, 6'000);
}

TEST(Evidence, OfAnotherKindIsNothingAndOfTwoTheFirstCounts) {
  Evidence evidence, more;
  evidence.add(OwnCostEvidence{.total_ms = 7});
  more.add(OwnCostEvidence{.total_ms = 8});
  more.add(WorkersEvidence{.workers = 2});
  evidence.add(more);
  EXPECT_EQ(evidence.of<OwnCostEvidence>().total_ms, 7);
  EXPECT_EQ(evidence.of<WorkersEvidence>().workers, 2u);
  EXPECT_EQ(evidence.find<LongWaitEvidence>(), nullptr);
  EXPECT_EQ(evidence.of<LongWaitEvidence>().count, 0u);
}

}  // namespace
}  // namespace hostprobe::analysis
