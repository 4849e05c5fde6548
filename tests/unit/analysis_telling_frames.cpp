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

// A forked worker's stack goes on with its parent's, which may be cut short.
TEST(TellingFrames, CallersAreOfWhatTheThreadWasGivenToDo) {
  const std::string parent = "_MultiProcessingDataLoaderIter.__init__ (dataloader.py:1178)";
  EXPECT_EQ(calling_place({"_sum (_methods.py:49)", "Tokens.__getitem__ (data.py:34)", "<listcomp> (fetch.py:54)",
                           "_MapDatasetFetcher.fetch (fetch.py:54)", "_worker_loop (worker.py:349)",
                           "Process.run (process.py:108)", "BaseProcess._bootstrap (process.py:314)",
                           "Popen._launch (popen_fork.py:71)", parent}),
            "Tokens.__getitem__ (data.py:34)");
  EXPECT_EQ(calling_place({"dumps (pickle.py:9)", "save (ckpt.py:22)", "Thread.run (threading.py:982)",
                           "Thread._bootstrap_inner (threading.py:1045)", "Thread._bootstrap (threading.py:1002)"}),
            "save (ckpt.py:22)");
  EXPECT_EQ(calling_place({"step (worker.py:9)", "main (worker.py:90)"}), "") << "a program's own file of that name";
  EXPECT_EQ(calling_place({"Thread.run (threading.py:982)"}), "") << "nothing else is known";
}

}  // namespace
}  // namespace hostprobe::analysis
