// Who ended a wait of which the probe knows no waker: analysis/ranks/kernel_wakers.cpp, and where it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/run_answer.h"
#include "export/export_form.h"
#include "import/ftrace/kernel_table.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "support/trace_file.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

using Row = hostprobe::KernelRow;

constexpr std::uint64_t kLib = 0x100000;
constexpr std::uint32_t kMain = 4242, kWorker = 10, kServer = 77;
constexpr std::uint16_t kRead = 1, kFutex = 2;

Row row_of(double us, KernelWhat what, std::uint32_t tid, std::uint32_t other, std::uint32_t value,
           KernelContext context = kContextUnknown) {
  Row row{};
  row.ticks = test::at_us(us);
  row.tid = tid;
  row.other = other;
  row.value = value;
  row.what = what;
  row.context = context;
  return row;
}
Row sleeps(double us, std::uint32_t tid) { return row_of(us, kKernelSwitch, tid, 0, kLeftSleeping); }
Row runs(double us, std::uint32_t tid) { return row_of(us, kKernelSwitch, 0, tid, kLeftRunnable); }
Row wakes(double us, std::uint32_t waker, std::uint32_t woken, KernelContext context = kContextTask) {
  return row_of(us, kKernelWake, waker, woken, 0, context);
}

// The main thread reads from 100 to 200 µs; the kernel was recorded from 0 to 1000.
class KernelWakers : public testing::Test {
 protected:
  KernelWakers() {
    file_.hooks({test::wait_hook("read"), test::wait_hook("syscall")});
    file_.module(kLib, kLib + 0x1000, "/x/libx.so");
    file_.thread(test::thread_entry(kMain, "main"));
    file_.thread(test::thread_entry(kWorker, "worker"));
  }
  static test::Call wait(std::uint16_t hook, double begin_us, double end_us) {
    return {.hook = hook, .begin_us = begin_us, .end_us = end_us, .c = kLib + 1};
  }
  void kernel(std::vector<Row> rows, std::uint64_t lost = 0) {
    FileHeader header{};
    header.source = kFromKernel;
    header.start = test::clock_at_us(0);
    header.last = test::clock_at_us(1e6);
    TraceWriter out(folder_.path().string(), header);
    rows.insert(rows.begin(), row_of(0, kKernelSwitch, 1, 0, kLeftSleeping));
    rows.push_back(row_of(1000, kKernelSwitch, 1, 0, kLeftSleeping));
    out.add_kernel(0, test::at_us(0), 0, {rows.front()});
    out.add_kernel(0, test::at_us(1), lost, {rows.begin() + 1, rows.end()});
    KernelNameTable names;
    names.add_task(kMain, 0, "train", kMain);
    names.add_task(kWorker, 0, "worker", kMain);
    names.add_task(kServer, 0, "redis io", 70);
    names.add_irq(27, "virtio0");
    out.add_kernel_names(names.take());
    out.finish();
  }
  RunAnswer ask() {
    if (!std::exchange(is_written_, true)) file_.calls(kMain, 0, calls_);
    file_.write(folder_.file("h-4242-1.hptrace"));
    return analyse_run(folder_.path().string(), {});
  }
  const WaitSite& site(const RunAnswer& run, const std::string& function = "read") {
    for (const WaitSite& one : run.processes.at(0).waits)
      if (one.function == function) return one;
    throw std::out_of_range(function);
  }
  std::map<KernelWaker, std::uint64_t> wakers() { return site(ask()).kernel_wakers; }

  test::TestFolder folder_;
  test::TraceFile file_;
  bool is_written_ = false;
  std::vector<test::Call> calls_{wait(kRead, 100, 200)};
};

TEST_F(KernelWakers, AnotherProcessIsToldByNameAndId) {
  kernel({sleeps(110, kMain), wakes(180, kServer, kMain), runs(190, kMain)});
  const RunAnswer run = ask();
  const KernelWaker redis{false, "redis io", 70};
  EXPECT_THAT(site(run).kernel_wakers, ElementsAre(Pair(redis, 1u)));
  ASSERT_EQ(site(run).chain.links.size(), 1u);
  EXPECT_EQ(site(run).chain.links[0].type, LinkType::kIo);
  EXPECT_EQ(site(run).chain.links[0].waker, redis);
  const auto json = nlohmann::json::parse(report_json(run, {}));
  const auto& own = json["processes"][0]["waits"][0];
  EXPECT_EQ(own["wake"]["kernel_wakers"], R"([{"comm": "redis io", "pid": 70, "count": 1}])"_json);
  EXPECT_EQ(own["chain"]["links"][0]["waker"], R"({"comm": "redis io", "pid": 70})"_json);
  EXPECT_THAT(report_text(run, {.all = true}), HasSubstr("ended by redis io (pid 70) × 1"));
}

TEST_F(KernelWakers, AnInterruptHasNoWakerAndWhoWasThereIsInnocent) {
  kernel({sleeps(110, kMain), runs(150, kServer), row_of(170, kKernelIrqBegin, kServer, 0, 27),
          wakes(180, kServer, kMain, kContextHardirq), row_of(181, kKernelIrqEnd, kServer, 0, 27), runs(190, kMain)});
  const RunAnswer run = ask();
  EXPECT_THAT(site(run).kernel_wakers, ElementsAre(Pair(KernelWaker{true, "virtio0", 0}, 1u)));
  const std::string json = report_json(run, {});
  EXPECT_THAT(json, HasSubstr("\"interrupt\": \"virtio0\""));
  EXPECT_THAT(report_text(run, {.all = true}), HasSubstr("the interrupt virtio0 × 1"));
}

TEST_F(KernelWakers, AnInterruptThatNobodyRecordedHasNoName) {
  kernel({sleeps(110, kMain), runs(150, kServer), wakes(180, kServer, kMain, kContextSoftirq), runs(190, kMain)});
  EXPECT_THAT(wakers(), ElementsAre(Pair(KernelWaker{true, "", 0}, 1u)));
}

// It posted past the hooks: the chain goes on in it.
TEST_F(KernelWakers, AThreadOfItsOwnIsAWakerLikeAnyOther) {
  calls_ = {wait(kFutex, 100, 200)};
  file_.calls(kWorker, 0, {wait(kRead, 120, 160)});
  kernel({sleeps(110, kMain), wakes(180, kWorker, kMain), runs(190, kMain)});
  const RunAnswer run = ask();
  const WakeChain& chain = site(run, "syscall").chain;
  EXPECT_NEAR(chain.dependency_ms, 0.08, 1e-6);
  EXPECT_NEAR(chain.wake_ms, 0.02, 1e-6);
  double ran_ms = 0, read_ms = 0;
  for (const ChainLink& link : chain.links) {
    EXPECT_EQ(link.roles.size(), 1u);
    (link.type == LinkType::kRuns ? ran_ms : read_ms) += link.ms;
  }
  EXPECT_NEAR(ran_ms, 0.04, 1e-6);
  EXPECT_NEAR(read_ms, 0.04, 1e-6);
}

TEST_F(KernelWakers, AFutexOfAnotherProcessIsForeign) {
  calls_ = {wait(kFutex, 100, 200)};
  kernel({sleeps(110, kMain), wakes(180, kServer, kMain), runs(190, kMain)});
  const RunAnswer run = ask();
  ASSERT_EQ(site(run, "syscall").chain.links.size(), 1u);
  EXPECT_EQ(site(run, "syscall").chain.links[0].type, LinkType::kForeign);
}

TEST_F(KernelWakers, WhatIsNotCertainIsNotSaid) {
  const std::vector<std::vector<Row>> kUnclear = {
      {sleeps(110, kMain), wakes(180, kServer, kMain, kContextUnknown)},     // from which context?
      {sleeps(110, kMain), wakes(180, 0, kMain)},                            // by nobody
      {wakes(180, kServer, kMain)},                                          // it was not seen to sleep
      {sleeps(110, kMain), wakes(150, kServer, kMain), sleeps(160, kMain)},  // and it slept on
      {sleeps(110, kMain), wakes(150, kServer, kMain), sleeps(160, kMain), wakes(180, kWorker, kMain)},
      {sleeps(110, kMain), wakes(210, kServer, kMain)},  // after the return
  };
  for (std::size_t i = 0; i < kUnclear.size(); ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(entry.path());
    kernel(kUnclear[i]);
    const RunAnswer run = ask();
    EXPECT_THAT(site(run).kernel_wakers, IsEmpty()) << i;
    EXPECT_EQ(site(run).chain.links[0].waker, std::nullopt) << i;
  }
}

TEST_F(KernelWakers, LostRecordsAndTimesBesideTheRecordingSayNothing) {
  kernel({sleeps(110, kMain), wakes(180, kServer, kMain), runs(190, kMain)}, 3);
  EXPECT_THAT(wakers(), IsEmpty());
}

TEST_F(KernelWakers, ArrowsOfTheCpusBeginAtWhoeverWoke) {
  kernel({runs(150, kServer), wakes(180, kServer, kMain), row_of(185, kKernelSwitch, kServer, kMain, kLeftSleeping),
          row_of(200, kKernelSwitch, kMain, kServer, kLeftSleeping), wakes(210, kServer, kMain, kContextHardirq),
          row_of(220, kKernelSwitch, kServer, kMain, kLeftRunnable), sleeps(230, kMain)});
  ask();
  std::string text;
  const ChosenJob chosen(folder_.path().string());
  const RunSteps steps;
  chrome_form().write({chosen, steps}, [&text](std::string_view part) { text += part; }, {});
  const auto timeline = nlohmann::json::parse(text);
  std::size_t arrows = 0;
  for (const auto& event : timeline["traceEvents"]) arrows += event["ph"] == "s" && event["name"] == "wake";
  EXPECT_EQ(arrows, 1u) << "none from the interrupt";
}

}  // namespace
}  // namespace hostprobe::analysis
