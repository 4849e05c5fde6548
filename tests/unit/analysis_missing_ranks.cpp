// Which ranks a hanging job waits for: analysis/ranks/missing_ranks.cpp
#include "analysis/ranks/missing_ranks.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

class MissingRanks : public testing::Test {
 protected:
  // A rank of communicator 0xc of `size`, whose process has lived for `wall_ms` and entered `entered` AllReduces, one
  // each 100 ms.
  ProcessAnswer& rank(int rank, std::uint32_t entered, double wall_ms = 5000, int size = 3) {
    ProcessAnswer process;
    process.trace_path = std::to_string(rank);
    process.rank = 10 + rank;
    process.pid = static_cast<std::uint32_t>(100 + rank);
    process.end = EndState::kRunning;
    process.wall_ms = wall_ms;
    for (std::uint32_t sequence = 1; sequence <= entered; ++sequence) {
      CollectiveCall call;
      call.communicator = 0xc;
      call.sequence = sequence;
      call.rank = rank;
      call.size = size;
      call.begin_ns = sequence * 100'000'000ull;
      call.operation = operation_name("ncclAllReduce");
      works_[process.trace_path].collectives.add(call);
    }
    processes_.push_back(process);
    return processes_.back();
  }
  std::vector<ProcessAnswer> processes_;
  ProcessWorks works_;
};

TEST_F(MissingRanks, AreNotThoseOfWhomCountersMayKnow) {
  rank(0, 9);
  rank(1, 9);
  EXPECT_EQ(find_missing_ranks(processes_, works_).size(), 1u);
  works_["0"].collectives.add(CollectiveCounter{0xc, operation_name("ncclAllReduce"), 5});
  EXPECT_TRUE(find_missing_ranks(processes_, works_).empty());
  rank(2, 8);
  EXPECT_EQ(find_missing_ranks(processes_, works_).at(0).missing.at(0).sequence, 8u);
}

TEST_F(MissingRanks, AreThoseBehindTheFurthest) {
  rank(0, 9);
  rank(1, 8);
  rank(2, 9);
  const auto stuck = find_missing_ranks(processes_, works_);
  ASSERT_EQ(stuck.size(), 1u);
  EXPECT_EQ(stuck[0].communicator, "000000000000000c");
  EXPECT_EQ(stuck[0].operation, "AllReduce");
  EXPECT_EQ(stuck[0].sequence, 9u);
  EXPECT_EQ(stuck[0].arrived, 2u);
  EXPECT_DOUBLE_EQ(stuck[0].since_ms, 4100);
  ASSERT_EQ(stuck[0].missing.size(), 1u);
  EXPECT_EQ(stuck[0].missing[0].job_rank, 11);
  EXPECT_EQ(stuck[0].missing[0].sequence, 8u);
}

TEST_F(MissingRanks, AreAlsoThoseThatNeverCame) {
  rank(0, 1);
  const auto stuck = find_missing_ranks(processes_, works_);
  ASSERT_EQ(stuck.size(), 1u);
  ASSERT_EQ(stuck[0].missing.size(), 2u);
  EXPECT_EQ(stuck[0].missing[0].rank, 1);
  EXPECT_EQ(stuck[0].missing[1].rank, 2);
  EXPECT_EQ(stuck[0].missing[0].sequence, 0u) << "never seen there";
  EXPECT_FALSE(stuck[0].missing[0].has_main);
}

TEST_F(MissingRanks, AreToldWithWhatTheirMainThreadDoes) {
  rank(0, 9);
  rank(1, 9);
  ThreadAnswer main;
  main.tid = 102;
  main.open_wait = OpenWaitAnswer{"sem_clockwait", "python3.11", 0, 3000};
  rank(2, 8).threads.push_back(main);
  const auto stuck = find_missing_ranks(processes_, works_);
  ASSERT_EQ(stuck.size(), 1u);
  const MissingRank& missing = stuck[0].missing.at(0);
  EXPECT_EQ(missing.job_rank, 12);
  EXPECT_EQ(missing.sequence, 8u);
  EXPECT_TRUE(missing.has_main);
  ASSERT_TRUE(missing.open_wait);
  EXPECT_EQ(missing.open_wait->function, "sem_clockwait");
  EXPECT_EQ(missing.open_wait->ms, 3000);
}

TEST_F(MissingRanks, AreNoneWhereAllHaveArrived) {
  for (int i = 0; i < 3; ++i) rank(i, 9);
  EXPECT_TRUE(find_missing_ranks(processes_, works_).empty());
}

TEST_F(MissingRanks, AreNoneInAMomentsDelay) {
  rank(0, 9, 1000);
  rank(1, 8, 1000);
  rank(2, 9, 1000);
  EXPECT_TRUE(find_missing_ranks(processes_, works_).empty());
}

TEST_F(MissingRanks, AreNoneOnceTheJobHasEnded) {
  rank(0, 9).end = EndState::kEnded;
  rank(1, 8).end = EndState::kEnded;
  rank(2, 9).end = EndState::kEnded;
  EXPECT_TRUE(find_missing_ranks(processes_, works_).empty());
}

}  // namespace
}  // namespace hostprobe::analysis
