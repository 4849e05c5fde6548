// Streams of calls of all ranks, merged by running number: analysis/ranks/collective_join.cpp
#include "analysis/ranks/collective_join.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kCommunicator = 0xabc;

CollectiveCall call(std::uint32_t sequence, std::int32_t rank, std::uint64_t begin_ns,
                    const char* function = "ncclAllReduce") {
  return {kCommunicator, sequence, rank, 2, -1, 1024, begin_ns, 5000, operation_name(function), false};
}

CollectiveSource source_of(const std::vector<CollectiveCall>& calls) {
  return [&calls, at = std::size_t{0}](CollectiveCall& call) mutable {
    while (at < calls.size() && !calls[at].meets()) ++at;
    if (at == calls.size()) return false;
    call = calls[at++];
    return true;
  };
}

// A rank's calls, made up as they are asked for.
struct Endless {
  std::uint32_t calls;
  std::int32_t rank;
  std::uint32_t missing_from = 0, missing_to = 0;  // lost
  std::uint32_t next = 1;

  CollectiveCall make(std::uint32_t sequence) const {
    return call(sequence, rank, sequence * 10'000ull + 10u * static_cast<unsigned>(rank));
  }
  bool operator()(CollectiveCall& one) {
    if (next == missing_from) next = missing_to;
    if (next > calls) return false;
    one = make(next++);
    return true;
  }
};

CollectiveJoin join_of(const std::vector<Endless>& ranks) {
  std::vector<ProcessCollectives> own(ranks.size());
  std::vector<CollectiveMember> members;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    own[i].add(ranks[i].make(1));
    own[i].add(ranks[i].make(ranks[i].calls));
    members.push_back({&own[i], "one", static_cast<int>(i), {ranks[i]}});
  }
  return join_collectives(members);
}

TEST(CollectiveJoin, HoldsNoMoreOfManyCallsThanOfFew) {
  const CollectiveJoin few = join_of({{2'000, 0}, {2'000, 1}}), many = join_of({{500'000, 0}, {500'000, 1}});
  const JoinedOperation& joined = many.operations.at({kCommunicator, "AllReduce"});
  EXPECT_EQ(joined.count, 500'000u);
  EXPECT_EQ(joined.partly_seen, 0u);
  EXPECT_EQ(joined.skew.max_ns(), 10);
  EXPECT_EQ(joined.last.at(1).count, 500'000u);
  EXPECT_LE(many.most_held, few.most_held);
  EXPECT_LE(many.most_held, 4u * kJoinAhead);
}

TEST(CollectiveJoin, HoldsNoMoreWhereARankEndsEarlyOrLosesCalls) {
  const CollectiveJoin early = join_of({{100'000, 0}, {10, 1}});
  EXPECT_EQ(early.operations.at({kCommunicator, "AllReduce"}).partly_seen, 99'990u);
  EXPECT_LE(early.most_held, 4u * kJoinAhead);
  const CollectiveJoin gap = join_of({{100'000, 0}, {100'000, 1, 5'000, 80'000}});
  const JoinedOperation& joined = gap.operations.at({kCommunicator, "AllReduce"});
  EXPECT_EQ(joined.count, 100'000u);
  EXPECT_EQ(joined.partly_seen, 75'000u);
  EXPECT_LE(gap.most_held, 4u * kJoinAhead);
}

// Each waits for the other one's next call, each on another communicator; all come together all the same.
TEST(CollectiveJoin, EndsWhereRanksAreAheadOfEachOtherCrosswise) {
  std::vector<ProcessCollectives> own(2);
  std::vector<std::vector<CollectiveCall>> calls(2);
  constexpr std::uint32_t kMany = 3 * kJoinAhead;
  for (std::uint64_t half = 0; half < 2; ++half) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      for (std::uint32_t sequence = 1; sequence <= kMany; ++sequence) {
        CollectiveCall one = call(sequence, static_cast<std::int32_t>(rank), sequence);
        one.communicator = kCommunicator + (half + rank) % 2;
        calls[rank].push_back(one);
        own[rank].add(one);
      }
    }
  }
  std::vector<CollectiveMember> members = {{&own[0], "one", 0, {source_of(calls[0])}},
                                           {&own[1], "one", 1, {source_of(calls[1])}}};
  const CollectiveJoin joined = join_collectives(members);
  for (std::uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(joined.operations.at({kCommunicator + i, "AllReduce"}).count, kMany);
    EXPECT_EQ(joined.operations.at({kCommunicator + i, "AllReduce"}).partly_seen, 0u);
  }
}

// Autograd's thread and the main thread of one rank use the same communicator.
TEST(CollectiveJoin, PutsTheThreadsOfARankTogether) {
  std::vector<CollectiveCall> main, autograd, other;
  for (std::uint32_t sequence = 1; sequence <= 2000; ++sequence) {
    (sequence % 10 == 0 ? main : autograd).push_back(call(sequence, 0, sequence));
    other.push_back(call(sequence, 1, sequence));
  }
  ProcessCollectives first, second;
  for (const auto* calls : {&main, &autograd})
    for (const CollectiveCall& one : *calls) first.add(one);
  for (const CollectiveCall& one : other) second.add(one);
  std::vector<CollectiveMember> members = {{&first, "one", 0, {source_of(main), source_of(autograd)}},
                                           {&second, "one", 1, {source_of(other)}}};
  const CollectiveJoin joined = join_collectives(members);
  EXPECT_EQ(joined.operations.at({kCommunicator, "AllReduce"}).count, 2000u);
  EXPECT_EQ(joined.operations.at({kCommunicator, "AllReduce"}).partly_seen, 0u);
}

}  // namespace
}  // namespace hostprobe::analysis
