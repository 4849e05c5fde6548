// What two readings of a running thread's frames agree on.
#include <gtest/gtest.h>

#include <initializer_list>

#include "probe/stacks/python_chain.h"

namespace hostprobe::probe {
namespace {

// Frames from the innermost on: address and code; each points to the next one.
PythonChain chain(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> frames) {
  PythonChain made{};
  for (const auto& [at, code] : frames) {
    if (made.count > 0) made.links[made.count - 1].back = at;
    made.links[made.count++] = {at, code, 0, 0, 0};
  }
  return made;
}

TEST(PythonChain, OfAThreadThatStandsStillIsAllAgreed) {
  const PythonChain one = chain({{30, 3}, {20, 2}, {10, 1}});
  EXPECT_EQ(agreed_link(one, one), 0u);
}

TEST(PythonChain, LosesWhatCameAndWentMeanwhile) {
  const PythonChain before = chain({{40, 4}, {30, 3}, {20, 2}, {10, 1}});
  EXPECT_EQ(agreed_link(before, chain({{30, 3}, {20, 2}, {10, 1}})), 1u) << "the innermost one returned";
  EXPECT_EQ(agreed_link(chain({{30, 3}, {20, 2}, {10, 1}}), before), 0u) << "it called another one";
  EXPECT_EQ(agreed_link(before, chain({{40, 5}, {30, 3}, {20, 2}, {10, 1}})), 1u) << "another function at its place";
  EXPECT_EQ(agreed_link(before, chain({{50, 4}, {20, 2}, {10, 1}})), 2u);
}

TEST(PythonChain, WhoseCallerHasMovedOnKeepsTheCallerOnly) {
  const PythonChain before = chain({{30, 3}, {20, 2}, {10, 1}});
  PythonChain after = before;
  after.links[0].instruction = 8;
  EXPECT_EQ(agreed_link(before, after), 0u) << "it runs";
  after.links[1].instruction = 8;
  EXPECT_EQ(agreed_link(before, after), 1u) << "the function inside was called anew, from another line";
}

TEST(PythonChain, AgreesOnNothingWhereTheOutermostFrameIsAnother) {
  EXPECT_EQ(agreed_link(chain({{20, 2}, {10, 1}}), chain({{20, 2}, {11, 1}})), 2u);
  EXPECT_EQ(agreed_link(chain({{20, 2}, {10, 1}}), chain({{10, 9}})), 2u);
  EXPECT_EQ(agreed_link(chain({}), chain({{10, 1}})), 0u) << "there was none";
}

TEST(PythonChain, WhoseEndWasReachedOnceOnlyIsTorn) {
  const PythonChain longer = chain({{30, 3}, {20, 2}, {10, 1}});
  PythonChain shorter = chain({{30, 3}, {20, 2}});
  shorter.links[1].back = 10;
  EXPECT_EQ(agreed_link(longer, shorter), 3u);
}

TEST(PythonChain, OfFunctionsThatCallThemselvesNamesTheirCodeOnce) {
  const PythonChain recursive = chain({{50, 7}, {40, 8}, {30, 7}, {20, 7}, {10, 1}});
  for (const auto& [link, earlier] : {std::pair(0u, 0u), {1u, 1u}, {2u, 0u}, {3u, 2u}, {4u, 4u}})
    EXPECT_EQ(earlier_link_of_same_code(recursive, link), earlier);
}

}  // namespace
}  // namespace hostprobe::probe
