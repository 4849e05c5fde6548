// What to do now, and only what was measured: analysis/report/headline.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/headline.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::TraceFile;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kLibX = 0x100000;

class Headline : public testing::Test {
 protected:
  // A process of one second.
  TraceFile process(int rank) {
    TraceFile file;
    file.header.rank = rank;
    file.header.pid = static_cast<std::uint32_t>(1000 + rank);
    file.hooks(
        {test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel"), test::sync_hook("cuStreamSynchronize")});
    file.module(kLibX, kLibX + 0x1000, "/x/libx.so");
    return file;
  }
  void keep(const TraceFile& file) { file.write(folder_.file("h-" + std::to_string(file.header.pid) + "-1.hptrace")); }
  std::vector<std::string> headline() {
    return hostprobe::analysis::headline(analyse_run(folder_.path().string(), {}));
  }
  static Call wait(double begin_ms, double end_ms, std::uint16_t stack = 0) {
    return {.hook = 1, .begin_us = 1000 * begin_ms, .end_us = 1000 * end_ms, .c = kLibX + 1, .stack = stack};
  }
  test::TestFolder folder_;
};

TEST_F(Headline, WhenNothingIsWrongItSaysSo) {
  TraceFile file = process(0);
  file.calls(1000, 0, {wait(0, 1)});
  keep(file);
  EXPECT_THAT(headline(), ElementsAre(HasSubstr("Nothing on the host side stands out")));
}

TEST_F(Headline, DataLoaderIsNamedWhenAStackShowsIt) {
  TraceFile file = process(0);
  test::StringArea strings;
  const auto get = strings.add("Queue.get (queues.py:113)"), next = strings.add("_next_data (dataloader.py:1300)");
  file.strings(strings);
  file.stack(0, {}, {get, next});
  file.calls(1000, 0, {wait(0, 360, 1)});
  keep(file);
  EXPECT_THAT(headline(), ElementsAre(testing::AllOf(
                              HasSubstr("Rank 0's main thread waits 36 % of the run in Queue.get (queues.py:113)"),
                              HasSubstr("the data loader is the limit"))));
}

TEST_F(Headline, QueueIsFollowedToTheThreadThatFillsIt) {
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
    EXPECT_THAT(headline(), ElementsAre(testing::AllOf(
                                HasSubstr("36 % of the run in Queue.get (queue.py:180): Prefetcher._fill"),
                                loader ? HasSubstr("the data loader is the limit") : HasSubstr("(thread 77)"))));
  }
}

TEST_F(Headline, WaitThatNothingExplainsIsNotGivenACause) {
  TraceFile file = process(0);
  file.calls(1000, 0, {wait(0, 500)});
  keep(file);
  const auto sentences = headline();
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_THAT(sentences[0], HasSubstr("Rank 0's main thread waits 50 % of the run"));
  EXPECT_THAT(sentences[0], testing::Not(testing::AnyOf(HasSubstr("loader"), HasSubstr("queue"),
                                                        HasSubstr("other ranks"), HasSubstr("lock"))));
}

TEST_F(Headline, WorstRankIsTheOneThatIsNamed) {
  for (const int rank : {0, 1, 2}) {
    TraceFile file = process(rank);
    file.calls(1000 + static_cast<std::uint32_t>(rank), 0, {wait(0, rank == 1 ? 700 : 200)});
    keep(file);
  }
  EXPECT_THAT(headline(), ElementsAre(HasSubstr("Rank 1's main thread waits 70 %")));
}

TEST_F(Headline, RankThatTheOthersWaitForIsNamed) {
  for (const int rank : {0, 1}) {
    TraceFile file = process(rank);
    test::StringArea strings;
    const auto frame = strings.add("barrier (distributed_c10d.py:77)");
    file.strings(strings);
    file.stack(0, {}, {frame});
    file.calls(1000 + static_cast<std::uint32_t>(rank), 0, {wait(0, rank == 0 ? 400 : 50, 1)});
    keep(file);
  }
  EXPECT_THAT(headline(),
              testing::Contains(testing::AllOf(HasSubstr("rank 1 only 5 %"), HasSubstr("the others wait for rank 1"))));
}

TEST_F(Headline, SynchronisingTooMuchIsTold) {
  TraceFile file = process(0);
  std::vector<Call> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back({.hook = 2, .begin_us = 50'000.0 * i, .end_us = 50'000.0 * i + 5});
    calls.push_back({.hook = 3, .begin_us = 50'000.0 * i + 10, .end_us = 50'000.0 * i + 40'010});
  }
  file.calls(1000, 0, calls);
  keep(file);
  EXPECT_THAT(headline(), ElementsAre(testing::AllOf(HasSubstr("waits 40 % of the run for the GPU"),
                                                     HasSubstr("10 synchronisations, 1 launches between"))));
}

TEST_F(Headline, ManyLaunchesWithoutWaitingForTheGpuMeanTheHostSetsThePace) {
  TraceFile file = process(0);
  std::vector<Call> calls;
  for (int i = 0; i < 2000; ++i) calls.push_back({.hook = 2, .begin_us = 400.0 * i, .end_us = 400.0 * i + 5});
  file.calls(1000, 0, calls);
  keep(file);
  EXPECT_THAT(headline(),
              ElementsAre(testing::AllOf(HasSubstr("launches 2 000 kernels"), HasSubstr("the host sets the pace"))));
}

TEST_F(Headline, ThreadWithoutACpuIsTold) {
  TraceFile file = process(0);
  ThreadEntry main = test::thread_entry(1000, "python3");
  main.cpu_ns = 600'000'000;
  main.run_delay_ns = 200'000'000;
  file.thread(main);
  keep(file);
  EXPECT_THAT(headline(), ElementsAre(HasSubstr("had no CPU for 20 % of the run")));
}

TEST_F(Headline, NeverMoreThanThreeSentences) {
  TraceFile file = process(0);
  ThreadEntry main = test::thread_entry(1000, "python3");
  main.cpu_ns = 600'000'000;
  main.run_delay_ns = 200'000'000;
  file.thread(main);
  file.header.record_cost_ticks = 1;
  file.header.writer_cpu_ns = 100'000'000;
  Call late = wait(0, 400);
  late.b = pack_post(7, test::at_us(300'000));
  file.calls(
      1000, 0,
      {late, {.hook = 2, .begin_us = 500'000, .end_us = 500'001}, {.hook = 3, .begin_us = 500'010, .end_us = 800'000}});
  keep(file);
  EXPECT_EQ(headline().size(), 3u);
}

}  // namespace
}  // namespace hostprobe::analysis
