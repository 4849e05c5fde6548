// probe/sources/frequency and machine_load: what the kernel writes of threads and of the machine, and what it never writes.
#include "probe/sources/frequency.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "probe/sources/machine_load.h"

namespace hostprobe::probe {
namespace {

// As /proc/…/stat has it: 52 fields, of which 39 is the CPU and 41 the class.
std::string stat_line(const char* name, char state, int cpu, int policy, int fields = 52) {
  std::string line = std::string("17 (") + name + ") " + state;
  for (int field = 4; field <= fields; ++field)
    line += " " + std::to_string(field == 39 ? cpu : field == 41 ? policy : field == 8 ? -1 : field);
  return line + "\n";
}

TEST(Frequency, KnowsTheCpuOfAThreadThatRuns) {
  unsigned cpu = 0;
  EXPECT_TRUE(runs_on(stat_line("python3", 'R', 7, 0).c_str(), cpu));
  EXPECT_EQ(cpu, 7u);
  EXPECT_TRUE(runs_on(stat_line("a) R (b", 'R', 191, 3).c_str(), cpu))
      << "names hold anything; batch jobs get their turn";
  EXPECT_EQ(cpu, 191u);
}

TEST(Frequency, IsNotMeasuredBesideThreadsThatWaitOrGiveNothingAway) {
  unsigned cpu = 0;
  EXPECT_FALSE(runs_on(stat_line("python3", 'S', 7, 0).c_str(), cpu));
  EXPECT_FALSE(runs_on(stat_line("x) R (", 'S', 7, 0).c_str(), cpu));
  for (const int policy : {1, 2, 5, 6}) EXPECT_FALSE(runs_on(stat_line("p", 'R', 7, policy).c_str(), cpu)) << policy;
}

TEST(Frequency, RefusesLinesThatAreCut) {
  unsigned cpu = 0;
  for (const char* line : {"", "17", "17 (a", "17 (a)", "17 (a) R", "17 (a) R ", "17 (a) R 4 5\n"})
    EXPECT_FALSE(runs_on(line, cpu)) << line;
  const std::string whole = stat_line("a", 'R', 7, 0, 41);
  for (std::size_t bytes = 0; bytes + 3 < whole.size(); ++bytes)
    EXPECT_FALSE(runs_on(whole.substr(0, bytes).c_str(), cpu)) << bytes;
}

TEST(Frequency, IsTheQuickestChainOnWhichAnotherAgrees) {
  const auto agreed = [](std::vector<std::uint32_t> ticks) { return agreed_ticks(ticks.data(), ticks.size()); };
  EXPECT_EQ(agreed({5810, 5800, 90000}), 5800u);
  EXPECT_EQ(agreed({5800, 5800, 5800}), 5800u);
  EXPECT_EQ(agreed({5800, 5916, 90000}), 5800u);
  EXPECT_EQ(agreed({5800, 5917, 90000}), 0u) << "something came between";
  EXPECT_EQ(agreed({5800}), 0u);
  EXPECT_EQ(agreed({}), 0u);
  EXPECT_EQ(agreed({0, UINT32_MAX - 1}), 0u);
}

TEST(MachineLoad, ReadsWhatTheKernelCounts) {
  MachineRow row;
  std::memset(&row, 0xff, sizeof row);
  parse_stat_line("cpu  266246 0 46750 120241 2552 3 688 431 0 0", 10000000, row);
  parse_stat_line("cpu0 1 2 3 4 5 6 7 8 9 10", 10000000, row);
  parse_stat_line("intr 4135971 0 0 0 1", 10000000, row);
  parse_stat_line("softirq 770 1 2 3", 10000000, row);
  parse_stat_line("ctxt 99", 10000000, row);
  EXPECT_EQ(row.interrupt_ns, 30'000'000u);
  EXPECT_EQ(row.soft_interrupt_ns, 6'880'000'000u);
  EXPECT_EQ(row.steal_ns, 4'310'000'000u);
  EXPECT_EQ(row.interrupts, 4135971u);
  EXPECT_EQ(row.soft_interrupts, 770u);
  std::uint64_t some = 0, full = 0;
  parse_pressure(
      "some avg10=75.16 avg60=58.11 avg300=29.47 total=739631389\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
      &some, &full);
  EXPECT_EQ(some, 739631389u);
  EXPECT_EQ(full, 12u);
}

TEST(MachineLoad, CountsCpusAndTheTimeTheyAreIdle) {
  CpuLines cpus{};
  for (const char* line : {"cpu  266246 0 46750 120241 2552 3 688 431 0 0", "cpu0 1 2 3 4 5 6 7 8 9 10",
                           "cpu1 1 2 3 4 5 6 7 8 9 10", "cpus 1 2 3 4 5", "cpu  1 2", "intr 99"})
    parse_cpu_line(line, 10'000'000, cpus);
  EXPECT_EQ(cpus.count, 2u);
  EXPECT_EQ(cpus.idle_ns, 1'227'930'000'000u) << "what waits for a disk leaves its CPU idle";
}

TEST(MachineLoad, KnowsNothingOfWhatIsNotThere) {
  MachineRow row;
  std::memset(&row, 0xff, sizeof row);
  for (const char* line : {"", "cpu", "cpu  1 2 3 4 5 6 7", "cpu  a", "intr", "softirqs 7", "interrupt 3"})
    parse_stat_line(line, 10000000, row);
  EXPECT_EQ(row.steal_ns, kNotReadable) << "a kernel that counts no stolen time";
  EXPECT_EQ(row.soft_interrupts, kNotReadable);
  std::uint64_t some = 0, full = 0;
  for (const char* text : {"", "some", "some avg10=0.00\nfull total=7\n", "total=5"}) {
    parse_pressure(text, &some, &full);
    EXPECT_EQ(some, kNotReadable) << text;
  }
  parse_pressure("some avg10=0.00 total=7\n", &some, &full);
  EXPECT_EQ(some, 7u);
  EXPECT_EQ(full, kNotReadable) << "kernels before 5.13, for CPUs";
}

}  // namespace
}  // namespace hostprobe::probe
