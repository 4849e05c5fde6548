// explore.cpp: every order of all steps of the model in hand_over.h. Each state is one in which a SIGKILL may come, so each is
// looked at as `hostprobe dump` would. What is wrong is told with the steps that led there.
//
// States that were met before are known by 64 bits of hash: the chance that two of ten million share one is 3 in a million.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <ostream>
#include <unordered_set>

#include "hand_over.h"

namespace hostprobe::model {

// For gtest.
static void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

namespace {

std::uint64_t hash_of(const State& state) {
  unsigned char bytes[sizeof(State) + 8] = {};
  std::memcpy(bytes, &state, sizeof state);
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at < sizeof(State); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

struct Answer {
  std::size_t states = 0;
  std::string wrong;  // "" = nothing
  std::string steps;  // that led there
};

struct Frame {
  std::vector<Next> next;
  std::size_t taken = 0;
};

std::string steps_to(const std::vector<Frame>& path) {
  std::string text;
  for (const Frame& frame : path) {
    const Next& next = frame.next[frame.taken - 1];
    text += std::string("  ") + next.who + " " + next.what + "\n";
  }
  return text;
}

Answer explore(const Setup& setup) {
  Answer answer;
  std::unordered_set<std::uint64_t> met;
  std::vector<Frame> path;
  const auto visit = [&](const State& state) {
    if (!met.insert(hash_of(state)).second) return true;
    ++answer.states;
    answer.wrong = wrong_with(state, setup);
    if (!answer.wrong.empty()) {
      answer.steps = steps_to(path);
      return false;
    }
    path.emplace_back();
    add_next(state, setup, path.back().next);
    return true;
  };
  visit(first_state(setup));
  while (!path.empty()) {
    Frame& frame = path.back();
    if (frame.taken == frame.next.size()) {
      path.pop_back();
      continue;
    }
    const State state = frame.next[frame.taken++].state;
    if (!visit(state)) break;
  }
  return answer;
}

std::string name_of(const testing::TestParamInfo<Setup>& each) { return each.param.name; }

class HandOver : public testing::TestWithParam<Setup> {};

TEST_P(HandOver, KeepsEveryReturnedCallInEveryOrderOfSteps) {
  const Answer answer = explore(GetParam());
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
  const Answer answer = explore(GetParam());
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
