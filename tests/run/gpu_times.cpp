// gpu_times: what a few collectives took on the GPU by events of the probe's own, against what the simulated devices say. No time
// of the host's is asserted: the device's clock is modelled, and each sample says by how much it may be too long.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "activity_rows.h"
#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

// Some four seconds, of which the first two are left alone.
Victim steps(const std::string& samples) {
  return {.program = "makes_steps",
          .args = {"sharded", "300"},
          .environment = {{"LD_LIBRARY_PATH", simnode_folder()},
                          {"SIMNODE_GPUS", "2"},
                          {"SIMNODE_LINK_US",
                           "10"},  // so that collectives are long enough to be told from what is round them
                          {"SIMNODE_KERNEL_US", "layer=40;gradient=40;*=10"}},
          .probe = {{"HOSTPROBE_MODE", "trace"},
                    {"HOSTPROBE_TARGET", "all"},
                    {"HOSTPROBE_GPU_SAMPLE", samples},
                    {"HOSTPROBE_BUDGET", "0"},
                    kAccountInRun},
          .limit = std::chrono::seconds{120}};
}

using Rows = std::map<long long, std::vector<ActivityRow>>;  // kernels of collectives, by the thread that launched them

Rows collective_kernels(const std::filesystem::path& run_folder) {
  Rows rows;
  for (const auto& file : activity_files(run_folder))
    for (const ActivityRow& row : activity_rows(file))
      if ((row.flags & kActivityCollective) != 0) rows[row.launch_tid].push_back(row);
  return rows;
}

// The call that a sample is of.
const Call* call_of(const std::vector<Call>& calls, const Call& sample) {
  for (const Call& call : calls)
    if (call.pid == sample.pid && call.args.at("comm") == sample.args.at("comm") &&
        call.args.at("call").at("sequence") == sample.args.at("sequence"))
      return &call;
  return nullptr;
}

// Never less than the truth; whether it is more than it says.
void compare(const Call& sample, const std::vector<Call>& calls, const Rows& rows, std::size_t& too_long) {
  const Call* call = call_of(calls, sample);
  ASSERT_NE(call, nullptr) << sample.args;
  ASSERT_TRUE(rows.contains(call->tid)) << "the account has nothing of thread " << call->tid;
  const auto& own = rows.at(call->tid);
  const auto kernel = std::find_if(own.begin(), own.end(), [&](const ActivityRow& row) {
    const auto at = static_cast<std::int64_t>(row.launch_ns);
    return at >= call->begin_ns && at <= call->begin_ns + call->duration_ns;
  });
  ASSERT_NE(kernel, own.end()) << sample.args;
  constexpr double kRoundingNs = 1000;  // of the driver's milliseconds, and of ticks
  const auto truth = static_cast<double>(kernel->end_ns - kernel->begin_ns);
  const double most = sample.args.at("gpu_ns"), slack = sample.args.at("slack_ns");
  EXPECT_LE(truth, most + kRoundingNs) << sample.args;
  too_long += truth < most - slack - kRoundingNs;
}

TEST(GpuTimes, AreThoseOfTheDeviceWithinWhatTheySay) {
  const Pair pair(steps("1000"));
  EXPECT_TRUE(pair.probed.outcome.exited_with(0)) << pair.probed.outcome.describe();
  expect_same(pair);
  const Dump all = dump(pair.run());
  std::vector<Call> calls;
  for (const char* function : {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter"})
    for (const Call& call : all.of(function)) calls.push_back(call);
  const Rows rows = collective_kernels(pair.run());
  const auto samples = all.of("hostprobe_gpu_time");
  EXPECT_GE(samples.size(), 10u);
  std::size_t too_long = 0;
  for (const Call& sample : samples) compare(sample, calls, rows, too_long);
  // On a busy machine the simulated device may say late that it has reached an event.
  EXPECT_LE(20 * too_long, samples.size());
  const auto answers = report(pair.run());
  std::uint64_t sampled = 0, joined = 0;
  for (const auto& one : answers.at("collectives")) {
    if (one.at("sampled").is_null()) continue;
    sampled += one.at("sampled").at("count").get<std::uint64_t>();
    joined += one.at("sampled").at("operations").get<std::uint64_t>();
  }
  EXPECT_GT(sampled, 0u);
  EXPECT_LE(sampled, samples.size()) << "those that are known too badly are left out";
  EXPECT_GT(joined, 0u) << "the ranks time the same collectives";
}

TEST(GpuTimes, AreNotTakenWhereThatIsSwitchedOff) {
  const Pair pair(steps("0"));
  expect_same(pair);
  EXPECT_TRUE(dump(pair.run()).of("hostprobe_gpu_time").empty());
}

}  // namespace
}  // namespace hostprobe::test
