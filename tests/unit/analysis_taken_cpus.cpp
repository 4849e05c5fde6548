// analysis_taken_cpus.cpp: whose loss a lack of a CPU is that work which is lost itself has taken.
#include <gtest/gtest.h>

#include <array>

#include "analysis/step_time/taken_cpus.h"
#include "model/event.h"

namespace hostprobe::analysis {
namespace {

constexpr double kMs = 1e6;

class TakenCpusOfTwoRanks : public testing::Test {
 protected:
  TakenCpusOfTwoRanks() {
    for (unsigned i = 0; i < 4; ++i) {
      known_[i].entry.cpus = 2;
      tracks_[i].thread = &known_[i];
      threads_[i].track = &tracks_[i];
    }
    for (unsigned i = 0; i < 2; ++i) {
      answers_[i].host = "host";
      members_.emplace_back().answer = &answers_[i];
    }
  }
  LostPart part(Cause cause, std::uint32_t member, unsigned thread, double begin_ms, double end_ms,
                double part = 1) const {
    LostPart one;
    one.window = {begin_ms * kMs, end_ms * kMs};
    one.ns = part * one.window.length_ns();
    one.cause = cause;
    one.member = member;
    one.spot.thread = &threads_[thread];
    return one;
  }
  // Ranks 0 and 1.
  void lose(std::vector<LostPart> first, std::vector<LostPart> second) {
    for (const auto* rank : {&first, &second})
      for (const LostPart& one : *rank) {
        LostTime& lost = time_.lost.emplace_back();
        lost.cause = one.cause, lost.member = one.member, lost.ns = one.ns;
      }
    taken_.add_step({std::move(first), std::move(second)});
  }
  double lost_ms(Cause cause) {
    double ns = 0;
    for (const LostTime& lost : time_.lost)
      if (lost.cause == cause) ns += lost.ns;
    return ns / kMs;
  }
  void expect_ms(double work_ms, double lack_ms) {
    taken_.move_lacks(time_);
    EXPECT_NEAR(lost_ms(Cause::kHostWork), work_ms, 1e-6);
    EXPECT_NEAR(lost_ms(Cause::kCpuContention), lack_ms, 1e-6);
  }

  std::array<Thread, 4> known_{};
  std::array<Track, 4> tracks_{};
  std::array<HostThread, 4> threads_{};
  std::array<ProcessAnswer, 2> answers_{};
  std::vector<StepTimeMember> members_;
  TakenCpus taken_{members_};
  StepTime time_;
};

TEST_F(TakenCpusOfTwoRanks, MakeALackThatIsTheWorks) {
  // Half of the lack lies beside the work.
  lose({part(Cause::kHostWork, 0, 0, 0, 10)}, {part(Cause::kCpuContention, 1, 1, 8, 12)});
  time_.gains[Cause::kHostWork] = {10 * kMs, 9 * kMs, 11 * kMs};
  expect_ms(12, 2);
  EXPECT_NEAR(time_.gains[Cause::kHostWork].ns, 12 * kMs, 1e-3);
}

TEST_F(TakenCpusOfTwoRanks, CountWhileNobodyWaitsForTheWork) {
  lose({part(Cause::kHostWork, 0, 0, 0, 10)}, {part(Cause::kCpuContention, 1, 1, 20, 24)});
  taken_.add_hidden({{part(Cause::kHostWork, 0, 0, 20, 30)}, {}});
  expect_ms(14, 0);
}

TEST_F(TakenCpusOfTwoRanks, AreLackedByTheWorkItselfToo) {
  // One stretch of a thread: work, and a quarter of it without a CPU.
  lose({part(Cause::kHostWork, 0, 0, 0, 8, 0.75), part(Cause::kCpuContention, 0, 0, 0, 8, 0.25)}, {});
  expect_ms(8, 0);
}

TEST_F(TakenCpusOfTwoRanks, AreNotTakenByAThreadThatIsInACall) {
  threads_[0].calls.push_back({.begin_ns = 0, .end_ns = 10 * kMs, .type = HostCallType::kWait});
  lose({part(Cause::kHostWork, 0, 0, 0, 10)}, {part(Cause::kCpuContention, 1, 1, 0, 4)});
  expect_ms(10, 4);
}

TEST_F(TakenCpusOfTwoRanks, AreOthersWhereTheWorkIsLittle) {
  lose({part(Cause::kHostWork, 0, 0, 0, 3)}, {part(Cause::kCpuContention, 1, 1, 0, 4)});
  expect_ms(3, 4);
}

TEST_F(TakenCpusOfTwoRanks, AreOthersOnAnotherHostOrWithAnotherMask) {
  answers_[1].host = "another";
  lose({part(Cause::kHostWork, 0, 0, 0, 10)}, {part(Cause::kCpuContention, 1, 1, 0, 4)});
  expect_ms(10, 4);
  answers_[1].host = "host";
  known_[1].entry.cpus = 1;
  expect_ms(10, 4);
  known_[1].entry.cpus = 2;
  expect_ms(14, 0);
}

}  // namespace
}  // namespace hostprobe::analysis
