// Which frames of a stack a person would look at: model/telling_frames.cpp
#include "answer/telling_frames.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

TEST(TellingFrames, PassOverTheWaysIntoAWait) {
  EXPECT_EQ(telling_place({"SemLock.__enter__ (synchronize.py:95)", "Samples.get (train.py:23)", "main (train.py:9)"}),
            "Samples.get (train.py:23)");
  EXPECT_EQ(telling_place({"_PollLikeSelector.select (selectors.py:415)", "wait (connection.py:947)",
                           "_MultiProcessingDataLoaderIter._next_data (dataloader.py:1300)", "main (train.py:9)"}),
            "main (train.py:9)");
}

TEST(TellingFrames, AreTheInnermostWhereNothingElseIsKnown) {
  EXPECT_EQ(telling_place({"Condition.wait (threading.py:320)", "_find (<frozen importlib._bootstrap>:9)"}),
            "Condition.wait (threading.py:320)");
  EXPECT_EQ(telling_place({"gloo::wait() (libtorch_cpu.so)"}), "gloo::wait() (libtorch_cpu.so)");
  EXPECT_EQ(telling_place({}), "");
}

TEST(TellingFrames, CallersAreInTheFileOfTheOutermost) {
  EXPECT_EQ(calling_place({"iterencode (encoder.py:258)", "dumps (__init__.py:231)", "log (train.py:61)",
                           "main (train.py:9)", "_run_code (<frozen runpy>:88)"}),
            "log (train.py:61)");
  EXPECT_EQ(calling_place({"log (train.py:61)", "main (train.py:9)"}), "") << "it is the innermost itself";
  EXPECT_EQ(calling_place({"gloo::wait() (libtorch_cpu.so)"}), "");
  EXPECT_EQ(calling_place({"broken (", ":) (x", ""}), "");
  EXPECT_EQ(calling_place({}), "");
}

}  // namespace
}  // namespace hostprobe::analysis
