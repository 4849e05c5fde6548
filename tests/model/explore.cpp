// explore.cpp: every order of all steps of the model in hand_over.h; see every_order.h.
#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>

#include "every_order.h"
#include "hand_over.h"

namespace hostprobe::model {

// For gtest.
static void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

namespace {

std::string name_of(const testing::TestParamInfo<Setup>& each) { return each.param.name; }

class HandOver : public testing::TestWithParam<Setup> {};

TEST_P(HandOver, KeepsEveryReturnedCallInEveryOrderOfSteps) {
  const Answer answer = explore<Next>(GetParam());
  EXPECT_EQ(answer.wrong, "") << answer.steps;
  EXPECT_GT(answer.states, 10000u);
  std::printf("%zu states\n", answer.states);
}
INSTANTIATE_TEST_SUITE_P(
    Model, HandOver,
    testing::Values(Setup{.name = "killed", .calls = {4, 2}},
                    Setup{.name = "killed_at_the_wrap", .calls = {4, 2}, .worn = true},
                    Setup{.name = "read_meanwhile", .calls = {2, 1}, .chunks = 1, .reader = true},
                    Setup{.name = "read_at_the_wrap", .calls = {3, 0}, .chunks = 1, .reader = true, .worn = true},
                    Setup{.name = "exits", .calls = {3, 2}, .exits = true}),
    name_of);

// A checker that finds nothing anywhere is none.
class Broken : public testing::TestWithParam<Setup> {};

TEST_P(Broken, IsFound) {
  const Answer answer = explore<Next>(GetParam());
  EXPECT_NE(answer.wrong, "") << "in " << answer.states << " states";
  std::printf("%s, found in state %zu\n", answer.wrong.c_str(), answer.states);
}
INSTANTIATE_TEST_SUITE_P(
    Model, Broken,
    testing::Values(
        Setup{.name = "last_word_first", .fault = Fault::kLastWordFirst},
        Setup{.name = "no_wipe_at_wrap", .fault = Fault::kNoWipeAtWrap, .worn = true},
        Setup{.name = "recycled_before_written", .fault = Fault::kRecycledBeforeWritten},
        Setup{.name = "drained_before_written", .fault = Fault::kDrainedBeforeWritten},
        Setup{.name = "no_second_look", .fault = Fault::kNoSecondLook, .calls = {3, 1}, .chunks = 1, .reader = true},
        Setup{.name = "file_before_segment",
              .fault = Fault::kFileBeforeSegment,
              .calls = {3, 1},
              .chunks = 1,
              .reader = true},
        Setup{.name = "all_slots_at_the_end", .fault = Fault::kAllSlotsAtTheEnd},
        Setup{.name = "released_before_written", .fault = Fault::kReleasedBeforeWritten},
        Setup{.name = "ended_before_living", .fault = Fault::kEndedBeforeLiving, .exits = true},
        Setup{.name = "last_pass_by_threads", .fault = Fault::kLastPassByThreads, .exits = true}),
    name_of);

}  // namespace
}  // namespace hostprobe::model
