// What windows of made step times show of a fix. Each promise is kept over many series, so that no lucky one stands for it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "probe/fixes/trial/trial.h"

namespace hostprobe::probe {
namespace {

// One trial on steps of a made program: `step` gives the time of a step by its number and whether the fix is on.
using MadeStep = std::function<double(unsigned number, bool on)>;

struct Outcome {
  Verdict verdict;
  Gain gain;
  unsigned pairs;
};

Outcome tried(std::uint64_t seed, const MadeStep& step, unsigned most_steps = 1u << 20) {
  Trial trial;
  trial.begin(seed);
  StepWindow window;
  double at = 0;
  window.begin(at);
  Gain gain{};
  for (unsigned number = 0; number < most_steps; ++number) {
    const double ns = step(number, trial.next_is_on());
    window.add(at, at + ns);
    at += ns;
    if (!window.is_full()) continue;
    trial.add(window.mean_ns());
    window.begin(at);
    if (const Verdict verdict = trial.verdict(); verdict != Verdict::kOpen) {
      trial.gain(gain);
      return {verdict, gain, trial.pairs()};
    }
  }
  return {Verdict::kTooFew, gain, trial.pairs()};
}

// Of 200 trials, how many end so.
unsigned count_of(Verdict verdict, const std::function<MadeStep(std::mt19937&)>& program) {
  unsigned count = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    count += tried(seed, program(random)).verdict == verdict;
  }
  return count;
}

constexpr double kStep = 50e6;

// The noise of a step, for a fix that changes nothing and for one that saves 3 %, or costs them.
struct Noise {
  const char* name;
  std::function<std::function<double(unsigned)>(std::mt19937&)> make;
};
const Noise kNoises[] = {
    {"independent",
     [](std::mt19937& random) {
       return [&random, normal = std::normal_distribution<>(1, 0.03)](unsigned) mutable { return normal(random); };
     }},
    {"drift",
     [](std::mt19937& random) {
       return [&random, normal = std::normal_distribution<>(0, 0.02)](unsigned number) mutable {
         return 1 + 2e-4 * number + normal(random);
       };
     }},
    {"heavy tails",
     [](std::mt19937& random) {
       return [&random, flat = std::uniform_real_distribution<>(0.001, 1)](unsigned) mutable {
         return 1 + 0.01 * std::pow(flat(random), -0.7);
       };
     }},
    {"autocorrelation",
     [](std::mt19937& random) {
       return [&random, last = 0.0, normal = std::normal_distribution<>(0, 0.005)](unsigned) mutable {
         last = 0.98 * last + normal(random);
         return 1 + last;
       };
     }},
    {"a change in the middle",
     [](std::mt19937& random) {
       return [&random, normal = std::normal_distribution<>(0, 0.02)](unsigned number) mutable {
         return (number < 130 ? 1 : 1.7) + normal(random);
       };
     }},
};

std::function<MadeStep(std::mt19937&)> program(const Noise& noise, double with) {
  return [&noise, with](std::mt19937& random) -> MadeStep {
    return
        [made = noise.make(random), with](unsigned number, bool on) { return kStep * made(number) * (on ? with : 1); };
  };
}

TEST(Trial, DoesNotKeepWhatChangesNothing) {
  for (const Noise& noise : kNoises)
    EXPECT_LE(count_of(Verdict::kKeep, program(noise, 1)), 10u) << noise.name;  // 5 % of 200
}

TEST(Trial, KeepsWhatHelps) {
  for (const Noise& noise : kNoises) EXPECT_GE(count_of(Verdict::kKeep, program(noise, 0.95)), 190u) << noise.name;
}

TEST(Trial, NeverKeepsWhatHarmsAndMostlySaysSo) {
  for (const Noise& noise : kNoises) {
    EXPECT_EQ(count_of(Verdict::kKeep, program(noise, 1.05)), 0u) << noise.name;
    EXPECT_GE(count_of(Verdict::kHarmful, program(noise, 1.05)), 180u) << noise.name;
  }
}

TEST(Trial, DoesNotKeepAGainBelowHalfAPercent) {
  EXPECT_EQ(count_of(Verdict::kKeep,
                     [](std::mt19937& random) -> MadeStep {
                       return [&random, normal = std::normal_distribution<>(1, 0.001)](unsigned, bool on) mutable {
                         return kStep * normal(random) * (on ? 0.998 : 1);
                       };
                     }),
            0u);
}

// What a pause in one step of forty costs is in no median of steps, and it is what the fix takes away.
TEST(Trial, SeesAGainInRareSteps) {
  EXPECT_GE(count_of(Verdict::kKeep,
                     [](std::mt19937& random) -> MadeStep {
                       return [&random, normal = std::normal_distribution<>(1, 0.01),
                               flat = std::uniform_real_distribution<>(0, 1)](unsigned, bool on) mutable {
                         return 10e6 * (normal(random) + (!on && flat(random) < 0.025 ? 10 : 0));
                       };
                     }),
            190u);
}

TEST(Trial, OfTooFewStepsDecidesNothing) {
  const auto steady = [](unsigned, bool on) { return kStep * (on ? 0.5 : 1); };
  EXPECT_EQ(tried(1, steady, 100).verdict, Verdict::kTooFew);
  EXPECT_EQ(tried(1, steady).verdict, Verdict::kKeep);
  EXPECT_EQ(tried(1, steady).pairs, 8u);
}

TEST(Trial, IntervalHoldsTheGain) {
  unsigned held = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Outcome outcome = tried(seed, program(kNoises[0], 0.98)(random));
    held += outcome.gain.low <= 2 && 2 <= outcome.gain.high;
  }
  EXPECT_GE(held, 190u);
}

TEST(Trial, DrawsWhichOfAPairComesFirst) {
  unsigned first_on = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Trial trial;
    trial.begin(seed);
    for (unsigned pair = 0; pair < Trial::kMostPairs; ++pair) {
      const bool first = trial.next_is_on();
      first_on += first;
      trial.add(1);
      EXPECT_NE(trial.next_is_on(), first);
      trial.add(1);
    }
  }
  EXPECT_NEAR(first_on, 1200, 100);
}

TEST(StepWindow, LeavesOutStepsThatBeganEarlierAndThoseOfWarmUp) {
  StepWindow window;
  window.begin(1000);
  window.add(900, 1100);
  EXPECT_EQ(window.skipped, 0u);
  for (unsigned i = 0; i < StepWindow::kWarmUp; ++i) window.add(1100, 9100);
  window.add(2000, 2500);
  EXPECT_EQ(window.steps, 1u);
  EXPECT_EQ(window.mean_ns(), 500);
  EXPECT_FALSE(window.is_full());
}

TEST(HarmWatch, TripsAfterWindowsInSuccessionOnly) {
  HarmWatch watch{100, 0};
  for (unsigned i = 0; i + 1 < HarmWatch::kWindows; ++i) EXPECT_FALSE(watch.add(101));
  EXPECT_FALSE(watch.add(99));
  for (unsigned i = 0; i + 1 < HarmWatch::kWindows; ++i) EXPECT_FALSE(watch.add(101));
  EXPECT_TRUE(watch.add(101));
}

}  // namespace
}  // namespace hostprobe::probe
