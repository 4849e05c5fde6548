// What the CPU time of threads went into, by samples: model/samples.cpp, analysis/measures/running.cpp,
// report/json/json_running.cpp, running_text.cpp
#include "analysis/measures/running.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/causes/process_finding.h"
#include "analysis/run_answer.h"
#include "analysis/step_time/own_code.h"
#include "format/samples.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
constexpr std::uint64_t kPython = 0x100000, kLib = 0x200000;
constexpr std::uint32_t kMain = 4242, kOther = 9;

class Running : public testing::Test {
 protected:
  Running() {
    file_.header.pid = kMain;
    file_.hooks({{.name = "hostprobe_gc", .family = Family::kPython, .labels = {"generation"}, .blocking = false},
                 {.name = "hostprobe_step", .family = Family::kPython, .labels = {"number"}, .blocking = false}});
    file_.module(kPython, kPython + 0x1000, "/usr/bin/python3.11");
    file_.module(kLib, kLib + 0x1000, "/x/libcrunch.so");
    file_.thread(test::thread_entry(kMain, "main"));
    file_.thread(test::thread_entry(kOther, "other"));
    const std::uint32_t train = names_.add("train (train.py:90)");
    heavy_ = {names_.add("augment (train.py:30)"), train};
    heavy_again_ = {names_.add("augment (train.py:31)"), train};
    encode_ = {names_.add("JSONEncoder.iterencode (encoder.py:250)"), names_.add("log (train.py:55)"), train};
    file_.strings(names_);
    file_.stack(0, {}, heavy_);
    file_.stack(1, {}, heavy_again_);
    file_.stack(2, {}, encode_);
  }
  void python(double at_us, std::uint32_t stack, std::uint32_t running_us, std::uint32_t tid = kMain) {
    rows_ += test::bytes_of(SampleRow{test::at_us(at_us), tid, kSamplePython, 0, 0, stack, running_us});
  }
  void code(double at_us, std::uint64_t address, std::uint32_t running_us, std::uint32_t tid = kMain) {
    rows_ += test::bytes_of(SampleRow{test::at_us(at_us), tid, kSampleCode, 0, address, 0, running_us});
  }
  // Ten milliseconds apart, half of it each.
  void collections(int count) {
    std::vector<test::Call> calls;
    for (int i = 1; i <= count; ++i)
      calls.push_back({.hook = 1, .begin_us = 10'000.0 * i, .end_us = 10'000.0 * i + 5'000, .a = 2});
    file_.calls(kMain, 0, calls);
  }
  json report() {
    file_.block(kBlockSamples, rows_);
    file_.write(folder_.file("h-1-1.hptrace"));
    run_ = analyse_run(folder_.path().string(), {}, {.cores = 1});
    return json::parse(report_json(run_, {}));
  }
  json thread(const json& report, std::uint32_t tid) {
    for (const json& one : report.at("processes").at(0).at("threads"))
      if (one.at("tid") == tid) return one;
    throw std::runtime_error("no such thread");
  }

  test::TraceFile file_;
  test::StringArea names_;
  std::vector<std::uint32_t> heavy_, heavy_again_, encode_;
  std::string rows_;
  RunAnswer run_;
  test::TestFolder folder_;
};

TEST_F(Running, IsTheSumOfWhatSamplesStandFor) {
  for (int i = 0; i < 30; ++i) python(1000 + 100 * i, i % 3 == 0 ? 2 : 1, 40'000);
  for (int i = 0; i < 10; ++i) python(5000 + 100 * i, 3, 20'000);
  const json main = thread(report(), kMain);
  ASSERT_EQ(main.at("running").size(), 2u);
  const json& first = main.at("running").at(0);
  EXPECT_EQ(first.at("function"), "augment");
  EXPECT_EQ(first.at("file"), "train.py");
  EXPECT_EQ(first.at("line"), 30) << "that most of its samples are at";
  EXPECT_EQ(first.at("samples"), 30);
  EXPECT_DOUBLE_EQ(first.at("cpu_ms"), 1200);
  EXPECT_TRUE(first.at("library").is_null());
  EXPECT_TRUE(first.at("ms_per_step").is_null()) << "there are no steps";
  EXPECT_FALSE(first.contains("caller")) << "all of its callers are in the same file";
  const json& second = main.at("running").at(1);
  EXPECT_EQ(second.at("function"), "JSONEncoder.iterencode");
  EXPECT_EQ(second.at("caller"), "log (train.py:55)");
  EXPECT_DOUBLE_EQ(second.at("cpu_ms"), 200);
  EXPECT_EQ(main.at("running_samples").at("python"), 40);
  EXPECT_DOUBLE_EQ(main.at("running_samples").at("python_ms"), 1400);
  EXPECT_FALSE(main.contains("running_code")) << "no code was sampled";
  EXPECT_FALSE(thread(report(), kOther).contains("running")) << "it was never seen running";
}

TEST_F(Running, HasTwoViewsOfOneTimeWhereBothAreKnown) {
  for (int i = 0; i < 4; ++i) python(1000 + 100 * i, 1, 10'000);
  for (int i = 0; i < 3; ++i) code(1050 + 100 * i, kPython + 0x10, 10'000);
  code(1350, 0, 5'000);
  code(1351, kLib + 0x10, 5'000);
  const json main = thread(report(), kMain);
  EXPECT_EQ(main.at("running").at(0).at("function"), "augment");
  const json& by_code = main.at("running_code");
  ASSERT_EQ(by_code.size(), 3u);
  EXPECT_EQ(by_code.at(0).at("library"), "python3.11");
  EXPECT_DOUBLE_EQ(by_code.at(0).at("cpu_ms"), 30);
  EXPECT_TRUE(by_code.at(0).at("function").is_null()) << "there is no such file to read symbols from";
  EXPECT_EQ(by_code.at(1).at("cpu_ms"), by_code.at(2).at("cpu_ms"));
  EXPECT_DOUBLE_EQ(main.at("running_samples").at("code_ms"), 40);
}

TEST_F(Running, MakesAFlameGraphWhereItIsAskedFor) {
  for (int i = 0; i < 30; ++i) python(1000 + 100 * i, i % 3 == 0 ? 2 : 1, 40'000);
  for (int i = 0; i < 10; ++i) python(5000 + 100 * i, 3, 20'000);
  python(7000, 3, 1000);
  EXPECT_FALSE(report().at("processes").at(0).contains("stacks"));
  const RunAnswer run = analyse_run(folder_.path().string(), {}, {.cores = 1, .stacks = true});
  ASSERT_EQ(run.processes.at(0).stacks.size(), 1u) << "of the other thread nothing was seen";
  const StackTree& tree = run.processes[0].stacks[0];
  EXPECT_EQ(tree.tid, kMain);
  EXPECT_FALSE(tree.waiting);
  EXPECT_DOUBLE_EQ(tree.nodes.at(0).ns, 1401e6);
  std::map<std::string, double> ms;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    ASSERT_LT(tree.nodes[i].parent, i) << "callers come first";
    ms[tree.frames.at(tree.nodes[i].frame)] += 1e-6 * tree.nodes[i].ns;
  }
  EXPECT_DOUBLE_EQ(ms.at("train (train.py:90)"), 1401);
  EXPECT_DOUBLE_EQ(ms.at("augment (train.py:30)"), 800);
  EXPECT_DOUBLE_EQ(ms.at("JSONEncoder.iterencode (encoder.py:250)"), 201);
}

TEST_F(Running, IsOfCodeAloneWhereThereIsNoPython) {
  code(1000, kLib + 0x10, 50'000, kOther);
  const json other = thread(report(), kOther);
  EXPECT_EQ(other.at("running").at(0).at("library"), "libcrunch.so");
  EXPECT_FALSE(other.contains("running_code"));
}

TEST_F(Running, OfTornSamplesIsCountedAndNeverShown) {
  python(1000, 1, 10'000);
  for (int i = 0; i < 3; ++i) python(2000 + i, 0, 10'000);
  python(3000, 77, 10'000);  // a stack that nobody wrote
  const json main = thread(report(), kMain);
  EXPECT_EQ(main.at("running").size(), 1u);
  EXPECT_EQ(main.at("running_samples").at("torn"), 4);
  EXPECT_DOUBLE_EQ(main.at("running_samples").at("python_ms"), 50);
}

TEST_F(Running, InsideACollectionIsTheCollectors) {
  file_.calls(kMain, 0, {{.hook = 1, .begin_us = 1000, .end_us = 2000, .a = 2}});
  python(1500, 1, 10'000);
  python(2500, 1, 30'000);
  const json main = thread(report(), kMain);
  ASSERT_EQ(main.at("running").size(), 2u);
  EXPECT_EQ(main.at("running").at(0).at("function"), "augment");
  EXPECT_DOUBLE_EQ(main.at("running").at(0).at("cpu_ms"), 30);
  EXPECT_EQ(main.at("running").at(1).at("function"), "garbage collection");
  EXPECT_TRUE(main.at("running").at(1).at("file").is_null());
  EXPECT_EQ(main.at("running").at(1).at("caller"), "augment (train.py:30)") << "where it began";
}

TEST_F(Running, SaysWhereCollectionsBeginWhateverTheLine) {
  collections(8);
  for (int i = 0; i < 8; ++i) python(10'000 * (i + 1) + 1'000, i % 2 == 0 ? 1 : 2, 4'000);
  report();
  EXPECT_EQ(collecting_place(run_.processes[0]), "augment (train.py:30)");
}

TEST_F(Running, SaysNoPlaceOfCollectionsThatIsTheirsByChance) {
  collections(3);
  for (int i = 0; i < 3; ++i) python(10'000 * (i + 1) + 1'000, 1, 4'000);
  report();
  EXPECT_EQ(collecting_place(run_.processes[0]), "") << "three of three";
}

TEST_F(Running, SaysNoPlaceOfCollectionsThatBeginInSeveral) {
  collections(8);
  for (int i = 0; i < 16; ++i) python(10'000 * (i % 8 + 1) + 1'000 + i, i < 8 ? 1 : 3, 4'000);
  report();
  EXPECT_EQ(collecting_place(run_.processes[0]), "");
}

TEST_F(Running, SaysWhatAThreadMostlyRunsOrNothing) {
  for (int i = 0; i < 10; ++i) python(1000 + 100 * i, 1, 10'000);
  for (int i = 0; i < 2; ++i) python(3000 + 100 * i, 3, 10'000);
  for (int i = 0; i < 16; ++i) python(5000 + 100 * i, i < 10 ? 1 : 3, 10'000, kOther);
  report();
  EXPECT_EQ(usual_place(run_.processes[0], kMain), "augment (train.py:30)");
  EXPECT_EQ(usual_place(run_.processes[0], kOther), "") << "10 of 16 may be fewer than half";
  EXPECT_EQ(usual_place(run_.processes[0], 77), "") << "a thread that nobody sampled";
}

TEST_F(Running, SaysNothingOfCodeWithoutSymbols) {
  for (int i = 0; i < 10; ++i) code(1000 + 100 * i, kLib + 0x10, 10'000);
  report();
  EXPECT_EQ(usual_place(run_.processes[0], kMain), "");
}

TEST_F(Running, OfAStepIsThatOfStepsThatWereSampledWhole) {
  std::vector<test::Call> steps;
  for (int i = 0; i < 10; ++i)
    steps.push_back(
        {.hook = 2, .begin_us = 100'000.0 * i, .end_us = 100'000.0 * (i + 1), .a = static_cast<std::uint64_t>(i)});
  file_.calls(kMain, 0, steps);
  for (int i = 0; i < 20; ++i) python(500'000 + 25'000 * i + 24'000, i % 2 == 0 ? 1 : 3, 20'000);
  const json main = thread(report(), kMain);
  EXPECT_EQ(main.at("running_samples").at("steps"), 3) << "whole between 504 ms and 999 ms";
  EXPECT_DOUBLE_EQ(main.at("running").at(0).at("ms_per_step"), 40);
  EXPECT_DOUBLE_EQ(main.at("running").at(1).at("ms_per_step"), 40);
  const std::string text = report_text(run_, {.tables = {"running"}});
  EXPECT_NE(text.find("augment (train.py:30)"), std::string::npos) << text;
  EXPECT_NE(text.find("40.0 ms"), std::string::npos) << text;
}

TEST_F(Running, OfStrangeRowsIsNothing) {
  rows_ += test::bytes_of(SampleRow{test::at_us(10), 12345, kSampleCode, 0, kLib, 0, 1000});  // a thread nobody knows
  rows_ += test::bytes_of(SampleRow{test::at_us(10), kMain, 99, 0, kLib, 0, 1000});           // another kind
  EXPECT_FALSE(thread(report(), kMain).contains("running"));
  rows_ = test::bytes_of(SampleRow{0, kMain, kSampleCode, 0, ~std::uint64_t{0}, ~0u, ~0u}) + std::string(8, 'x');
  EXPECT_NO_THROW(report());
}

TEST(PythonPlaces, AreReadFromTheFrame) {
  const PythonPlace plain = python_place("Queue.get (queue.py:180)");
  EXPECT_EQ(plain.function, "Queue.get");
  EXPECT_EQ(plain.file, "queue.py");
  EXPECT_EQ(plain.line, 180u);
  EXPECT_EQ(python_place("f (a.py)").file, "a.py");
  EXPECT_EQ(python_place("f (a.py)").line, 0u);
  EXPECT_EQ(python_place("f (<frozen importlib._bootstrap>:241)").line, 241u);
  EXPECT_EQ(python_place("f (C:a.py)").file, "C:a.py");
  EXPECT_EQ(python_place("g.<locals>.<lambda> (x (1).py:5)").file, "1).py") << "the last bracket counts";
  EXPECT_EQ(python_place("nothing").function, "nothing");
  EXPECT_EQ(python_place("").function, "");
}

TEST(SampledShares, AreAsSureAsTheirSamples) {
  const SampledShare half = share_of_samples(10, 20);
  EXPECT_DOUBLE_EQ(half.part, 0.5);
  EXPECT_NEAR(half.low, 0.299, 0.001);
  EXPECT_NEAR(half.high, 0.701, 0.001);
  EXPECT_NEAR(share_of_samples(0, 20).high, 0.161, 0.001);
  EXPECT_DOUBLE_EQ(share_of_samples(20, 20).high, 1);
  EXPECT_GT(share_of_samples(300, 400).low, 0.70);
  EXPECT_EQ(share_of_samples(0, 0).high, 1) << "nothing is known";
}

// Until a moment, since the one before: the first one in the steps has what importing took as well.
TEST(FaultSamples, CountFromWhereTheStepsBegin) {
  ThreadSamples samples;
  for (const double at_ns : {50.0, 150.0, 250.0, 350.0}) {
    samples.faults.emplace_back().at_ns = at_ns;
    samples.faults.back().of_disk = static_cast<std::uint64_t>(at_ns);
  }
  EXPECT_EQ(disk_faults(samples, {}, {{100, 200}, {200, 300}}), 250u);
  EXPECT_EQ(disk_faults(samples, {}, {{50, 400}}), 150u + 250u + 350u);
  EXPECT_EQ(disk_faults(samples, {}, {}), 0u);
}

}  // namespace
}  // namespace hostprobe::analysis
