// What repeats once in a step, and what only seems to: model/step_period.cpp
#include "model/step_period.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "model/steps.h"

namespace hostprobe::analysis {
namespace {

// A program written down as calls: k, l, m … launches, G of a graph; R a large and r a small collective; h a copy, H one to the GPU;
// s a synchronise.
class Program {
 public:
  void run(const std::string& calls) {
    for (const char call : calls) add(call);
  }
  void times(int count, const std::string& calls) {
    for (int i = 0; i < count; ++i) run(calls);
  }
  void add(char call) {
    Token token;
    token.work = static_cast<std::uint64_t>(call) * 0x9e3779b97f4a7c15;
    token.shape = token.work + shape;
    token.type = call == 'R' || call == 'r' || call == 'g' ? StepToken::kCollective
                 : call == 'h'                             ? StepToken::kCopy
                 : call == 'H'                             ? StepToken::kInput
                 : call == 'G'                             ? StepToken::kGraph
                 : call == 's'                             ? StepToken::kSync
                 : call == 'e'                             ? StepToken::kEventWait
                                                           : StepToken::kLaunch;
    token.bytes = call == 'R' ? 1 << 20 : call == 'g' ? 1 << 16 : call == 'r' ? 8 : 0;
    token.begin_ns = 1000.0 * static_cast<double>(tokens.size());
    token.end_ns = token.begin_ns + 500;
    tokens.push_back(token);
  }
  // The lengths of the steps that are found, in calls.
  std::vector<int> steps() const {
    const auto cut = find_period(tokens);
    std::vector<int> lengths;
    if (!cut) return lengths;
    StepCutter cutter(*cut);
    double at_ns = 0, before_ns = -1;
    for (const Token& token : tokens) {
      if (!cutter.ends(token, at_ns)) continue;
      if (before_ns >= 0) lengths.push_back(static_cast<int>((at_ns - before_ns) / 1000 + 0.5));
      before_ns = at_ns;
    }
    return lengths;
  }
  std::vector<Token> tokens;
  std::uint64_t shape = 0;
};

std::vector<int> alike(std::size_t count, int length) { return std::vector<int>(count, length); }

TEST(StepPeriod, IsTheStepAndNotTheLayer) {
  Program program;
  program.times(10, "hklmklmklmklmRos");  // four layers
  EXPECT_EQ(program.steps(), alike(9, 16));
}

TEST(StepPeriod, IsTheStepWhereNothingWaitsForTheGpu) {
  Program program;
  program.times(10, "hgklgklgklgklRRo");  // sharded: the collectives of the layers come four times
  EXPECT_EQ(program.steps(), alike(9, 16));
}

TEST(StepPeriod, IsTheStepAndNotTheMicroBatch) {
  Program program;
  program.times(12, "hkklmhkklmhkklmhkklmRo");
  EXPECT_EQ(program.steps(), alike(11, 22));
}

TEST(StepPeriod, IsTheStepOfManyKernelsAndNoCollective) {
  Program program;
  program.times(12, "hkklmhkklmhkklmoooo");
  EXPECT_EQ(program.steps(), alike(11, 19));
}

TEST(StepPeriod, IsNotTheTimeBetweenCheckpointsOrEvaluations) {
  for (const char* extra : {"hhs", "xklkls", "r", "rhs"}) {
    Program program;
    for (int i = 0; i < 8; ++i) {
      program.times(10, "hklmklmRos");
      program.run(extra);
    }
    const std::vector<int> steps = program.steps();
    EXPECT_GE(std::count(steps.begin(), steps.end(), 10), 70) << extra;
  }
}

// Sharded, and nothing waits for the GPU but the loss that is read back now and then.
TEST(StepPeriod, IsNotTheTimeBetweenReadsOfTheLoss) {
  for (const int every : {2, 3, 5, 10, 25})
    for (const char* read : {"s", "hs", "rhs"}) {
      Program program;
      for (int step = 0; step < 150; ++step) {
        program.run("Hgklgklgklgklgklgkloo");
        if (step % every == every - 1) program.run(read);
      }
      EXPECT_EQ(program.steps().size(), 149u) << every << read;
    }
}

TEST(StepPeriod, IsNotTheMicroBatchThatReadsItsLoss) {
  Program program;
  program.times(30, "HklmhsHklmhsHklmhsHklmhsoo");
  EXPECT_EQ(program.steps(), alike(29, 26));
}

TEST(StepPeriod, IsNotTheTimeBetweenTwoSynchronisesInAStep) {
  for (const auto& [count, unit] : {std::pair{10, "kkkks"}, {64, "kls"}, {200, "ks"}}) {
    Program program;
    for (int i = 0; i < 12; ++i) {
      program.run("H");
      program.times(count, unit);
      program.run("us");
    }
    EXPECT_EQ(program.steps(), alike(11, count * static_cast<int>(std::string(unit).size()) + 3)) << unit;
  }
}

// Every so many launches, and once at the step's end.
TEST(StepPeriod, IsNotTheTimeBetweenSynchronisesHoweverFewLaunchesLieThere) {
  for (const int launches : {100, 300})
    for (const int every : {1, 2, 3, 4, 5, 10, 33, 50}) {
      std::string step = "H";
      for (int i = 1; i <= launches; ++i) step += i % every == 0 ? "ks" : "k";
      step += "uhs";
      Program program;
      program.times(20, step);
      EXPECT_EQ(program.steps(), alike(19, static_cast<int>(step.size()))) << every << " of " << launches;
    }
}

TEST(StepPeriod, OfGraphsIsOneTokenThoughAPromptComesAtEvenIntervals) {
  Program program;
  for (int i = 0; i < 12; ++i) {
    program.run("Hpp");
    program.times(30, "Gs");
  }
  const std::vector<int> steps = program.steps();
  EXPECT_GE(std::count(steps.begin(), steps.end(), 2), 12 * 28);
}

TEST(StepPeriod, OfADecodeLoopIsOneToken) {
  Program program;
  program.times(200, "gs");
  EXPECT_EQ(program.steps(), alike(199, 2));
}

TEST(StepPeriod, OfADecodeLoopOfAnyLengthIsOneToken) {
  std::mt19937 random(1);
  Program program;
  for (int request = 0; request < 30; ++request) {
    program.run("hpppppps");  // a prompt
    const int tokens = 5 + static_cast<int>(random() % 90);
    for (int i = 0; i < tokens; ++i) {
      program.run("k");
      program.times(static_cast<int>(random() % 7), "l");
      program.run("as");
    }
  }
  const std::vector<int> steps = program.steps();
  ASSERT_GT(steps.size(), 300u);
  EXPECT_EQ(static_cast<long>(steps.size()),
            std::count_if(program.tokens.begin(), program.tokens.end(), [](const Token& token) {
              return token.type == StepToken::kSync;
            }) - 1);
}

// All layers compute once to three times, as the token needs: two of three rounds hold more than the least one.
TEST(StepPeriod, IsOneTokenWhereLayersComputeAsOftenAsTheTokenNeeds) {
  Program program;
  for (std::uint32_t i = 0; i < 120; ++i) {
    const std::string layer = std::string(1 + (i * 2654435761u >> 16) % 3, 'G') + "gk";
    program.run("H" + layer + layer + layer + "oooohs");
  }
  EXPECT_NEAR(static_cast<double>(program.steps().size()), 119, 2);
}

TEST(StepPeriod, IsFoundWhereShapesDiffer) {
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.shape = static_cast<std::uint64_t>(i);
    program.run("hklmklmRos");
  }
  EXPECT_EQ(program.steps(), alike(39, 10));
}

TEST(StepPeriod, IsNoneWhereNothingRepeats) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Program program;
    const unsigned kinds = 2 + seed % 9, calls = 20 + 40 * (seed % 50);
    for (unsigned i = 0; i < calls; ++i) program.add("klmnosrRgh"[random() % kinds]);
    EXPECT_TRUE(program.steps().empty()) << seed;
  }
}

TEST(StepPeriod, IsNoneOfTooLittle) {
  for (const char* calls :
       {"", "k", "s", "kkkkkkkkkkkkkkkkkkkkkkkk", "ssssssssssssss", "hklmRoshklmRos", "hhhs", "hhhhhhhh"}) {
    Program program;
    program.run(calls);
    EXPECT_TRUE(program.steps().empty()) << calls;
  }
}

TEST(StepPeriod, IsNoneOfStartUpAlone) {
  Program program;
  program.run("hsxhsyhszabcdefhijlmnopqtuvwRxyz");
  EXPECT_TRUE(program.steps().empty());
}

TEST(StepPeriod, OfWaitsIsTheHeaviestThatComesEvenly) {
  std::mt19937 random(7);
  std::vector<Token> tokens;
  const auto add = [&tokens](std::uint64_t kind, double begin_ms, double ms) {
    Token token;
    token.work = token.shape = kind;
    token.type = StepToken::kWait;
    token.begin_ns = 1e6 * begin_ms;
    token.end_ns = 1e6 * (begin_ms + ms);
    tokens.push_back(token);
  };
  for (int step = 0; step < 50; ++step) {
    const double at = 10.0 * step + 0.1 * static_cast<double>(random() % 10);
    if (random() % 2 == 0) add(1, at, 0.1);
    add(2, at + 3, 4);
    for (unsigned i = 0; i < random() % 3; ++i) add(3, at + 8 + 0.2 * i, 0.1);
  }
  const auto cut = find_wait_period(tokens);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->cut, 2u);
}

TEST(StepPeriod, OfWaitsIsNoneWhereTheyComeByChance) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> gap(1e-6);
    std::vector<Token> tokens;
    double at_ns = 0;
    for (int i = 0; i < 200; ++i) {
      at_ns += gap(random);
      Token token;
      token.work = token.shape = 1 + random() % 3;
      token.type = StepToken::kWait;
      token.begin_ns = at_ns;
      token.end_ns = at_ns + 1000;
      tokens.push_back(token);
    }
    EXPECT_FALSE(find_wait_period(tokens)) << seed;
  }
}

}  // namespace
}  // namespace hostprobe::analysis
