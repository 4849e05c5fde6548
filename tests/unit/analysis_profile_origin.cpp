// Whose a process of a profile is: import/kineto/profile_origin.cpp
#include "import/kineto/profile_origin.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

TEST(RanksInNames, AreNumbersBehindTheWord) {
  EXPECT_EQ(rank_in("sampled_rank-0.json.gz"), 0);
  EXPECT_EQ(rank_in("trace_rank12_step_400.json"), 12);
  EXPECT_EQ(rank_in("Rank_3"), 3);
  EXPECT_EQ(rank_in("[rank7] python"), 7);
  EXPECT_EQ(rank_in("rank 1 of rank 5"), 5);
  EXPECT_EQ(rank_in("rank5_ranks.json"), 5);
  for (const char* text : {"", "frank3.json", "rank.json", "ranking_7", "3", "rank-", "rank99999999999"})
    EXPECT_FALSE(rank_in(text)) << text;
}

TEST(HostsInNames, AreInFrontOfTheProcess) {
  EXPECT_EQ(host_in("node-1_4242.1700000000000000000.pt.trace.json.gz", 4242), "node-1");
  EXPECT_EQ(host_in("a_b_4242.17.pt.trace.json", 4242), "a_b");
  EXPECT_EQ(host_in("node-1_4242.17.pt.trace.json", 7), "") << "of another process";
  EXPECT_EQ(host_in("node-1_4242.17.json", 4242), "") << "another form of name";
}

class Origins : public testing::Test {
 protected:
  void add_collective(const std::string& pid, const std::string& rank, const std::string& ranks) {
    ProfileEvent event;
    const std::pair<ProfileField, std::string> fields[] = {{ProfileField::kPhase, "X"},
                                                           {ProfileField::kCategory, "cpu_op"},
                                                           {ProfileField::kName, "record_param_comms"},
                                                           {ProfileField::kPid, pid},
                                                           {ProfileField::kTid, "1"},
                                                           {ProfileField::kTime, "5"},
                                                           {ProfileField::kDuration, "1"},
                                                           {ProfileField::kRank, rank},
                                                           {ProfileField::kCollective, "allreduce"},
                                                           {ProfileField::kGroupSize, "2"},
                                                           {ProfileField::kGroupRanks, ranks},
                                                           {ProfileField::kGroupName, "0"}};
    for (const auto& [field, text] : fields) event[field] = text;
    profile_.add(event);
  }
  ProcessOrigin of(const std::string& pid, const ProfileHead& head, const std::string& path, bool is_alone) {
    return origin_of(profile_, pid, profile_.processes()[pid], head, path, is_alone);
  }
  LeftOut left_out_;
  Profile profile_{left_out_};
};

TEST_F(Origins, TheHeadCountsForOneProcessOnly) {
  add_collective("10", "1", "[4, 6]");
  add_collective("11", "0", "[4, 6]");
  ProfileHead head;
  head.rank = "2";
  head.host = "node";
  EXPECT_EQ(of("10", head, "x.json", true).rank, 2);
  EXPECT_EQ(of("10", head, "x.json", false).rank, 6);
  EXPECT_EQ(of("11", head, "x.json", false).rank, 4);
  EXPECT_EQ(of("12", head, "rank9.json", false).rank, -1) << "nothing says whose it is";
  EXPECT_FALSE(of("10", head, "x.json", false).is_rank_guessed);
}

TEST_F(Origins, CollectivesThatDisagreeSayNothing) {
  add_collective("10", "1", "[4, 6]");
  add_collective("10", "1", "[4, 5]");
  EXPECT_EQ(of("10", {}, "x.json", true).rank, -1);
}

TEST_F(Origins, TheNameOfTheFileIsAGuess) {
  const ProcessOrigin origin = of("77", {}, "profiles/rank_3/node-1_77.17.pt.trace.json", true);
  EXPECT_EQ(origin.rank, 3);
  EXPECT_TRUE(origin.is_rank_guessed);
  ProfileHead head;
  head.rank = "5";
  EXPECT_FALSE(of("77", head, "rank_3.json", true).is_rank_guessed);
  EXPECT_EQ(of("77", head, "rank_3.json", true).rank, 5);
  EXPECT_NE(guesses_of(origin), "");
  EXPECT_EQ(guesses_of({}), "");
}

}  // namespace
}  // namespace hostprobe::analysis
