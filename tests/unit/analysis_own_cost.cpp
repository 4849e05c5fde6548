// What hostprobe cost a process: analysis/own_cost.cpp
#include <gtest/gtest.h>

#include "analysis/measures/actions.h"
#include "answer/process.h"
#include "support/trace_file.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

std::optional<OwnCost> cost_of(const test::TraceFile& file) {
  const test::TestFolder folder;
  file.write(folder.file("t.hptrace"));
  return own_cost(read_trace(folder.file("t.hptrace")));
}

TEST(OwnCost, IsTheSumOfItsMeasuredParts) {
  test::TraceFile file;
  file.header.record_cost_ticks = 100 * 1024;  // in 1/1024 ticks; two ticks are a nanosecond
  file.header.quiet_cost_ticks = 10 * 1024;
  file.header.writer_cpu_ns = 3'000'000;
  ThreadEntry thread = test::thread_entry(7, "", 20'000);
  thread.quiet_calls = 400'000;
  thread.own_ticks = 8'000'000;
  thread.lost = 20'000;
  file.thread(thread);
  const auto cost = cost_of(file);
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->records_ms, 20'000 * 50e-6, 1e-9);
  EXPECT_NEAR(cost->quiet_ms, 400'000 * 5e-6, 1e-9);
  EXPECT_NEAR(cost->slow_ms, 4, 1e-9);
  EXPECT_NEAR(cost->writer_ms, 3, 1e-9);
  EXPECT_NEAR(cost->total_ms(), 10, 1e-9);
}

TEST(OwnCost, ThreadsWhoseEntriesAreGoneCountThroughTheHeader) {
  test::TraceFile file;
  file.header.record_cost_ticks = 1024;
  file.header.records = 1'000'000;
  EXPECT_NEAR(cost_of(file)->records_ms, 0.5, 1e-9);
}

TEST(OwnCost, WhatTheKernelDoesForUsIsToldApart) {
  test::TraceFile file;
  file.header.record_cost_ticks = 1024;
  file.header.own_ticks = 20'000'000;
  file.header.switch_ticks = 12'000'000;
  file.header.sample_ticks = 2'000'000;
  file.thread(test::thread_entry(7, "", 0));
  const auto cost = cost_of(file);
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->switches_ms, 6, 1e-9);
  EXPECT_NEAR(cost->samples_ms, 1, 1e-9);
  EXPECT_NEAR(cost->slow_ms, 3, 1e-9);
  EXPECT_NEAR(cost->total_ms(), 10, 1e-9);
}

TEST(OwnCost, WhoseSumsContradictEachOtherIsNotLessThanNothing) {
  test::TraceFile file;
  file.header.record_cost_ticks = 1024;
  file.header.switch_ticks = 12'000'000;
  EXPECT_EQ(cost_of(file)->slow_ms, 0);
}

TEST(OwnCost, OfTheCpuTimeNeedsOne) {
  ProcessAnswer process;
  EXPECT_FALSE(process.own_cpu_pct());
  process.own_cost = OwnCost{};
  process.own_cost->writer_ms = 2;
  EXPECT_FALSE(process.own_cpu_pct());
  process.cpu_ms = 0;
  EXPECT_FALSE(process.own_cpu_pct());
  process.cpu_ms = 400;
  EXPECT_NEAR(*process.own_cpu_pct(), 0.5, 1e-9);
}

TEST(OwnCost, WithoutAMeasurementItIsUnknown) { EXPECT_FALSE(cost_of(test::TraceFile())); }

}  // namespace
}  // namespace hostprobe::analysis
