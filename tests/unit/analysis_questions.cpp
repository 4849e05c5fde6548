// The questions of a run on any number of cores: analysis/questions.cpp, process.cpp, run_answer.cpp
#include "analysis/questions.h"

#include <gtest/gtest.h>

#include "analysis/process.h"
#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "support/counters.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::HookLook;
using test::TraceFile;

constexpr std::uint64_t kLibX = 0x100000;
// A sanitizer makes it all seventy times as slow.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kRanks = 2;
constexpr unsigned kCores[] = {3};
constexpr std::size_t kBytes[] = {1u << 20};
#else
constexpr int kRanks = 3;
constexpr unsigned kCores[] = {2, 3, 8};
constexpr std::size_t kBytes[] = {0u, 1u << 20, 10u << 20};
#endif

constexpr std::uint32_t kCalls = 70'000;  // of three sorts: a thread has more than a task of its own is made for

class Cores : public testing::Test {
 protected:
  // A rank with two busy threads, and a thread that does little: launches, waits that another thread ends, collectives.
  void rank(int rank) {
    TraceFile file;
    file.header.rank = rank;
    file.header.pid = static_cast<std::uint32_t>(1000 + rank);
    file.header.last = test::clock_at_us(40'000'000);
    const HookLook nccl{.name = "ncclAllReduce",
                        .family = Family::kNccl,
                        .labels = {"comm:hex", "count", "call:nccl", "place:ranks", "stream:hex"},
                        .blocking = false};
    file.hooks({test::wait_hook("sem_wait"), test::launch_hook("cuLaunchKernel"), nccl});
    file.module(kLibX, kLibX + 0x1000, "/x/libx.so");
    for (const std::uint32_t tid : {1000u + static_cast<unsigned>(rank), 50u, 60u})
      file.thread(test::thread_entry(tid, "t" + std::to_string(tid)));
    for (const std::uint32_t tid : {1000u + static_cast<unsigned>(rank), 50u}) busy(file, rank, tid);
    file.calls(60, 0,
               {{.hook = 1, .begin_us = 5, .end_us = 905.5, .b = pack_post(50, test::at_us(900)), .c = kLibX + 9}});
    file.block(kBlockCounters,
               test::sums_row({.tid = 60, .hook = 1, .site = kLibX + 1, .counters = {{2001, 4003}, {601}}}));
    file.write(folder_.file("r-" + std::to_string(file.header.pid) + "-1.hptrace"));
  }
  static void busy(TraceFile& file, int rank, std::uint32_t tid) {
    std::vector<Call> calls;
    double at_us = 0.1 * rank + 0.01 * tid;
    const std::uint64_t communicator = tid == 50 ? 0xb : 0xa;
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      calls.push_back({.hook = 2, .begin_us = at_us, .end_us = at_us + 1.3 + 0.001 * (i % 97)});
      calls.push_back({.hook = 1,
                       .begin_us = at_us + 20,
                       .end_us = at_us + 90.7,
                       .b = pack_post(60, test::at_us(at_us + 90)),
                       .c = kLibX + i % 7});
      calls.push_back({.hook = 3,
                       .begin_us = at_us + 100,
                       .end_us = at_us + 103.1,
                       .a = communicator,
                       .b = 4096,
                       .c = pack_nccl_call(i + 1, 0, 7, 0),
                       .d = pack_nccl_ranks(rank, 3, -1)});
      at_us += 200 + i % 13;
    }
    for (std::size_t from = 0; from < calls.size(); from += 30'000) {
      const std::size_t to = std::min(calls.size(), from + 30'000);
      file.calls(tid, from,
                 {calls.begin() + static_cast<std::ptrdiff_t>(from), calls.begin() + static_cast<std::ptrdiff_t>(to)});
    }
  }
  test::TestFolder folder_;
};

TEST_F(Cores, DoNotShowInTheReport) {
  for (int i = 0; i < kRanks; ++i) rank(i);
  const auto report = [this](unsigned cores) {
    const RunAnswer run = analyse_run(folder_.path().string(), {}, {.cores = cores});
    return report_json(run) + report_text(run, ReportOptions{true});
  };
  const std::string one = report(1);
  EXPECT_NE(one.find("\"count\": 70000"), std::string::npos);
  for (const unsigned cores : kCores) EXPECT_TRUE(report(cores) == one) << cores << " cores";
}

// Less makes it slower: what does not fit is read again.
TEST_F(Cores, AndMemoryDoNotShowInTheReportOfALargerRun) {
  for (int i = 0; i < kRanks; ++i) rank(i);
  const auto report = [this](std::size_t bytes) {
    MemoryBudget memory(bytes);
    const RunAnswer run = analyse_run(folder_.path().string(), {}, {.cores = 2, .memory = &memory});
    return report_json(run) + report_text(run, ReportOptions{true});
  };
  const std::string all = report(std::size_t{1} << 30);
  EXPECT_NE(all.find("\"dependency_ms\""), std::string::npos) << "chains of waits are in it";
  for (const std::size_t bytes : kBytes) EXPECT_TRUE(report(bytes) == all) << bytes << " bytes";
}

TEST_F(Cores, ShareTheThreadsOfOneTrace) {
  rank(0);
  const Trace trace = read_trace(folder_.file("r-1000-1.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  const ProcessAnswer one = analyse_process(timeline, symbols, 1), many = analyse_process(timeline, symbols, 4);
  EXPECT_EQ(one.launches.by_function.at("cuLaunchKernel"), 2u * kCalls);
  EXPECT_EQ(many.launches.by_function.at("cuLaunchKernel"), 2u * kCalls);
  EXPECT_EQ(one.launches.gap.total_ns(), many.launches.gap.total_ns());
  // One site of two threads, of which one is a task of its own.
  EXPECT_EQ(one.waits.at(0).time.count(), kCalls + 3u);
  EXPECT_EQ(many.waits.at(0).time.count(), kCalls + 3u);
  EXPECT_EQ(many.waits.at(0).waker_threads.at(ThreadKey{60, test::at_us(0)}), kCalls);
  EXPECT_EQ(one.hooks, many.hooks);
}

}  // namespace
}  // namespace hostprobe::analysis
