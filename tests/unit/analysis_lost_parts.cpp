// One step as it is explained, part by part: analysis/step_time/lost_parts.cpp
#include "analysis/step_time/longest_pieces.h"
#include "analysis/step_time/lost_parts.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

class LostPartsOfAStep : public testing::Test {
 protected:
  LostPartsOfAStep() { parts_.enter({0, 1000}); }
  void add(double begin_ns, double end_ns, Cause cause, std::uint32_t member = 0) {
    parts_.add(member, {{begin_ns, end_ns}, end_ns - begin_ns, cause, member, {}});
  }
  double lost_ns(std::uint32_t member, Cause cause) const {
    double ns = 0;
    for (const LostPart& part : parts_.parts()[member])
      if (part.cause == cause) ns += part.ns;
    return ns;
  }
  const std::vector<double> slow_ = {1, 1};
  LostParts parts_{slow_, {0, 0}};
};

// A wait of 340 for what took 400 to make, 300 of them in files: without those 40 were left.
TEST_F(LostPartsOfAStep, LaidOverAShorterTimeTheHeaviestCauseHasWhatWouldBeGoneWithoutIt) {
  parts_.lay_over({100, 500}, {160, 500});
  add(100, 200, Cause::kDataloaderWait);
  add(200, 500, Cause::kFileIo);
  parts_.lay_no_more();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kFileIo), 300);
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kDataloaderWait), 40);
  const LostPart& first = parts_.parts()[0].front();
  EXPECT_DOUBLE_EQ(first.window.begin_ns, 160);
  EXPECT_DOUBLE_EQ(first.window.end_ns, 200);
  EXPECT_DOUBLE_EQ(first.own_window().begin_ns, 100);
  EXPECT_DOUBLE_EQ(first.own_window().end_ns, 200);
}

TEST_F(LostPartsOfAStep, LaidOverATimeShorterThanTheHeaviestCauseHasAllOfIt) {
  parts_.lay_over({100, 500}, {400, 500});
  add(100, 400, Cause::kFileIo);
  add(400, 500, Cause::kDataloaderWait);
  parts_.lay_no_more();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kFileIo), 100);
  EXPECT_EQ(parts_.parts()[0].size(), 1u);
}

TEST_F(LostPartsOfAStep, AreAsTheyAreWhenNothingIsLaidOver) {
  parts_.lay_over({100, 500}, {400, 500});
  parts_.lay_no_more();
  add(100, 400, Cause::kFileIo);
  const LostPart& part = parts_.parts()[0].front();
  EXPECT_DOUBLE_EQ(part.ns, 300);
  EXPECT_DOUBLE_EQ(part.window.begin_ns, 100);
  EXPECT_DOUBLE_EQ(part.own_window().begin_ns, 100);
}

TEST_F(LostPartsOfAStep, WaitsForOthersAreLaidOverToo) {
  parts_.lay_over({0, 400}, {300, 400});
  parts_.add_wait(0, {{0, 400}, 400, {}, 1});
  parts_.lay_no_more();
  add(300, 400, Cause::kGcPause, 1);
  parts_.resolve();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kGcPause), 100) << "what the one that is waited for lost";
}

TEST_F(LostPartsOfAStep, WhatTheOtherLostIsWhyOneWaitsAndTheRestIsLongerWork) {
  add(0, 60, Cause::kFileIo, 1);
  parts_.add_wait(0, {{0, 100}, 100, {}, 1});
  parts_.resolve();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kFileIo), 60);
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kUnevenWork), 40);
}

// Ranks that run ahead meet behind the end of the step in which one of them was held up.
TEST_F(LostPartsOfAStep, WhatTheOtherLostInTheStepBeforeIsWhyOneWaits) {
  add(900, 1000, Cause::kFileIo, 1);
  parts_.resolve();
  parts_.enter({1000, 2000});
  parts_.add_wait(0, {{1100, 1200}, 100, {}, 1, 850});
  parts_.resolve();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kFileIo), 100);
}

TEST_F(LostPartsOfAStep, WhatTheOtherLostBeforeAGapIsOfNoAccount) {
  add(900, 1000, Cause::kFileIo, 1);
  parts_.resolve();
  parts_.enter({5000, 6000});
  parts_.add_wait(0, {{5100, 5200}, 100, {}, 1, 850});
  parts_.resolve();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kUnevenWork), 100);
}

TEST_F(LostPartsOfAStep, WhoWasAheadWhenBothMetWaitsLaterForWhatTheOtherLost) {
  add(100, 300, Cause::kFileIo, 1);
  parts_.add_wait(0, {{350, 450}, 100, {}, 1, 50});
  parts_.add_wait(0, {{500, 600}, 100, {}, 1, 450});
  parts_.resolve();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kFileIo), 200);
}

TEST_F(LostPartsOfAStep, ForOneLossNoRankWaitsTwice) {
  add(100, 200, Cause::kFileIo, 1);
  parts_.add_wait(0, {{250, 350}, 100, {}, 1, 50});
  parts_.add_wait(0, {{400, 500}, 100, {}, 1, 350});
  parts_.resolve();
  parts_.enter({1000, 2000});
  parts_.add_wait(0, {{1100, 1200}, 100, {}, 1, 500});
  parts_.resolve();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kUnevenWork), 100);
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kFileIo), 0);
}

TEST_F(LostPartsOfAStep, WhatBothWaitIsATransferWhereAllRanksAreHere) {
  parts_.add_wait(0, {{0, 100}, 100, {}});
  parts_.add_wait(1, {{0, 80}, 80, {}});
  parts_.resolve();
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kTransfer), 80);
  EXPECT_DOUBLE_EQ(lost_ns(0, Cause::kWaitsForRank), 0);
}

TEST(LostPartsOfSomeRanks, WhatAllOfThemWaitIsForARankThatIsNotHere) {
  const std::vector<double> slow = {1, 1};
  LostParts parts(slow, {0, 0}, false);
  parts.enter({0, 1000});
  parts.add_wait(0, {{0, 100}, 100, {}});
  parts.add_wait(1, {{0, 80}, 80, {}});
  parts.resolve();
  double waited_ns = 0, moved_ns = 0;
  for (const LostPart& part : parts.parts()[0]) {
    if (part.cause == Cause::kWaitsForRank) waited_ns += part.ns;
    if (part.cause == Cause::kTransfer) moved_ns += part.ns;
  }
  EXPECT_DOUBLE_EQ(waited_ns, 80);
  EXPECT_DOUBLE_EQ(moved_ns, 0);
}

// A stage of a pipeline waits for a slow one also while that one works as long as any other would.
TEST(LostPartsOfASlowGpu, AreWhatItsWorkTookLonger) {
  const std::vector<double> slow = {1, 1.25};
  LostParts parts(slow, {1, 1});
  parts.enter({0, 1000});
  parts.add(1, {{0, 500}, 500, Cause::kGpuBound, 1, {}});
  parts.add_wait(0, {{100, 500}, 400, {}, 1, 0});
  parts.resolve();
  double slow_ns = 0, work_ns = 0;
  for (const LostPart& part : parts.parts()[0]) (part.cause == Cause::kSlowGpu ? slow_ns : work_ns) += part.ns;
  EXPECT_DOUBLE_EQ(slow_ns, 100);
  EXPECT_DOUBLE_EQ(work_ns, 300);
}

TEST_F(LostPartsOfAStep, OfNoLengthAreNone) {
  add(100, 100, Cause::kFileIo);
  EXPECT_TRUE(parts_.parts()[0].empty());
}

class Longest : public testing::Test {
 protected:
  static LostPart part(double begin_ns, double end_ns, Cause cause, double share = 1) {
    return {{begin_ns, end_ns}, share * (end_ns - begin_ns), cause, 0, {}};
  }
  std::vector<double> begins(Cause cause) const {
    const auto all = pieces_.finish();
    std::vector<double> begins;
    if (const auto own = all.find({cause, 0}); own != all.end())
      for (const LongestPiece& piece : own->second) begins.push_back(piece.window.begin_ns);
    return begins;
  }
  LongestPieces pieces_;
};

TEST_F(Longest, PieceOfTwoCausesIsOfTheOneWithMoreOfIt) {
  pieces_.add(std::vector{part(0, 100, Cause::kCpuContention, 0.4), part(0, 100, Cause::kDataloaderWait, 0.6),
                          part(100, 150, Cause::kCpuContention)});
  EXPECT_EQ(begins(Cause::kDataloaderWait), std::vector<double>({0}));
  EXPECT_EQ(begins(Cause::kCpuContention), std::vector<double>({100}));
}

TEST_F(Longest, PieceThatOtherRanksWaitForIsNamedWhereItWasLost) {
  LostPart own = part(0, 100, Cause::kFileIo), repeated = part(60, 110, Cause::kFileIo);
  repeated.at = {0, 100};
  repeated.is_repeated = true;
  pieces_.add(std::vector{own});
  pieces_.add(std::vector{repeated, repeated, repeated});
  EXPECT_EQ(begins(Cause::kFileIo), std::vector<double>({0}));
}

// A batch that two steps waited for was made in one stretch.
TEST_F(Longest, PiecesThatOverlapAreOne) {
  for (const double end_ns : {80.0, 100.0}) pieces_.add(std::vector{part(0, end_ns, Cause::kFileIo)});
  pieces_.add(std::vector{part(200, 210, Cause::kFileIo)});
  EXPECT_EQ(begins(Cause::kFileIo), std::vector<double>({0, 200}));
}

}  // namespace
}  // namespace hostprobe::analysis
