// Activities of the GPU, and how busy it was: analysis/timeline/{activity,busy_time,launch_calls}.cpp,
// analysis/questions/{gpu_busy,gaps}.cpp, trace/activity_file.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "account.h"
#include "analysis/measures/gpu_busy.h"
#include "format/activity_file.h"
#include "model/activity.h"
#include "model/timeline.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::TraceFile;

// On the clock of TraceFile: its moment of so many microseconds, on CLOCK_MONOTONIC.
std::uint64_t monotonic_at_us(double us) {
  return test::clock_at_us(0).monotonic_ns + static_cast<std::uint64_t>(1000 * us);
}

struct DeviceFile {
  ActivityHead head{};
  std::vector<ActivityRow> rows;

  explicit DeviceFile(const FileHeader& process) {
    head.magic = kActivityMagic;
    head.version = kActivityVersion;
    head.head_bytes = kActivityHeadBytes;
    head.row_bytes = sizeof(ActivityRow);
    head.pid = process.pid;
    head.start_ns = process.start.monotonic_ns + 1000;
    head.start_ticks = process.start.ticks + 1000;
    std::memcpy(head.boot_id, process.boot_id, sizeof head.boot_id);
    std::memcpy(head.program, process.program, sizeof head.program);
  }
  void name(std::uint32_t number, const std::string& text) {
    ActivityRow& row = rows.emplace_back();
    row.bytes = text.size();
    row.name = number;
    row.type = kActivityName;
    const std::size_t first = rows.size();
    rows.resize(first + (text.size() + sizeof(ActivityRow) - 1) / sizeof(ActivityRow));
    std::memcpy(static_cast<void*>(&rows[first]), text.data(), text.size());
  }
  void kernel(double begin_us, double end_us, std::uint32_t stream = 1, std::uint8_t type = kActivityKernel) {
    ActivityRow& row = rows.emplace_back();
    row.begin_ns = monotonic_at_us(begin_us);
    row.end_ns = monotonic_at_us(end_us);
    row.launch_ns = monotonic_at_us(begin_us - 2);
    row.stream = stream;
    row.name = 1;
    row.launch_tid = 4242;
    row.type = type;
  }
  void write(const std::string& path, std::int64_t more_rows = 0) {
    head.rows = rows.size() + static_cast<std::uint64_t>(more_rows);
    std::string bytes(kActivityHeadBytes, '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    bytes.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(ActivityRow));
    TraceFile::write_bytes(path, bytes);
  }
};

class Activities : public testing::Test {
 protected:
  Activities() {
    read_accounts();
    trace_.hooks({test::launch_hook("cuLaunchKernel")});
    trace_.thread(test::thread_entry(4242, "main"));
  }
  DeviceTimeline read(DeviceFile& device, std::int64_t more_rows = 0) {
    device.write(folder_.file("4242-0.hpdevice"), more_rows);
    trace_.write(folder_.file("t.hptrace"));
    return exact_timeline(read_trace(folder_.file("t.hptrace")));
  }
  TraceFile trace_;
  test::TestFolder folder_;
};

TEST_F(Activities, OfTheSimulatedNodeLieOnTheClockOfTheTrace) {
  DeviceFile file(trace_.header);
  file.name(1, "gemm_with_a_name_that_is_longer_than_a_single_row_of_the_file");
  file.kernel(100, 110, 3);
  file.kernel(90, 95, 4);
  const DeviceTimeline device = read(file);
  EXPECT_EQ(device.source, ActivitySource::kAccount);
  ASSERT_EQ(device.activities.size(), 2u);
  const Activity& first = device.activities[0];
  EXPECT_DOUBLE_EQ(first.begin_ns, 90'000);
  EXPECT_DOUBLE_EQ(first.end_ns, 95'000);
  EXPECT_DOUBLE_EQ(first.launch_ns, 88'000);
  EXPECT_EQ(first.launch_tid, 4242u);
  EXPECT_EQ(device.streams[first.stream].id, 4u);
  EXPECT_EQ(device.names[first.name], "gemm_with_a_name_that_is_longer_than_a_single_row_of_the_file");
}

TEST_F(Activities, OfAnotherProcessAreNotTaken) {
  for (int what = 0; what < 4; ++what) {
    DeviceFile file(trace_.header);
    file.kernel(100, 110);
    if (what == 0) file.head.pid = 4243;
    if (what == 1) file.head.boot_id[0] = 'x';
    if (what == 2) file.head.program[5] = 'x';
    if (what == 3) file.head.start_ticks = 0;
    EXPECT_EQ(read(file).source, ActivitySource::kNone) << what;
  }
}

TEST_F(Activities, ThatMakeNoSenseAreCountedAndLeftOut) {
  DeviceFile file(trace_.header);
  file.kernel(100, 110);
  file.kernel(130, 120);
  file.kernel(140, 150, 1, 77);
  file.kernel(160, 170);
  file.name(2, "");
  file.rows.back().bytes = UINT64_MAX;
  const DeviceTimeline device = read(file);
  EXPECT_EQ(device.activities.size(), 2u);
  EXPECT_EQ(device.damaged, 3u);
  EXPECT_FALSE(device.is_whole());
}

TEST_F(Activities, ThatTheFileDoesNotHoldAreCounted) {
  DeviceFile file(trace_.header);
  file.kernel(100, 110);
  const DeviceTimeline device = read(file, 1000);
  EXPECT_EQ(device.activities.size(), 1u);
  EXPECT_EQ(device.damaged, 1000u);
}

TEST_F(Activities, AnEmptyOrForeignFileIsNone) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{5000}}) {
    TraceFile::write_bytes(folder_.file("4242-0.hpdevice"), std::string(size, 'x'));
    trace_.write(folder_.file("t.hptrace"));
    EXPECT_EQ(exact_timeline(read_trace(folder_.file("t.hptrace"))).source, ActivitySource::kNone);
  }
}

DeviceTimeline random_device(unsigned seed) {
  std::mt19937 random(seed);
  DeviceTimeline device;
  device.source = ActivitySource::kAccount;
  device.names = {"a", "b"};
  device.streams = {{0, 1}, {0, 2}, {1, 3}};
  for (int i = 0; i < 200; ++i) {
    Activity activity;
    activity.type = i % 7 == 0 ? ActivityType::kCopy : ActivityType::kKernel;
    activity.begin_ns = random() % 5000;
    activity.end_ns = activity.begin_ns + random() % 40;
    activity.stream = random() % 3;
    activity.name = random() % 2;
    device.activities.push_back(activity);
  }
  std::stable_sort(device.activities.begin(), device.activities.end(),
                   [](const Activity& l, const Activity& r) { return l.begin_ns < r.begin_ns; });
  return device;
}

// Nanosecond by nanosecond.
std::vector<bool> busy_at(const DeviceTimeline& device) {
  std::vector<bool> busy(6000);
  for (const Activity& activity : device.activities)
    for (auto at = static_cast<std::size_t>(activity.begin_ns); at < static_cast<std::size_t>(activity.end_ns); ++at)
      busy[at] = true;
  return busy;
}

TEST(GpuBusy, IsTheUnionOfAllActivitiesWhateverTheirOrder) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const DeviceTimeline device = random_device(seed);
    const std::vector<bool> busy = busy_at(device);
    const std::vector<Window> steps = {{500, 1500}, {1500, 2700}, {4000, 4100}};
    const GpuAnswer answer = answer_gpu(device, {}, steps);
    EXPECT_NEAR(1e6 * answer.busy_ms.value(), static_cast<double>(std::count(busy.begin(), busy.end(), true)), 1e-3);
    double idle = 0;
    for (const Window& step : steps)
      for (auto at = static_cast<std::size_t>(step.begin_ns); at < static_cast<std::size_t>(step.end_ns); ++at)
        idle += busy[at] ? 0 : 1;
    EXPECT_NEAR(answer.idle_in_steps_pct.value(), 100 * idle / 2300, 1e-6);
    ASSERT_EQ(answer.devices.size(), 2u);
    EXPECT_GE(answer.devices[0].busy_ms + answer.devices[1].busy_ms, *answer.busy_ms - 1e-9);
  }
}

TEST(GpuBusy, OfAWindowIsWhatBeganInItAndTheTimeThatItFills) {
  DeviceTimeline device = random_device(1);
  device.activities.assign(2, Activity());
  device.activities[0].begin_ns = 0, device.activities[0].end_ns = 100;
  device.activities[1].begin_ns = 150, device.activities[1].end_ns = 400;
  const GpuAnswer answer = answer_gpu(device, {50, 200}, {});
  EXPECT_EQ(answer.kernels, 1u);
  EXPECT_DOUBLE_EQ(1e6 * answer.busy_ms.value(), 100);
  EXPECT_FALSE(answer.idle_in_steps_pct);
}

TEST_F(Activities, GapsAreTheComplementOfTheBusyTime) {
  trace_.write(folder_.file("t.hptrace"));
  const Trace trace = read_trace(folder_.file("t.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  for (unsigned seed = 0; seed < 20; ++seed) {
    const DeviceTimeline device = random_device(seed);
    const std::vector<bool> busy = busy_at(device);
    const std::vector<Window> steps = {{500, 1500}, {2000, 2700}};
    const GapAnswer gaps = answer_gaps(timeline, device, {}, steps).value();
    const GpuAnswer gpu = answer_gpu(device, {}, steps);
    double idle = 0;
    for (const Window& step : steps)
      for (auto at = static_cast<std::size_t>(step.begin_ns); at < static_cast<std::size_t>(step.end_ns); ++at)
        idle += busy[at] ? 0 : 1;
    EXPECT_NEAR(gaps.length.total_ns(), idle, 1e-6);
    EXPECT_LE(gaps.longest.size(), 10u);
    if (!gaps.longest.empty()) {
      EXPECT_DOUBLE_EQ(gaps.longest[0].end_ns - gaps.longest[0].begin_ns, gaps.length.max_ns());
    }
  }
}

TEST_F(Activities, AGapIsEndedByTheLaunchOfWhatRanNext) {
  trace_.calls(4242, 0, {{.hook = 1, .begin_us = 90, .end_us = 99}, {.hook = 1, .begin_us = 497, .end_us = 499}});
  DeviceFile file(trace_.header);
  file.name(1, "gemm");
  file.kernel(100, 110);
  file.kernel(500, 510);
  file.write(folder_.file("4242-0.hpdevice"));
  trace_.write(folder_.file("t.hptrace"));
  const Trace trace = read_trace(folder_.file("t.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  const GapAnswer gaps = answer_gaps(timeline, exact_timeline(trace), {}, {}).value();
  ASSERT_EQ(gaps.length.count(), 1u);
  EXPECT_EQ(gaps.longest[0].function, "cuLaunchKernel");
  EXPECT_EQ(gaps.longest[0].kernel, "gemm");
  EXPECT_EQ(gaps.longest[0].thread, "main");
  EXPECT_DOUBLE_EQ(gaps.longest[0].begin_ns, 110'000);
  EXPECT_DOUBLE_EQ(gaps.longest[0].end_ns, 500'000);
}

TEST(GpuBusy, IsNotKnownWhereSomeActivitiesHaveNoTime) {
  DeviceTimeline device = random_device(3);
  device.kernels_without_time = 5;
  device.ns_without_time = 1e6;
  const GpuAnswer answer = answer_gpu(device, {}, {{0, 100}});
  EXPECT_FALSE(answer.busy_ms);
  EXPECT_FALSE(answer.idle_in_steps_pct);
  EXPECT_GE(answer.kernel_ms, 1);
}

}  // namespace
}  // namespace hostprobe::analysis
