// tracking: what hostprobe keeps true about communicators, groups and graphs while it records nothing: over a pause, over lost
// records, in a trace that begins late. Held against what the simulated node counted and what the program itself knows.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

struct Truth {
  long long pid = 0;
  std::uint64_t world = 0, split = 0, nodes = 0;
};

Truth truth_of(const OneRun& probed, const std::string& rank) {
  for (const auto& line : probed.truth())
    if (line.at(0) == "rank" && line.at(1) == rank)
      return {std::stoll(line.at(3)), std::stoull(line.at(5)), std::stoull(line.at(7)), std::stoull(line.at(9))};
  ADD_FAILURE() << "rank " << rank << " told nothing";
  return {};
}

std::vector<Call> of_process(const Dump& dump, const std::string& function, long long pid) {
  std::vector<Call> calls;
  for (const Call& call : dump.of(function))
    if (call.pid == pid) calls.push_back(call);
  return calls;
}

// First and last running number per communicator, in the order in which the communicators were first used.
struct Numbers {
  std::string communicator;
  std::uint64_t first = 0, last = 0, records = 0;
};
std::vector<Numbers> numbers_of(const std::vector<Call>& calls) {
  std::vector<Numbers> all;
  for (const Call& call : calls) {
    const std::string communicator = call.args.at("comm");
    const std::uint64_t number = call.args.at("call").at("sequence");
    auto found = std::find_if(all.begin(), all.end(), [&](const Numbers& n) { return n.communicator == communicator; });
    if (found == all.end()) found = all.insert(all.end(), {communicator, number, number, 0});
    found->first = std::min(found->first, number);
    found->last = std::max(found->last, number);
    ++found->records;
  }
  return all;
}

const Numbers& with_last(const std::vector<Numbers>& all, std::uint64_t last) {
  for (const Numbers& numbers : all)
    if (numbers.last == last) return numbers;
  static const Numbers none;
  ADD_FAILURE() << "no communicator whose last number is " << last;
  return none;
}

std::uint64_t entered(const fs::path& folder, const Truth& truth, const char* function) {
  const auto file = folder / (std::to_string(truth.pid) + ".json");
  return nlohmann::json::parse(std::ifstream(file)).value(function, std::uint64_t{0});
}

TEST(Tracking, NumbersGroupsAndGraphsAreTrueOverPausesLossesAndALateBeginning) {
  const Pair pair(
      {.program = "nccl_ranks",
       .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "3"}, {"SIMNODE_COUNTS", "counts"}},
       .probe = {{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_BUFFER_MB", "1"}}});
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  const Dump all = dump(pair.run());
  EXPECT_GT(all.lost, 0u);  // or nothing was tried
  std::set<std::string> worlds, splits;
  for (const char* rank : {"0", "1", "2"}) {
    SCOPED_TRACE(rank);
    const Truth truth = truth_of(pair.probed, rank);
    const auto calls = of_process(all, "ncclAllReduce", truth.pid);
    EXPECT_LT(calls.size(), truth.world + truth.split);
    EXPECT_EQ(entered(pair.probed.folder / "counts", truth, "ncclAllReduce"), truth.world + truth.split);
    const auto numbers = numbers_of(calls);
    const Numbers world = with_last(numbers, truth.world), split = with_last(numbers, truth.split);
    worlds.insert(world.communicator);
    splits.insert(split.communicator);
    if (*rank == '2') {
      EXPECT_EQ(world.first, truth.world - world.records + 1);
    }
    const auto ends = of_process(all, "ncclGroupEnd", truth.pid);
    ASSERT_FALSE(ends.empty());
    EXPECT_EQ(ends.back().args.at("depth"), 1);
    const auto launches = of_process(all, "cuGraphLaunch", truth.pid);
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0].args.at("nodes"), truth.nodes);
  }
  EXPECT_EQ(worlds.size(), 1u);
  EXPECT_EQ(splits.size(), 1u);
}

}  // namespace
}  // namespace hostprobe::test
