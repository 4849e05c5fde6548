// The four moments of a hook, with fakes, and replacing what a hook calls.
#include <gtest/gtest.h>

#include <string>

#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/replaced.h"
#include "probe_fakes.h"

namespace hostprobe::probe {
namespace {

Hook& launch_hook() { return const_cast<Hook&>(fake_hook("cuLaunchKernel")); }

struct Number {
  int value;
};

// What happened, in order; each call answers `result` and tracks how many there were.
struct Calls {
  std::string order;
  int tracked = 0, filled = 0, result = 0;
  std::uint16_t flags = 0;

  template <int kind = kOther>
  int make() {
    return timed_call<kind, Family::kCuda>(
        launch_hook(), [&] { order += "before "; },
        [&] {
          order += "call ";
          return result;
        },
        [&](int) -> Number {
          order += "track ";
          return {++tracked};
        },
        [&](Record& rec, int, Number number) {
          order += "fill ";
          ++filled;
          rec.a = static_cast<std::uint64_t>(number.value);
          rec.b = rec.d = rec.e = 0;
          return flags;
        });
  }
};

class TimedCall : public testing::Test {
 protected:
  Folder folder_;
  Recording recording_{folder_.path.c_str()};
};

TEST_F(TimedCall, HasItsMomentsInOrderAndGivesTheResultBack) {
  Calls calls;
  calls.result = 7;
  EXPECT_EQ(calls.make(), 7);
  EXPECT_EQ(calls.order, "before call track fill ");
}

TEST_F(TimedCall, PutsItsFlagsBesideTheResults) {
  Calls calls;
  calls.result = 1;
  calls.flags = kRecordRelative;
  calls.make();
  const auto* record = reinterpret_cast<const Record*>(t_local.cursor) - 1;
  EXPECT_EQ(record->flags, kRecordFailed | kRecordRelative);
  EXPECT_EQ(record->a, 1u);
}

TEST_F(TimedCall, TracksWhilePaused) {
  Calls calls;
  ASSERT_TRUE(pause_recording());
  EXPECT_EQ(calls.make(), 0);
  EXPECT_EQ(calls.order, "before call track ");
  ASSERT_TRUE(resume_recording());
  calls.make();
  EXPECT_EQ(calls.tracked, 2);
  EXPECT_EQ(calls.filled, 1);
}

TEST_F(TimedCall, TracksWhenTheRecordIsLost) {
  Calls calls;
  constexpr int kMore = 40000;  // than the pool holds, and nobody empties it
  for (int i = 0; i < kMore; ++i) {
    calls.order.clear();
    calls.make();
  }
  EXPECT_EQ(calls.tracked, kMore);
  EXPECT_LT(calls.filled, kMore);
}

TEST_F(TimedCall, OfAShortQuestionTracksAndLeavesNoRecord) {
  g_limits.polled_ticks = kNever;
  Calls calls;
  calls.make<kPolled>();
  EXPECT_EQ(calls.order, "before call track ");
}

// ---- a launch whose stream is looked at ------------------------------------------------------------------------------

int launch_into(const void* stream, const void*& sampled_before_the_call) {
  return timed_call<kLaunch, Family::kCuda>(
      launch_hook(), [] {},
      [&] {
        sampled_before_the_call = g_sampled_stream;
        return 0;
      },
      [](int) -> Number { return {0}; }, [](Record&, int, Number) { return std::uint16_t{0}; },
      [&] {
        return WorkQueue{stream, false, Enqueued::kKernels};
      });
}

TEST_F(TimedCall, OfALaunchThatIsDueLooksAtItsStreamBeforeTheCall) {
  const int stream = 0;
  const void* sampled = nullptr;
  g_sampled_stream = nullptr;
  launch_into(&stream, sampled);
  EXPECT_EQ(sampled, nullptr);
  g_gate.recording = kSampleDue;
  launch_into(&stream, sampled);
  EXPECT_EQ(sampled, &stream);
}

const Record& last_record() { return *(reinterpret_cast<const Record*>(t_local.cursor) - 1); }

TEST_F(TimedCall, OfALaunchIsMarkedWhereACaptureTookIt) {
  const int stream = 0, other = 0;
  const void* unused = nullptr;
  g_captured_stream = &stream;
  launch_into(&stream, unused);
  EXPECT_EQ(last_record().flags, 0) << "no capture is open, so nobody is asked";
  g_gate.captures = 1;
  launch_into(&other, unused);
  EXPECT_EQ(last_record().flags, 0);
  launch_into(&stream, unused);
  EXPECT_EQ(last_record().flags, kRecordCaptured);
  g_gate.captures = 0;
}

TEST_F(TimedCall, WhatACaptureTookMarksNoOtherRecordWhenItsOwnIsLost) {
  const int stream = 0;
  const void* unused = nullptr;
  g_captured_stream = &stream;
  g_gate.captures = 1;
  for (int i = 0; i < 40000; ++i) launch_into(&stream, unused);  // more than the pool holds
  g_gate.captures = 0;
  EXPECT_EQ(t_local.lap_and_mark >> 16, 0u);
}

TEST_F(TimedCall, WhileASampleIsDueRecordingCanPause) {
  g_gate.recording = kSampleDue;
  EXPECT_TRUE(pause_recording());
  EXPECT_TRUE(resume_recording());
}

// ---- what a hook calls ----------------------------------------------------------------------------------------------

int g_of_fix = 0;
int one() { return 1; }
int two() { return 2; }
int fix_of_first() {
  ++g_of_fix;
  return 10 + reinterpret_cast<int (*)()>(original_of(launch_hook(), 0))();
}
int fix_of_others() { return 20; }
void* fix(unsigned copy) { return reinterpret_cast<void*>(copy == 0 ? fix_of_first : fix_of_others); }
void* other_fix(unsigned) { return reinterpret_cast<void*>(two); }
int call(unsigned copy) { return reinterpret_cast<int (*)()>(launch_hook().target[copy])(); }

class Replaced : public testing::Test {
 protected:
  Replaced() {
    link_hooks();
    put_back();
  }
  ~Replaced() override { put_back(); }
  static void put_back() {
    restore_target(launch_hook());
    for (void*& target : launch_hook().target) target = nullptr;
  }
};

TEST_F(Replaced, TheFixIsCalledUntilItIsTakenAway) {
  ASSERT_TRUE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(one)));
  ASSERT_TRUE(replace_target(launch_hook(), fix));
  EXPECT_EQ(call(0), 11);
  restore_target(launch_hook());
  EXPECT_EQ(call(0), 1);
  EXPECT_EQ(reinterpret_cast<int (*)()>(original_of(launch_hook(), 0))(), 1);
}

TEST_F(Replaced, ThereIsOneFixAtATime) {
  ASSERT_TRUE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(one)));
  ASSERT_TRUE(replace_target(launch_hook(), fix));
  EXPECT_FALSE(replace_target(launch_hook(), other_fix));
  restore_target(launch_hook());
  EXPECT_TRUE(replace_target(launch_hook(), other_fix));
  EXPECT_EQ(call(0), 2);
}

TEST_F(Replaced, AFunctionThatIsFoundLaterGetsTheFixToo) {
  ASSERT_TRUE(replace_target(launch_hook(), fix));
  ASSERT_TRUE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(one)));
  EXPECT_EQ(call(0), 11);
  restore_target(launch_hook());
  EXPECT_EQ(call(0), 1);
}

TEST_F(Replaced, ACopyStandsInFrontOfOneFunction) {
  ASSERT_TRUE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(one)));
  EXPECT_TRUE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(one)));
  EXPECT_FALSE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(two)));
  ASSERT_TRUE(replace_target(launch_hook(), fix));
  EXPECT_TRUE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(one)));
  EXPECT_FALSE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(two)));
}

TEST_F(Replaced, NothingIsRestoredWhereNothingWasReplaced) {
  ASSERT_TRUE(take_copy(launch_hook(), 0, reinterpret_cast<void*>(one)));
  restore_target(launch_hook());
  EXPECT_EQ(call(0), 1);
}

}  // namespace
}  // namespace hostprobe::probe
