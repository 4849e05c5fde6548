// What Python tells of itself: garbage collections, waits for the interpreter lock, steps of torch's optimizers:
// analysis/measures/gc_pauses.cpp, gil_waits.cpp, model/steps.cpp, report/json/json_python.cpp
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "support/counters.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
using test::Call;

constexpr std::uint64_t kPython = 0x100000, kLibX = 0x200000;
constexpr std::uint32_t kMain = 4242, kLoader = 9, kPin = 10, kNamed = 11, kUsual = 12, kOfSystem = 13, kCut = 14;
enum Rows : std::uint16_t { kGc = 1, kStep, kOptimizer, kTimedWait, kCondWait, kSem, kGraph, kSync };

class PythonAnswers : public testing::Test {
 protected:
  PythonAnswers() {
    file_.header.pid = kMain;
    const auto plain = [](const char* name, std::vector<std::string> labels) {
      return test::HookLook{.name = name, .family = Family::kPython, .labels = std::move(labels), .blocking = false};
    };
    file_.hooks({plain("hostprobe_gc", {"generation", "collected", "uncollectable"}),
                 plain("hostprobe_step", {"number"}), plain("hostprobe_optimizer_step", {"number"}),
                 test::wait_hook("pthread_cond_timedwait"), test::wait_hook("pthread_cond_wait"),
                 test::wait_hook("sem_wait"), test::launch_hook("cuGraphLaunch"),
                 test::sync_hook("cuStreamSynchronize")});
    file_.module(kPython, kPython + 0x1000, "/usr/bin/python3.11");
    file_.module(kLibX, kLibX + 0x1000, "/x/libpythonic.so");
    for (const auto& [tid, name] : {std::pair{kMain, "main"}, {kLoader, "loader"}, {kPin, "pin"}})
      file_.thread(test::thread_entry(tid, name));
  }
  json report(const ReportOptions& options = {}, const StepQuery& query = {}) {
    file_.write(folder_.file("h-1-1.hptrace"));
    return json::parse(report_json(analyse_run(folder_.path().string(), {}, {.cores = 1}, query), options));
  }
  json process() { return report().at("processes").at(0); }
  json thread(std::uint32_t tid) {
    for (const json& one : json(process().at("threads")))
      if (one.at("tid") == tid) return one;
    throw std::runtime_error("no such thread");
  }
  static Call pause(double begin_us, double end_us, std::uint64_t generation) {
    return {.hook = kGc, .begin_us = begin_us, .end_us = end_us, .a = generation, .b = 7};
  }
  static Call step(std::uint16_t row, double begin_us, double end_us, std::uint64_t number) {
    return {.hook = row, .begin_us = begin_us, .end_us = end_us, .a = number};
  }
  static Call lock(double begin_us, double end_us, std::uint32_t holder) {
    return {.hook = kTimedWait,
            .begin_us = begin_us,
            .end_us = end_us,
            .b = holder == 0 ? 0 : pack_post(holder, test::at_us(end_us - 1)),
            .c = kPython + 7,
            .flags = holder == 0 ? std::uint16_t{kRecordFailed | kRecordTimedOut} : std::uint16_t{0}};
  }

  test::TestFolder folder_;
  test::TraceFile file_;
};

TEST_F(PythonAnswers, ThreadsHaveThePythonNamesOfTheirOwnTime) {
  std::string rows;
  const auto name = [&rows](double us, std::uint32_t tid, const char* text) {
    EventRow row{test::at_us(us), kEventThreadName, 0, tid, 0, {}};
    test::set_text(row.text, text);
    rows += test::bytes_of(row);
  };
  for (const std::uint32_t tid : {kNamed, kUsual, kOfSystem, kCut}) {
    ThreadEntry one = test::thread_entry(tid, tid == kOfSystem ? "pool" : tid == kCut ? "feeds\nthe thing" : "main");
    one.start_ticks = test::at_us(1000);
    one.end_ticks = test::at_us(9000);
    file_.thread(one);
  }
  name(500, kNamed, "somebody before"), name(2000, kNamed, "ckpt-0"), name(9500, kNamed, "somebody behind");
  name(2000, kUsual, "Thread-3 (work)"), name(2000, kOfSystem, "ckpt-1"), name(2000, kCut, "feeds the things");
  file_.block(kBlockEvents, rows);
  EXPECT_EQ(thread(kNamed).at("name"), "ckpt-0");
  EXPECT_EQ(thread(kUsual).at("name"), "main");
  EXPECT_EQ(thread(kOfSystem).at("name"), "pool");
  EXPECT_EQ(thread(kCut).at("name"), "feeds the things");
  EXPECT_TRUE(process().at("events").empty());
}

TEST_F(PythonAnswers, PausesAreCountedByGeneration) {
  file_.calls(kMain, 0, {pause(0, 10, 0), pause(20, 30, 0), pause(40, 340, 2)});
  const json gc = process().at("gc");
  EXPECT_EQ(gc.at("count"), 3);
  EXPECT_NEAR(gc.at("total_ms").get<double>(), 0.320, 1e-9);
  EXPECT_NEAR(gc.at("max_ms").get<double>(), 0.300, 1e-9);
  EXPECT_EQ(gc.at("by_generation"), json({{"0", 2}, {"2", 1}}));
  EXPECT_EQ(gc.at("ms_per_step"), nullptr) << "there are no steps";
  EXPECT_NEAR(gc.at("generations").at(1).at("total_ms").get<double>(), 0.300, 1e-9);
}

TEST_F(PythonAnswers, PausesOfWhichOnlyCountersAreLeftCountToo) {
  file_.block(kBlockCounters, test::sums_row({.tid = kMain, .hook = kGc, .counters = {{30'000}, {}}, .object = 2}));
  file_.calls(kMain, 0, {pause(500, 510, 2)});
  const json gc = process().at("gc");
  EXPECT_EQ(gc.at("by_generation"), json({{"2", 2}}));
  EXPECT_NEAR(gc.at("total_ms").get<double>(), 0.025, 1e-6);
}

TEST_F(PythonAnswers, OnlyWhatLiesInTheStepsIsOfTheSteps) {
  file_.calls(
      kMain, 0,
      {pause(0, 90, 2), step(kStep, 100, 200, 1), pause(250, 290, 1), step(kStep, 200, 300, 2), pause(400, 500, 2)});
  EXPECT_NEAR(process().at("gc").at("ms_per_step").get<double>(), 0.020, 1e-9);
}

TEST_F(PythonAnswers, AProcessThatToldNothingHasNoPausesAndNotNone) {
  file_.calls(kMain, 0, {{.hook = kSem, .begin_us = 0, .end_us = 10, .c = kLibX}});
  EXPECT_EQ(process().at("gc"), nullptr);
}

TEST_F(PythonAnswers, ARequestForTheLockIsAllItsWaits) {
  file_.calls(kMain, 0,
              {lock(0, 5000, 0), lock(5000, 10000, 0), lock(10000, 12000, kLoader), lock(13000, 13100, kPin)});
  const json gil = thread(kMain).at("gil");
  EXPECT_EQ(gil.at("requests"), 2);
  EXPECT_NEAR(gil.at("wait_ms").get<double>(), 12.1, 1e-9);
  EXPECT_NEAR(gil.at("max_ms").get<double>(), 12.0, 1e-9);
  ASSERT_EQ(gil.at("holders").size(), 2u);
  EXPECT_EQ(gil.at("holders").at(0).at("tid"), kLoader);
  EXPECT_NEAR(gil.at("holders").at(0).at("total_ms").get<double>(), 12.0, 1e-9);
  EXPECT_FALSE(thread(kLoader).contains("gil"));
}

TEST_F(PythonAnswers, OtherWaitsAreNotForTheLock) {
  file_.calls(kMain, 0,
              {{.hook = kSem, .begin_us = 0, .end_us = 10, .c = kPython + 7},        // a lock of the program's
               {.hook = kCondWait, .begin_us = 20, .end_us = 30, .c = kLibX + 7}});  // not the interpreter's
  EXPECT_FALSE(thread(kMain).contains("gil"));
}

TEST_F(PythonAnswers, WaitsForTheLockArePricedPerStep) {
  file_.calls(kMain, 0,
              {lock(0, 50, kLoader), step(kStep, 100, 200, 1), lock(210, 230, kLoader), step(kStep, 200, 300, 2)});
  EXPECT_NEAR(thread(kMain).at("gil").at("ms_per_step").get<double>(), 0.010, 1e-9);
}

TEST_F(PythonAnswers, StepsOfOptimizersAreDetectedBecauseNobodyMarkedThem) {
  file_.calls(kMain, 0, {step(kOptimizer, 0, 100, 0), step(kOptimizer, 100, 300, 1), step(kOptimizer, 300, 400, 2)});
  const json steps = report().at("steps");
  EXPECT_EQ(steps.at("source"), "detected");
  EXPECT_EQ(steps.at("detected_by"), "optimizer");
  EXPECT_FALSE(steps.contains("marked_by"));
  EXPECT_EQ(steps.at("count"), 3);
}

TEST_F(PythonAnswers, StepsOfAnOptimizerThatWasCapturedIntoAGraphAreThoseOfTheGraph) {
  std::vector<Call> calls;
  for (int i = 0; i < 3; ++i)
    calls.push_back(step(kOptimizer, 100.0 * i, 100.0 * i + 100, static_cast<std::uint64_t>(i)));
  for (int i = 0; i < 200; ++i) {
    calls.push_back({.hook = kGraph, .begin_us = 400 + 50.0 * i, .end_us = 402 + 50.0 * i});
    calls.push_back({.hook = kSync, .begin_us = 403 + 50.0 * i, .end_us = 440 + 50.0 * i});
  }
  file_.calls(kMain, 0, calls);
  const json steps = report().at("steps");
  EXPECT_EQ(steps.at("detected_by"), "calls");
  EXPECT_GT(steps.at("count"), 190);
}

TEST_F(PythonAnswers, StepsOfOptimizersAreDetectedWhereOnlyCountersAreLeft) {
  file_.block(kBlockCounters, test::sums_row({.tid = kMain, .hook = kOptimizer, .counters = {{30'000, 40'000}, {}}}));
  const json steps = report().at("steps");
  EXPECT_EQ(steps.at("source"), "detected");
  EXPECT_EQ(steps.at("detected_by"), "optimizer");
  EXPECT_TRUE(steps.at("median_of").is_null()) << "their types are not known";
}

TEST_F(PythonAnswers, TheProgramsOwnMarksGoFirst) {
  file_.calls(kMain, 0, {step(kOptimizer, 0, 100, 0), step(kOptimizer, 100, 300, 1), step(kStep, 300, 400, 2)});
  const json steps = report().at("steps");
  EXPECT_EQ(steps.at("source"), "marks");
  EXPECT_EQ(steps.at("marked_by"), "program");
  EXPECT_EQ(steps.at("count"), 1);
}

TEST_F(PythonAnswers, OptimizersAreNotAskedWhereOnlyMarksCount) {
  file_.calls(kMain, 0, {step(kOptimizer, 0, 100, 0), step(kOptimizer, 100, 300, 1)});
  EXPECT_EQ(report({}, {.choice = StepChoice::kMarks}).at("steps").at("source"), "none");
}

}  // namespace
}  // namespace hostprobe::analysis
