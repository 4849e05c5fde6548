// budget: what hostprobe gives up to keep to HOSTPROBE_BUDGET, in which order, and that every call is still counted. When
// it gives up what is tried on made-up costs in unit/probe_budget.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "answers.h"
#include "format/file.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

struct Told {
  std::vector<EventRow> detail;                                            // events about detail, in order
  std::map<std::pair<std::uint32_t, std::uint64_t>, ThreadEntry> threads;  // the latest entry of each

  std::uint64_t skipped() const {
    std::uint64_t sum = 0;
    for (const auto& [key, entry] : threads) sum += entry.skipped;
    return sum;
  }
};

template <class Row>
std::vector<Row> rows_of(const std::string& payload) {
  std::vector<Row> rows(payload.size() / sizeof(Row));
  std::memcpy(rows.data(), payload.data(), rows.size() * sizeof(Row));
  return rows;
}

Told read_told(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Told told;
  BlockHead head;
  for (std::size_t at = kFileHeaderBytes; at + sizeof head <= bytes.size(); at += sizeof head + head.payload_bytes) {
    std::memcpy(&head, bytes.data() + at, sizeof head);
    const std::string payload = bytes.substr(at + sizeof head, head.payload_bytes);
    if (head.kind == kBlockEvents)
      for (const EventRow& row : rows_of<EventRow>(payload))
        // Threads that switch too often lose their switches from the start, whatever is known of the cost; that is told without one.
        if (row.kind == kEventDetail && row.amount > 0) told.detail.push_back(row);
    if (head.kind == kBlockThreads)
      for (const ThreadEntry& entry : rows_of<ThreadEntry>(payload))
        told.threads[{entry.tid, entry.start_ticks}] = entry;
  }
  return told;
}

class Budget : public testing::Test {
 protected:
  OneRun launch_many(const char* seconds, const char* budget) {
    return run_probed({.program = "driver_many",
                       .args = {seconds},
                       .environment = {{"LD_LIBRARY_PATH", simnode_folder()}, {"SIMNODE_GPUS", "1"}},
                       .probe = {{"HOSTPROBE_BUDGET", budget}, {"HOSTPROBE_BUFFER_MB", "128"}}},
                      scratch_);
  }
  Told told() const { return read_told(trace_files(scratch_.run()).at(0)); }

  // Lost ones are not known by function, so they may be any.
  void expect_all_counted(const OneRun& run) const {
    const auto answers = report(scratch_.run());
    const std::uint64_t launches = launches_by_function(answers)["cuLaunchKernel"];
    const std::uint64_t sleeps = blocked_count(answers, "usleep"), lost = lost_count(answers);
    const auto made = static_cast<std::uint64_t>(run.number("launches"));
    const auto slept = static_cast<std::uint64_t>(run.number("sleeps"));
    EXPECT_LE(launches, made);
    EXPECT_GE(launches + lost, made);
    EXPECT_LE(sleeps, slept);
    EXPECT_GE(sleeps + lost, slept);
  }

  std::uint64_t gaps_unknown() const {
    const auto answers = report(scratch_.run());
    std::uint64_t sum = 0;
    for (const auto& process : answers["processes"]) sum += process["launches"]["gaps_unknown"].get<std::uint64_t>();
    return sum;
  }

  ScratchFolder scratch_;
};

// Switches and stacks go before, where they are a part of the cost that is worth it.
TEST_F(Budget, ShortWaitsThenLaunchesAreShedAndEveryCallIsCounted) {
  const OneRun run = launch_many("17", "0.01");
  ASSERT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  Told found = told();
  std::erase_if(found.detail, [](const EventRow& row) { return row.number < 3; });
  ASSERT_EQ(found.detail.size(), 2u);
  const char* const texts[] = {"no samples, < 100 us aggregated: hostprobe takes ", "launches are sampled, 1 in 4: "};
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.detail[i].number, i + 3);
    EXPECT_GT(found.detail[i].amount, 10u);
    const std::string text = found.detail[i].text;
    EXPECT_TRUE(text.starts_with(texts[i])) << text;
    EXPECT_TRUE(text.ends_with(" % of threads' time, 0.01 % is allowed") ||
                text.ends_with(" % of CPU time, 0.02 % is allowed"))
        << text;
  }
  EXPECT_GT(found.skipped(), 0u);
  expect_all_counted(run);
  EXPECT_GT(gaps_unknown(), 0u) << "launches that were left out are no gap";
}

TEST_F(Budget, OfNothingIsNoLimit) {
  const OneRun run = launch_many("8", "0");
  ASSERT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  EXPECT_TRUE(told().detail.empty());
  EXPECT_EQ(told().skipped(), 0u);
  expect_all_counted(run);
}

TEST_F(Budget, OfAShortProgramIsNotAsked) {
  const OneRun run = launch_many("2", "0.001");
  ASSERT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  EXPECT_TRUE(told().detail.empty());
  expect_all_counted(run);
}

}  // namespace
}  // namespace hostprobe::test
