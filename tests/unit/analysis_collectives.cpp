// Operations of all ranks, put together by communicator and running number: analysis/ranks/collectives.cpp
#include <gtest/gtest.h>

#include "analysis/ranks/collective_join.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kCommunicator = 0xabc;

CollectiveCall call(std::uint32_t sequence, std::int32_t rank, std::uint64_t begin_ns,
                    const char* function = "ncclAllReduce") {
  return {kCommunicator, sequence, rank, 2, -1, 1024, begin_ns, 5000, operation_name(function), false};
}

struct Rank {
  std::vector<CollectiveCall> calls;
  std::string host = "one";
  std::optional<int> rank = std::nullopt;
  std::vector<CollectiveCounter> counters = {};
};

CollectiveSource source_of(const std::vector<CollectiveCall>& calls) {
  return [&calls, at = std::size_t{0}](CollectiveCall& call) mutable {
    while (at < calls.size() && !calls[at].meets()) ++at;
    if (at == calls.size()) return false;
    call = calls[at++];
    return true;
  };
}

std::vector<CollectiveAnswer> answer(const std::vector<Rank>& ranks) {
  std::vector<ProcessCollectives> own(ranks.size());
  std::vector<CollectiveMember> members;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const CollectiveCall& call : ranks[i].calls) own[i].add(call);
    for (const CollectiveCounter& counter : ranks[i].counters) own[i].add(counter);
    members.push_back({&own[i], ranks[i].host, ranks[i].rank, {source_of(ranks[i].calls)}});
  }
  return answer_collectives(members);
}

TEST(Collectives, SkewIsFromTheFirstArrivalToTheLastAndTheLastRankIsNamed) {
  const auto answers = answer({{{call(1, 0, 1000), call(2, 0, 20000), call(3, 0, 30000)}, "one", 6},
                               {{call(1, 1, 5000), call(2, 1, 26000), call(3, 1, 29000)}, "one", 7}});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].operation, "AllReduce");
  EXPECT_EQ(answers[0].communicator, "0000000000000abc");
  EXPECT_EQ(answers[0].ranks, 2u);
  EXPECT_EQ(answers[0].count, 3u);
  EXPECT_EQ(answers[0].bytes, 3u * 1024);
  EXPECT_EQ(answers[0].host.count(), 6u);
  EXPECT_EQ(answers[0].skew.max_ns(), 6000);
  EXPECT_NEAR(answers[0].skew.percentile_ns(50), 4000, 200);
  EXPECT_EQ(answers[0].last_rank, 7) << "the job's rank, not the communicator's";
  EXPECT_NEAR(answers[0].last_share_pct, 66.7, 0.1);
}

TEST(Collectives, OfWhichARankIsMissingHaveNoSkew) {
  const auto answers = answer({{{call(1, 0, 1000), call(2, 0, 2000)}}, {{call(1, 1, 1500)}}});
  EXPECT_EQ(answers[0].count, 2u);
  EXPECT_EQ(answers[0].partly_seen, 1u);
  EXPECT_EQ(answers[0].skew.count(), 1u);
}

TEST(Collectives, ClocksOfDifferentHostsAreNotCompared) {
  const auto answers = answer({{{call(1, 0, 1000)}, "one"}, {{call(1, 1, 900000)}, "two"}});
  EXPECT_EQ(answers[0].count, 1u);
  EXPECT_EQ(answers[0].skew.count(), 0u);
  EXPECT_FALSE(answers[0].last_rank);
}

TEST(Collectives, FailedCallsAreCountedApart) {
  const auto answers = answer({{{call(0, 0, 1000), call(1, 0, 2000)}}, {{call(1, 1, 2000)}}});
  EXPECT_EQ(answers[0].count, 1u);
  EXPECT_EQ(answers[0].failed, 1u);
}

TEST(Collectives, MessagesHaveNoMeeting) {
  const auto answers = answer({{{call(1, 0, 1000, "ncclSend")}}, {{call(1, 1, 1000, "ncclRecv")}}});
  ASSERT_EQ(answers.size(), 2u);
  for (const CollectiveAnswer& one : answers) {
    EXPECT_EQ(one.count, 1u);
    EXPECT_EQ(one.skew.count(), 0u);
    EXPECT_EQ(one.partly_seen, 0u);
  }
}

TEST(Collectives, TheFormsWithAConfigurationAreTheSameOperations) {
  EXPECT_EQ(*operation_name("ncclAllGatherConfig"), "AllGather");
  EXPECT_EQ(*operation_name("ncclBcast"), "Broadcast");
  EXPECT_EQ(operation_name("ncclReduce"), operation_name("ncclReduceConfig"));
}

CollectiveCounter sum_of(std::uint64_t count, std::uint64_t bytes, const char* function = "ncclAllReduce") {
  CollectiveCounter sum{kCommunicator, operation_name(function), count, bytes};
  sum.host.add(5000, count);
  return sum;
}

TEST(Collectives, InCountersAreCountedByTheRankThatCountedMost) {
  const auto answers = answer(
      {{{call(6, 0, 1000)}, "one", 0, {sum_of(5, 5 * 1024)}}, {{call(6, 1, 1400)}, "one", 1, {sum_of(4, 4 * 1024)}}});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].count, 6u);
  EXPECT_EQ(answers[0].bytes, 6u * 1024);
  EXPECT_EQ(answers[0].host.count(), 11u);
  EXPECT_EQ(answers[0].skew.count(), 1u);
  EXPECT_EQ(answers[0].ranks, 2u);
}

TEST(Collectives, OfAProcessThatDrivesTwoRanksAreCountedOnce) {
  const auto answers = answer({{{call(3, 0, 1000), call(3, 1, 1400)}, "one", 0, {sum_of(4, 4 * 1024)}}});
  EXPECT_EQ(answers[0].count, 3u);
  EXPECT_EQ(answers[0].bytes, 3u * 1024);
}

TEST(Collectives, MessagesInCountersAreCountedOnEachSide) {
  const auto answers =
      answer({{{}, "one", 0, {sum_of(3, 30, "ncclSend")}}, {{}, "one", 1, {sum_of(2, 20, "ncclSend")}}});
  EXPECT_EQ(answers.at(0).count, 5u);
  EXPECT_EQ(answers.at(0).bytes, 50u);
}

TEST(Collectives, NothingIsNoAnswer) { EXPECT_TRUE(answer({}).empty()); }

}  // namespace
}  // namespace hostprobe::analysis
