// How fast CPUs ran, and what else the machine did: analysis/measures/frequency.cpp, machine_load.cpp, report/machine_report.cpp
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/run_answer.h"
#include "format/frequency.h"
#include "format/machine.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
constexpr std::uint32_t kMain = 4242, kOther = 9;

class Machine : public testing::Test {
 protected:
  Machine() {
    file_.header.pid = kMain;
    file_.hooks({{.name = "hostprobe_step", .family = Family::kPython, .labels = {"number"}, .blocking = false}});
    file_.thread(test::thread_entry(kMain, "main"));
    file_.thread(test::thread_entry(kOther, "other"));
  }
  void found(double at_s, double ghz, std::uint32_t tid = kMain, std::uint16_t cpu = 0, std::uint16_t disturbed = 0) {
    constexpr std::uint32_t kAdditions = 8192;
    const auto chain = static_cast<std::uint32_t>(kAdditions / ghz * static_cast<double>(test::kTicksPerNs));
    frequency_ += test::bytes_of(FrequencyRow{test::at_us(1e6 * at_s), kAdditions, chain, tid, cpu, disturbed});
  }
  void counted(double at_ms, MachineRow row) {
    row.ticks = test::at_us(1e3 * at_ms);
    machine_ += test::bytes_of(row);
  }
  static MachineRow row(std::uint64_t each) { return {0, each, each, each, each, each, each, each, each, each, each}; }
  json process() {
    if (!frequency_.empty()) file_.block(kBlockFrequency, frequency_);
    if (!machine_.empty()) file_.block(kBlockMachine, machine_);
    file_.write(folder_.file("h-1-1.hptrace"));
    run_ = analyse_run(folder_.path().string(), {}, {.cores = 1});
    return json::parse(report_json(run_, {})).at("processes").at(0);
  }
  // Broken lines in one.
  std::string text() const {
    std::string text = report_text(run_, {.tables = {"machine"}});
    for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) text.replace(at, 3, " ");
    return text;
  }

  test::TraceFile file_;
  std::string frequency_, machine_;
  RunAnswer run_;

 private:
  test::TestFolder folder_;
};

TEST_F(Machine, ThatNobodyMeasuredIsNotTold) {
  const json one = process();
  EXPECT_TRUE(one.at("frequency").is_null());
  EXPECT_TRUE(one.at("machine").is_null());
  EXPECT_EQ(text().find("CPU frequency "), std::string::npos);
}

TEST_F(Machine, TellsItsFrequency) {
  for (int i = 0; i < 20; ++i)
    found(0.03 * i, i % 2 == 0 ? 3.6 : 3.8, kMain, static_cast<std::uint16_t>(i % 2), i == 7 ? 2 : 0);
  const json one = process().at("frequency");
  EXPECT_EQ(one.at("samples"), 20);
  EXPECT_EQ(one.at("dropped"), 2);
  EXPECT_NEAR(one.at("p5_ghz").get<double>(), 3.6, 0.01);
  EXPECT_NEAR(one.at("p95_ghz").get<double>(), 3.8, 0.01);
  ASSERT_EQ(one.at("cpus").size(), 2u);
  EXPECT_EQ(one.at("cpus").at(1).at("cpu"), 1);
  EXPECT_NEAR(one.at("cpus").at(1).at("median_ghz").get<double>(), 3.8, 0.01);
  EXPECT_FALSE(one.at("cpus").at(0).at("slow").get<bool>()) << "5 % less is nothing";
  EXPECT_FALSE(one.contains("drop"));
  EXPECT_NE(text().find(") on 2 CPUs"), std::string::npos);
}

TEST_F(Machine, TellsACpuThatIsSlowerThanTheOthers) {
  for (int i = 0; i < 24; ++i) found(0.03 * i, i % 4 == 2 ? 2.4 : 3.8, kMain, static_cast<std::uint16_t>(i % 4));
  for (int i = 0; i < 4; ++i) found(0.8 + 0.01 * i, 1.0, kOther, 9);
  const json cpus = process().at("frequency").at("cpus");
  for (const json& one : cpus) EXPECT_EQ(one.at("slow").get<bool>(), one.at("cpu") == 2) << one;
  EXPECT_NE(text().find("CPU 2 ran at 2.40 GHz, slower than the others"), std::string::npos) << text();
}

TEST_F(Machine, TellsTheLongestDropOfTheMainThreadsCpus) {
  for (int i = 0; i < 90; ++i) {
    const bool is_low = (i >= 30 && i < 60) || (i >= 70 && i < 77);
    found(0.01 * i, is_low ? 2.0 : 3.8);
    if (i % 3 == 0) found(0.01 * i, 1.2, kOther, 5);
  }
  const json drop = process().at("frequency").at("drop");
  EXPECT_NEAR(drop.at("from_s").get<double>(), 0.3, 0.03);
  EXPECT_NEAR(drop.at("to_s").get<double>(), 0.6, 0.03);
  EXPECT_NEAR(drop.at("ghz").get<double>(), 2.0, 0.01);
  EXPECT_NEAR(drop.at("usual_ghz").get<double>(), 3.8, 0.01);
  EXPECT_EQ(drop.at("tid"), kMain);
  EXPECT_NE(text().find("ran at 2.00 GHz, 3.80 before or afterwards"), std::string::npos) << text();
}

TEST_F(Machine, DisturbedOnceDidNotDrop) {
  for (int i = 0; i < 40; ++i) found(0.02 * i, i % 6 == 5 ? 0.8 : 3.8);
  EXPECT_FALSE(process().at("frequency").contains("drop"));
}

TEST_F(Machine, CannotRunAtWhatRowsOfDamageSay) {
  frequency_ += test::bytes_of(FrequencyRow{test::at_us(5), 8192, 0, kMain, 0, 0});
  frequency_ += test::bytes_of(FrequencyRow{test::at_us(5), UINT32_MAX, 1, kMain, 0, 0});
  frequency_ += test::bytes_of(FrequencyRow{UINT64_MAX, 0, UINT32_MAX, kMain, UINT16_MAX, UINT16_MAX});
  frequency_ += std::string(8, 'x');
  EXPECT_TRUE(process().at("frequency").is_null());
}

TEST_F(Machine, TellsWhatItCountedInAllAndByStep) {
  std::vector<test::Call> steps;
  for (int i = 0; i < 6; ++i)
    steps.push_back(
        {.hook = 1, .begin_us = 100'000.0 * i, .end_us = 100'000.0 * (i + 1), .a = static_cast<std::uint64_t>(i)});
  file_.calls(kMain, 0, steps);
  counted(90, row(1'000'000'000));
  counted(290, row(1'000'000'000 + 20'000'000));
  counted(490, row(1'000'000'000 + 60'000'000));
  const json one = process().at("machine");
  EXPECT_NEAR(one.at("ms").get<double>(), 400, 0.1);
  EXPECT_NEAR(one.at("steal_ms").get<double>(), 60, 0.01);
  EXPECT_NEAR(one.at("hard_irqs").get<double>(), 60'000'000, 1);
  EXPECT_NEAR(one.at("pressure").at("io_full_ms").get<double>(), 60'000, 0.1);
  EXPECT_EQ(one.at("steps"), 3) << "whole between 90 and 490 ms";
  EXPECT_NEAR(one.at("per_step").at("steal_ms").get<double>(), (10.0 + 11 + 20) / 3, 0.01) << "spread evenly";
  EXPECT_NE(text().find("stolen by other virtual machines"), std::string::npos) << text();
}

TEST_F(Machine, SaysNothingOfWhatIsNotReadableOrBeganAnew) {
  MachineRow first = row(5'000'000), second = row(9'000'000);
  first.memory_some_us = second.memory_some_us = kNotReadable;
  second.steal_ns = 4'000'000;
  second.io_some_us = kNotReadable;
  counted(100, first);
  counted(300, second);
  const json one = process().at("machine");
  EXPECT_TRUE(one.at("steal_ms").is_null()) << "it went back";
  EXPECT_TRUE(one.at("pressure").at("memory_some_ms").is_null());
  EXPECT_TRUE(one.at("pressure").at("io_some_ms").is_null());
  EXPECT_NEAR(one.at("hard_irq_ms").get<double>(), 4, 0.01);
  EXPECT_TRUE(one.at("per_step").is_null()) << "there are no steps";
}

TEST_F(Machine, ReadOnceTellsNothing) {
  counted(100, row(5));
  EXPECT_TRUE(process().at("machine").is_null());
}

}  // namespace
}  // namespace hostprobe::analysis
