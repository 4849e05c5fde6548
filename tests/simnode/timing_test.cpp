// What the simulated driver does to times as a real one does: events that cost time, latencies, spread, drift, stretching, a
// bounded queue, a device's clock. Settings are read once in a process, so each case runs in a child that has its own; all
// that a case does not set is exact (exact_times.h).
#include "exact_times.h"
#include "node_test.h"
#include "simnode.h"
#include "support/activity_rows.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

namespace {

using Settings = std::map<std::string, std::string>;

using hostprobe::ActivityRow;

// The folder of a process's account of its devices (SIMNODE_ACTIVITIES).
class Account {
 public:
  Account() {
    char made[] = "/tmp/simnode-account-XXXXXX";
    path_ = mkdtemp(made);
  }
  ~Account() { std::filesystem::remove_all(path_); }
  std::pair<const std::string, std::string> setting() const { return {"SIMNODE_ACTIVITIES", path_}; }
  // In the order in which they were written, which is that in which they left their streams.
  std::vector<ActivityRow> rows() const {
    std::vector<ActivityRow> all;
    for (const auto& file : hostprobe::test::activity_files(path_))
      for (const ActivityRow& row : hostprobe::test::activity_rows(file)) all.push_back(row);
    return all;
  }

 private:
  std::string path_;
};

double duration_us(const ActivityRow& row) { return static_cast<double>(row.end_ns - row.begin_ns) / 1000; }

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

class Node : public NodeTest {
 public:
  Node() { NodeTest::SetUp(); }
  using NodeTest::elapsed_us;
  using NodeTest::event;
  using NodeTest::launch;
  using NodeTest::recorded;
  using NodeTest::stream;

  // Holds a stream until the gate is opened, so that nothing depends on this machine's speed.
  CUevent hold(CUstream where, Gate& gate) {
    EXPECT_EQ(cuLaunchHostFunc(where, Gate::wait, &gate), CUDA_SUCCESS);
    return recorded(where);
  }
  // Modelled duration of each of some kernels, by events that cost nothing.
  std::vector<double> durations_us(CUstream where, const char* kernel, int count) {
    Gate gate;
    std::vector<CUevent> events{hold(where, gate)};
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(launch(kernel, where), CUDA_SUCCESS);
      events.push_back(recorded(where));
    }
    gate.open = true;
    EXPECT_EQ(cuEventSynchronize(events.back()), CUDA_SUCCESS);
    std::vector<double> all;
    for (size_t i = 1; i < events.size(); ++i) all.push_back(elapsed_us(events[i - 1], events[i]));
    return all;
  }

 private:
  void TestBody() override {}
};

void with(const Settings& settings, const std::function<void(Node&)>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    make_times_exact();
    setenv("SIMNODE_LAUNCH_US", "0", 1);
    setenv("SIMNODE_KERNEL_US", kSettings, 1);
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    Node node;
    body(node);
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

double deviation(const std::vector<double>& all) {
  double squares = 0;
  for (double one : all) squares += (one - mean(all)) * (one - mean(all));
  return std::sqrt(squares / static_cast<double>(all.size() - 1));
}

TEST(EventCost, KeepsTheCallingThreadBusy) {
  with({{"SIMNODE_EVENT_US", "200"}}, [](Node& node) {
    CUstream one = node.stream();
    CUevent end = node.event();
    const int64_t before_ns = now_ns();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(cuEventRecord(end, one), CUDA_SUCCESS);
    EXPECT_GE(now_ns() - before_ns, 10 * 200000);
    const int64_t query_ns = now_ns();
    for (int i = 0; i < 1000; ++i) cuEventQuery(end);
    EXPECT_GE(now_ns() - query_ns, 1000 * 300);
  });
}

TEST(EventCost, OnTheDeviceMovesTheStreamsClock) {
  with({{"SIMNODE_EVENT_DEVICE_US", "5"}}, [](Node& node) {
    CUstream one = node.stream();
    Gate gate;
    CUevent start = node.hold(one, gate);
    for (int i = 0; i < 9; ++i) node.recorded(one);
    EXPECT_EQ(node.launch("k100", one), CUDA_SUCCESS);
    CUevent end = node.recorded(one);
    gate.open = true;
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(node.elapsed_us(start, end), 9 * 5 + 100 + 5);
  });
}

TEST(EventResolution, MakesTimesMultiplesOfATick) {
  with({{"SIMNODE_EVENT_RESOLUTION_US", "0.5"}, {"SIMNODE_SPREAD_PCT", "10"}}, [](Node& node) {
    double sum = 0;
    for (double us : node.durations_us(node.stream(), "k10", 100)) {
      EXPECT_NEAR(us * 2, std::round(us * 2), 1e-3) << us;
      sum += us;
    }
    EXPECT_NEAR(sum, 1000, 50) << "ticks do not add up to an error";
  });
}

TEST(ElapsedTime, IsRefusedForEventsOfTwoContexts) {
  with({}, [](Node& node) {
    CUevent here = node.recorded(nullptr), there;
    CUcontext other;
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(make_context(&other, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&there, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(there, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    float ms;
    EXPECT_EQ(cuEventElapsedTime(&ms, here, there), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST(StartLatency, LiesBeforeWorkInAnEmptyStreamAndNotBehindOtherWork) {
  with({{"SIMNODE_START_US", "20000"}}, [](Node& node) {
    CUstream one = node.stream();
    const int64_t before_ns = now_ns();
    EXPECT_EQ(node.launch("k10", one), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(one), CUDA_SUCCESS);
    EXPECT_GE(now_ns() - before_ns, 20010000);
    EXPECT_EQ(node.launch("slow", one), CUDA_SUCCESS);  // lasts longer than the latency of what is submitted meanwhile
    CUevent start = node.recorded(one);
    EXPECT_EQ(node.launch("k100", one), CUDA_SUCCESS);
    CUevent end = node.recorded(one);
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(node.elapsed_us(start, end), 100);
  });
}

TEST(StartLatency, OfEventsIsTheirOwn) {
  with({{"SIMNODE_START_US", "0"}, {"SIMNODE_EVENT_START_US", "20000"}}, [](Node& node) {
    CUevent mark = node.recorded(node.stream());
    const int64_t before_ns = now_ns();
    EXPECT_EQ(cuEventQuery(mark), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuEventSynchronize(mark), CUDA_SUCCESS);
    EXPECT_GE(now_ns() - before_ns, 10000000);
  });
}

TEST(BehindLatency, LiesBetweenKernelsCopiesAndStreams) {
  with({{"SIMNODE_BEHIND_US", "7"}}, [](Node& node) {
    CUstream one = node.stream(), two = node.stream();
    Gate gate;
    CUevent start = node.hold(one, gate);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(node.launch("k10", one), CUDA_SUCCESS);
    CUevent middle = node.recorded(one);
    EXPECT_EQ(cuStreamWaitEvent(two, middle, 0), CUDA_SUCCESS);
    EXPECT_EQ(node.launch("k10", two), CUDA_SUCCESS);
    CUevent end = node.recorded(two);
    gate.open = true;
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(node.elapsed_us(start, middle), 4 * 17);
    EXPECT_FLOAT_EQ(node.elapsed_us(middle, end), 17);
  });
}

// Queued behind a host function, and where the stream is empty: two ways through the model.
TEST(BehindLatency, LiesBetweenDependentNodesOfAGraph) {
  with({{"SIMNODE_BEHIND_US", "7"}}, [](Node& node) {
    CUstream one = node.stream();
    CUgraph graph;
    CUgraphExec executable;
    EXPECT_EQ(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(node.launch("k10", one), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    Gate gate;
    CUevent start = node.hold(one, gate);
    EXPECT_EQ(cuGraphLaunch(executable, one), CUDA_SUCCESS);
    CUevent end = node.recorded(one);
    gate.open = true;
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(node.elapsed_us(start, end), 3 * 17);
    EXPECT_EQ(node.launch("slow", one), CUDA_SUCCESS);
    start = node.recorded(one);
    EXPECT_EQ(cuGraphLaunch(executable, one), CUDA_SUCCESS);
    end = node.recorded(one);
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(node.elapsed_us(start, end), 3 * 17);
  });
}

TEST(Spread, HasItsStandardDeviationAndKeepsTheMean) {
  with({{"SIMNODE_SPREAD_PCT", "5"}}, [](Node& node) {
    std::vector<double> all = node.durations_us(node.stream(), "k100", 1000);
    EXPECT_NEAR(mean(all), 100, 1);
    EXPECT_NEAR(deviation(all), 5, 0.5);
  });
}

TEST(Spread, NeverTakesAKernelBelowThreeTenths) {
  with({{"SIMNODE_SPREAD_PCT", "100"}}, [](Node& node) {
    std::vector<double> all = node.durations_us(node.stream(), "k100", 500);
    EXPECT_NEAR(*std::min_element(all.begin(), all.end()), 30, 0.01);
  });
}

TEST(Spread, IsTheSameInEachRunAndAnotherWithAnotherSeedAndInAnotherStream) {
  std::vector<std::vector<double>> runs;
  for (const char* seed : {"1", "1", "2"}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    with({{"SIMNODE_SPREAD_PCT", "5"}, {"SIMNODE_SEED", seed}}, [&](Node& node) {
      std::vector<double> one = node.durations_us(node.stream(), "k100", 20);
      std::vector<double> two = node.durations_us(node.stream(), "k100", 20);
      EXPECT_NE(one, two);
      EXPECT_EQ(write(ends[1], one.data(), 20 * sizeof(double)), 20 * static_cast<ssize_t>(sizeof(double)));
    });
    close(ends[1]);
    runs.emplace_back(20);
    EXPECT_EQ(read(ends[0], runs.back().data(), 20 * sizeof(double)), 20 * static_cast<ssize_t>(sizeof(double)));
    close(ends[0]);
  }
  for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(runs[0][i], runs[1][i], 0.1) << "but for the float's resolution";
  EXPECT_GT(std::abs(runs[0][0] - runs[2][0]) + std::abs(runs[0][1] - runs[2][1]), 0.2);
}

// 40 s of the stream's clock, submitted at once, and read from the account, where each kernel stands at once.
TEST(Drift, IsSlowAndComesBackAfterTwentySeconds) {
  Account account;
  with({{"SIMNODE_DRIFT_PCT", "10"}, {"SIMNODE_KERNEL_US", "*=100000"}, account.setting()}, [&](Node& node) {
    for (int i = 0; i < 400; ++i) EXPECT_EQ(node.launch("k10", nullptr), CUDA_SUCCESS);
    const std::vector<ActivityRow> rows = account.rows();
    ASSERT_EQ(rows.size(), 400u);
    double shortest_ms = 1e9, longest_ms = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double ms = duration_us(rows[i]) / 1000;
      shortest_ms = std::min(shortest_ms, ms);
      longest_ms = std::max(longest_ms, ms);
      if (i > 0) {
        EXPECT_NEAR(ms, duration_us(rows[i - 1]) / 1000, 0.5) << "within a tenth of a second";
      }
      if (i + 200 < rows.size()) {
        EXPECT_NEAR(ms, duration_us(rows[i + 200]) / 1000, 1) << "20 s later";
      }
    }
    EXPECT_NEAR(shortest_ms, 90, 0.2);
    EXPECT_NEAR(longest_ms, 110, 0.2);
  });
}

// A kernel of 1 ms meets one of 30 ms in another stream at once: what is computed later is stretched, by all of its length.
// One that is longer is stretched in its first part only.
TEST(Overlap, StretchesThePartOfAKernelDuringWhichAnotherStreamComputes) {
  with({{"SIMNODE_OVERLAP_STRETCH", "1.5"}, {"SIMNODE_KERNEL_US", "k1000=1000;slow=30000;bad=50000;*=10"}},
       [](Node& node) {
         CUstream one = node.stream(), two = node.stream();
         Gate gate;
         CUevent start = node.hold(one, gate);
         EXPECT_EQ(node.launch("slow", one), CUDA_SUCCESS);
         CUevent end_one = node.recorded(one);
         EXPECT_EQ(cuStreamWaitEvent(two, start, 0), CUDA_SUCCESS);
         gate.open = true;
         EXPECT_EQ(cuEventSynchronize(end_one), CUDA_SUCCESS);
         EXPECT_EQ(node.launch("k1000", one), CUDA_SUCCESS);
         CUevent end_short = node.recorded(one);
         EXPECT_EQ(cuEventSynchronize(end_short), CUDA_SUCCESS);
         EXPECT_FLOAT_EQ(node.elapsed_us(start, end_one), 30000) << "alone, or computed first";

         EXPECT_EQ(node.launch("slow", one), CUDA_SUCCESS);
         CUevent before = node.event(), after_short = node.event(), after_long = node.event();
         EXPECT_EQ(cuEventRecord(before, two), CUDA_SUCCESS);
         EXPECT_EQ(node.launch("k1000", two), CUDA_SUCCESS);
         EXPECT_EQ(cuEventRecord(after_short, two), CUDA_SUCCESS);
         EXPECT_EQ(node.launch("bad", two), CUDA_SUCCESS);
         EXPECT_EQ(cuEventRecord(after_long, two), CUDA_SUCCESS);
         end_one = node.recorded(one);
         EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
         EXPECT_NEAR(node.elapsed_us(before, after_short), 1500, 20) << "but for the time until it was submitted";
         const double shared_us = node.elapsed_us(after_short, end_one);
         EXPECT_NEAR(node.elapsed_us(after_short, after_long), shared_us + 50000 - shared_us / 1.5, 1);
       });
}

TEST(Overlap, StretchesNothingInOneStreamAndNoCopies) {
  Account account;
  with({{"SIMNODE_OVERLAP_STRETCH", "1.5"}, account.setting()}, [&](Node& node) {
    CUstream one = node.stream(), two = node.stream();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(node.launch("k1000", one), CUDA_SUCCESS);
    CUdeviceptr memory;
    EXPECT_EQ(cuMemAlloc(&memory, 1 << 20), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8Async(memory, 1, 1 << 20, two), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8Async(memory, 1, 1 << 20, one), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    std::vector<double> fills_us;
    for (const ActivityRow& row : account.rows())
      if (row.type == hostprobe::kActivityKernel)
        EXPECT_FLOAT_EQ(duration_us(row), 1000);
      else
        fills_us.push_back(duration_us(row));
    ASSERT_EQ(fills_us.size(), 2u);
    EXPECT_FLOAT_EQ(fills_us[0], fills_us[1]);
  });
}

// As a collective: its function may wait, and says when it ends.
TEST(Overlap, LeavesWaitingKernelsOut) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  Account account;
  with({{"SIMNODE_OVERLAP_STRETCH", "1.5"}, account.setting()}, [&](Node& node) {
    simnode_register_kernel_function wait = nullptr;
    *reinterpret_cast<void**>(&wait) = dlsym(driver, "simnode_register_waiting_kernel");
    ASSERT_NE(wait, nullptr);
    simnode_kernel five_ms = [](const simnode_launch* launch, void*) {
      *launch->end_ns = launch->start_ns + 5000000;
      return 0;
    };
    EXPECT_EQ(wait("slow", five_ms, nullptr), 0);
    CUstream one = node.stream(), two = node.stream();
    EXPECT_EQ(node.launch("slow", one), CUDA_SUCCESS);
    usleep(1000);  // it is under way on the stream's thread, and 5 ms long
    EXPECT_EQ(node.launch("k1000", two), CUDA_SUCCESS);
    EXPECT_EQ(node.launch("slow", two), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    for (const ActivityRow& row : account.rows())
      EXPECT_FLOAT_EQ(duration_us(row), row.flags == hostprobe::kActivityCollective ? 5000 : 1000);
    EXPECT_EQ(account.rows().size(), 3u);
  });
}

TEST(Account, HasTheTimesThatEventsShow) {
  Account account;
  with({{"SIMNODE_SPREAD_PCT", "10"},
        {"SIMNODE_DRIFT_PCT", "5"},
        {"SIMNODE_BEHIND_US", "0.8"},
        {"SIMNODE_START_US", "3"},
        {"SIMNODE_OVERLAP_STRETCH", "1.3"},
        account.setting()},
       [&](Node& node) {
         CUstream two = node.stream();
         EXPECT_EQ(node.launch("slow", two), CUDA_SUCCESS);
         std::vector<double> seen = node.durations_us(node.stream(), "k100", 50);
         EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
         const std::vector<ActivityRow> rows = account.rows();
         ASSERT_EQ(rows.size(), 51u);
         for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(duration_us(rows[i + 1]), seen[i] - 0.8, 0.1);
       });
}

// Ten places: the eleventh launch waits until the first kernel has ended, and no longer.
TEST(Queue, WithoutAPlaceLetsTheCallerWaitForOne) {
  for (unsigned wait : {CU_CTX_SCHED_SPIN, CU_CTX_SCHED_YIELD, CU_CTX_SCHED_BLOCKING_SYNC})
    with({{"SIMNODE_QUEUE", "10"}}, [&](Node& node) {
      CUcontext other;
      CUmodule module;
      CUfunction slow;
      EXPECT_EQ(make_context(&other, wait, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
      EXPECT_EQ(cuModuleGetFunction(&slow, module, "slow"), CUDA_SUCCESS);
      const int64_t before_ns = now_ns();
      for (int i = 0; i < 10; ++i) EXPECT_EQ(node.launch(slow, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
      for (int i = 0; i < 2; ++i) EXPECT_EQ(node.launch(slow, nullptr), CUDA_SUCCESS);
      EXPECT_GE(now_ns() - before_ns, 60000000) << "two of 30 ms";
      EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY) << "ten are still there";
    });
}

TEST(Queue, CountsGraphLaunchesAndWhatWaitsInTheQueue) {
  with({{"SIMNODE_QUEUE", "4"}}, [](Node& node) {
    CUstream one = node.stream();
    CUgraph graph;
    CUgraphExec executable;
    EXPECT_EQ(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(node.launch("k1000", one), CUDA_SUCCESS) << "a capture has no bounds";
    EXPECT_EQ(cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchHostFunc(
                  one, [](void*) { usleep(50000); }, nullptr),
              CUDA_SUCCESS);
    const int64_t before_ns = now_ns();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(cuGraphLaunch(executable, one), CUDA_SUCCESS);
    EXPECT_GE(now_ns() - before_ns, 50000000) << "the host function and a graph";
    EXPECT_EQ(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuStreamSynchronize(one), CUDA_SUCCESS);
  });
}

// Where a real driver hangs for ever: the launches behind the gate wait for what their own thread does later.
TEST(Queue, IsGivenUpAfterASecondWhereItsFrontWaitsForTheCaller) {
  with({{"SIMNODE_QUEUE", "4"}}, [](Node& node) {
    CUstream one = node.stream();
    Gate gate;
    node.hold(one, gate);
    const int64_t before_ns = now_ns();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(node.launch("k10", one), CUDA_SUCCESS);
    EXPECT_GE(now_ns() - before_ns, 1000000000);
    EXPECT_LT(now_ns() - before_ns, 20000000000) << "once, not for each launch";
    gate.open = true;
    EXPECT_EQ(cuStreamSynchronize(one), CUDA_SUCCESS);
    EXPECT_EQ(node.launch("k10", one), CUDA_SUCCESS);
  });
}

TEST(DevicesClock, RunsFasterOrSlowerThanTheHosts) {
  for (const double ppm : {10000.0, -10000.0})
    with({{"SIMNODE_DEVICE_PPM", std::to_string(ppm)}}, [&](Node& node) {
      for (double us : node.durations_us(node.stream(), "k1000", 3)) EXPECT_NEAR(us, 1000 * (1 + ppm / 1e6), 0.1);
    });
}

// As nobody sets anything: an event, the pause and the kernel, within three standard deviations and ticks.
TEST(Defaults, AreThoseOfAnH200) {
  with({{"SIMNODE_EVENT_US", ""},
        {"SIMNODE_EVENT_DEVICE_US", ""},
        {"SIMNODE_EVENT_RESOLUTION_US", ""},
        {"SIMNODE_START_US", ""},
        {"SIMNODE_EVENT_START_US", ""},
        {"SIMNODE_BEHIND_US", ""},
        {"SIMNODE_SPREAD_PCT", ""},
        {"SIMNODE_DRIFT_PCT", ""},
        {"SIMNODE_OVERLAP_STRETCH", ""},
        {"SIMNODE_QUEUE", ""},
        {"SIMNODE_DEVICE_PPM", ""}},
       [](Node& node) {
         std::vector<double> all = node.durations_us(node.stream(), "k100", 400);
         EXPECT_NEAR(mean(all), 102.7, 1.4);
         EXPECT_NEAR(deviation(all), 2, 0.5);
         for (double us : all) EXPECT_NEAR(us / 0.032, std::round(us / 0.032), 0.02);
       });
}

}  // namespace
