// gpu_ends: when work ended on the GPU by events of the probe's own, against what the simulated devices say; and that the events harm
// no program. No time of the host's is asserted: the device's clock is modelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "activity_rows.h"
#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

constexpr int kDevicePpm = 8;  // by which the device's clock, on which events are, runs faster than the account's

double on_account(std::uint64_t device_ns) { return static_cast<double>(device_ns) / (1 + 1e-6 * kDevicePpm); }

Victim timed(const std::string& how, const std::string& gpu = "events", const std::string& milliseconds = "2500") {
  return {.program = "driver_timed",
          .args = {how, milliseconds},
          .environment = {{"LD_LIBRARY_PATH", simnode_folder()},
                          {"SIMNODE_GPUS", "1"},
                          {"SIMNODE_KERNEL_US", "*=40"},
                          {"SIMNODE_ACTIVITIES", "."},
                          {"SIMNODE_DEVICE_PPM", std::to_string(kDevicePpm)},
                          {"SIMNODE_COUNTS", "counts"}},
          .probe = {{"HOSTPROBE_MODE", "trace"},
                    {"HOSTPROBE_TARGET", "all"},
                    {"HOSTPROBE_GPU", gpu},
                    {"HOSTPROBE_GPU_SAMPLE", "0"},
                    {"HOSTPROBE_BUDGET", "0"}},
          .limit = std::chrono::seconds{120}};
}

std::uint64_t number(const Call& call, const char* name) { return call.args.at(name).get<std::uint64_t>(); }

// ---- against the account of the device ------------------------------------------------------------------------------------------

struct Account {
  ActivityHead head{};
  std::map<std::uint32_t, std::vector<ActivityRow>> rows;  // of a thread, by launch_ns
  double ns_of(std::uint64_t ticks) const {
    const double rate =
        static_cast<double>(head.last_ns - head.start_ns) / static_cast<double>(head.last_ticks - head.start_ticks);
    return static_cast<double>(head.start_ns) +
           rate * (static_cast<double>(ticks) - static_cast<double>(head.start_ticks));
  }
};

Account account_in(const std::filesystem::path& folder) {
  Account account;
  for (const auto& file : activity_files(folder)) {
    std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&account.head), sizeof account.head);
    for (const ActivityRow& row : activity_rows(file)) account.rows[row.launch_tid].push_back(row);
  }
  for (auto& [tid, rows] : account.rows)
    std::stable_sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.launch_ns < b.launch_ns; });
  return account;
}

// Of the first that was launched by the thread in the call that began then.
std::optional<ActivityRow> work_of(const Account& account, const Call& end) {
  constexpr double kRateErrorNs = 1500;
  const double begin_ns = account.ns_of(number(end, "launch_ticks")) - kRateErrorNs;
  const auto& rows = account.rows.at(static_cast<std::uint32_t>(number(end, "launch_tid")));
  const auto found = std::find_if(
      rows.begin(), rows.end(), [&](const ActivityRow& row) { return static_cast<double>(row.launch_ns) >= begin_ns; });
  return found == rows.end() ? std::nullopt : std::optional{*found};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

constexpr double kMostErrorNs = 2000;

// Where each base stands on the device's clock.
std::map<std::uint64_t, double> compare_ends(const Account& account, const std::vector<Call>& ends) {
  std::map<std::uint64_t, std::vector<double>> begins;
  for (const Call& end : ends) {
    const auto work = work_of(account, end);
    if (work)
      begins[number(end, "base")].push_back(static_cast<double>(work->end_ns) - on_account(number(end, "device_ns")));
  }
  std::map<std::uint64_t, double> bases;
  std::size_t off = 0;
  for (const auto& [base, found] : begins) {
    bases[base] = median(found);
    for (const double each : found) off += std::abs(each - bases[base]) > kMostErrorNs;
  }
  // A busy machine may take the CPU between a call and its event.
  EXPECT_LE(20 * off, ends.size()) << off << " of " << ends.size();
  return bases;
}

// Each base lies between the two moments of the host that it comes with, and so long behind the one before it.
void compare_clocks(const Account& account, const std::vector<Call>& clocks,
                    const std::map<std::uint64_t, double>& bases) {
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const auto found = bases.find(number(clocks[i], "base"));
    if (found == bases.end()) continue;
    const std::uint64_t latest = number(clocks[i], "latest_ticks");
    EXPECT_GE(found->second, account.ns_of(number(clocks[i], "earliest_ticks")) - kMostErrorNs) << clocks[i].args;
    if (latest != 0) {
      EXPECT_LE(found->second, account.ns_of(latest) + kMostErrorNs) << clocks[i].args;
    }
    EXPECT_EQ(number(clocks[i], "device"), std::uint64_t{1} << 32) << "device 0, the first context";
    const auto before = i == 0 ? bases.end() : bases.find(number(clocks[i - 1], "base"));
    if (before == bases.end()) continue;
    EXPECT_NEAR(on_account(number(clocks[i], "since_ns")), found->second - before->second, 2 * kMostErrorNs);
  }
}

class GpuEnds : public testing::TestWithParam<const char*> {};

TEST_P(GpuEnds, AreThoseOfTheDevice) {
  const Pair pair(timed(GetParam()));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  const Dump all = dump(pair.run());
  const auto ends = all.of("hostprobe_gpu_end"), clocks = all.of("hostprobe_gpu_clock");
  EXPECT_GE(ends.size(), 60u) << "of two stretches; a busy machine makes them dearer, so that there are fewer";
  ASSERT_GE(clocks.size(), 2u) << "the base is renewed each second";
  const Account account = account_in(pair.probed.folder);
  const auto bases = compare_ends(account, ends);
  compare_clocks(account, clocks, bases);
}
INSTANTIATE_TEST_SUITE_P(Gpu, GpuEnds, testing::Values("full", "gaps"),
                         [](const auto& each) { return std::string(each.param); });

// ---- a setting ------------------------------------------------------------------------------------------------------------------

nlohmann::json driver_calls(const OneRun& one) {
  nlohmann::json all;
  for (const auto& entry : std::filesystem::directory_iterator(one.folder / "counts")) {
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    all = nlohmann::json::parse(text.substr(0, text.rfind('}') + 1));
  }
  return all;
}

TEST(GpuEndsOff, MakeNoCallOfTheDriver) {
  const Pair pair(timed("gaps", "off", "600"));
  expect_same(pair);
  const auto calls = driver_calls(pair.probed), bare = driver_calls(pair.bare);
  EXPECT_GT(calls.size(), 3u);
  std::vector<std::string> names, bare_names;
  for (const auto& [name, count] : calls.items())
    if (name != "cuFuncGetName") names.push_back(name);  // of kernels, once each
  for (const auto& [name, count] : bare.items()) bare_names.push_back(name);
  EXPECT_EQ(names, bare_names);
  EXPECT_EQ(calls.at("cuStreamCreate"), bare.at("cuStreamCreate"));
  EXPECT_TRUE(dump(pair.run()).of("hostprobe_gpu_end").empty());
}

TEST(GpuEndsOff, AreNotTakenInMonitor) {
  Victim victim = timed("gaps", "events", "600");
  victim.probe["HOSTPROBE_MODE"] = "monitor";
  const Pair pair(victim);
  expect_same(pair);
  EXPECT_FALSE(driver_calls(pair.probed).contains("cuEventRecord"));
}

// ---- programs that they could harm ----------------------------------------------------------------------------------------------

class GpuEndsBeside : public testing::TestWithParam<const char*> {};

// Each ends with an error when a call of its own fails.
TEST_P(GpuEndsBeside, HarmsNothing) {
  const Pair pair(timed(GetParam(), "events", "1500"));
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair);
  EXPECT_GE(dump(pair.run()).of("hostprobe_gpu_end").size(), 60u);
}
INSTANTIATE_TEST_SUITE_P(Gpu, GpuEndsBeside,
                         testing::Values("legacy", "streams", "contexts", "storm", "hung", "forks", "capture"),
                         [](const auto& each) { return std::string(each.param); });

// Contexts have numbers of their own, and so have their bases.
TEST(GpuEndsOfContexts, AreKeptApart) {
  const Pair pair(timed("contexts", "events", "1500"));
  expect_same(pair);
  std::map<std::uint64_t, std::uint64_t> first;
  for (const Call& clock : dump(pair.run()).of("hostprobe_gpu_clock")) {
    if (number(clock, "since_ns") == 0) first[number(clock, "device") >> 32] = number(clock, "base");
  }
  EXPECT_GE(first.size(), 3u);
}

// What a capture takes is in no stream yet.
TEST(GpuEndsOfCaptures, AreNone) {
  const Pair pair(timed("capture", "events", "1500"));
  const Dump all = dump(pair.run());
  std::map<std::string, std::size_t> streams;
  for (const Call& call : all.of("cuStreamCreate")) EXPECT_EQ(call.args.at("flags"), 1) << call.args;
  for (const Call& end : all.of("hostprobe_gpu_end")) ++streams[end.text("stream")];
  EXPECT_EQ(streams.size(), 1u);
}

}  // namespace
}  // namespace hostprobe::test
