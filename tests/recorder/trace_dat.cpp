// Files of trace-cmd, made on the kernel that runs: what is in them, and what happens where they are damaged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "support/trace_file.h"
#include "unit/cli_command.h"

namespace hostprobe::test {
namespace {

constexpr int kDamaged = 60;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// An instance of tracing of the test's own: `trace-cmd record` wants to write ftrace_enabled, which is not allowed everywhere.
constexpr char kMake[] = R"(
mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing || exit 1
instance=/sys/kernel/tracing/instances/hostprobe-test-$$
mkdir $instance || exit 1
echo mono > $instance/trace_clock && echo 1 > $instance/events/sched/sched_switch/enable
echo 1 > $instance/tracing_on; sleep 0.3; echo 0 > $instance/tracing_on
trace-cmd extract -B hostprobe-test-$$ -o "$0"; status=$?
rmdir $instance 2> /dev/null
exit $status
)";

class TraceDat : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (std::system("command -v trace-cmd > /dev/null") != 0) GTEST_SKIP() << "there is no trace-cmd";
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      GTEST_SKIP() << "no mount namespace of its own is allowed";
    std::ofstream(folder_.file("make")) << kMake;
    const std::string make = fmt::format("sh -c \"$(cat {0})\" {1} > {1}.out 2>&1", folder_.file("make"), path());
    if (std::system(make.c_str()) != 0) GTEST_SKIP() << "tracing is not allowed here: " << text_of(path() + ".out");
  }
  std::string path() const { return folder_.file("trace.dat"); }
  Said import(const std::string& file, const std::string& run) const {
    return hostprobe({"import", "-o", folder_.file(run), "--ftrace", "--clock", "mono", file});
  }
  TestFolder folder_;
};

TEST_F(TraceDat, HasTheSwitchesThatTraceCmdReports) {
  const std::string count =
      fmt::format("trace-cmd report {0} 2> /dev/null | grep -c sched_switch: > {0}.count", path());
  ASSERT_EQ(std::system(count.c_str()), 0);
  const Said said = import(path(), "run");
  ASSERT_EQ(said.status, 0) << said.err;
  std::uint64_t switches = 0;
  std::istringstream lines(hostprobe({"dump", folder_.file("run"), "--json"}).out);
  for (std::string line; std::getline(lines, line);) switches += line.find("\"sched_switch\"") != std::string::npos;
  EXPECT_EQ(switches, std::stoull(text_of(path() + ".count")));
  EXPECT_GT(switches, 10u);
}

// The same ones each time: some bytes are others, or the end is missing.
std::string damaged(std::string bytes, unsigned number) {
  std::mt19937 random(number);
  if (number % 3 == 0) return bytes.substr(0, random() % bytes.size());
  const std::size_t most =
      number % 3 == 1 ? bytes.size() : std::min<std::size_t>(bytes.size(), 4096);  // heads above all
  for (unsigned i = 0; i < 1 + number; ++i) bytes[random() % most] = static_cast<char>(random());
  return bytes;
}

TEST_F(TraceDat, DamageEndsNoImport) {
  const std::string whole = text_of(path());
  for (unsigned number = 0; number < kDamaged; ++number) {
    const std::string file = folder_.file("damaged.dat");
    std::ofstream(file, std::ios::binary) << damaged(whole, number);
    const std::string run = fmt::format("run-{}", number);
    const Said said = import(file, run);
    EXPECT_TRUE(said.status == 0 || said.status == 1) << number << ": " << said.status << " " << said.err;
    EXPECT_TRUE(said.status == 0 || !said.err.empty()) << number;
    if (said.status != 0) continue;
    EXPECT_EQ(hostprobe({"report", folder_.file(run)}).status, 0) << number;
  }
}

}  // namespace
}  // namespace hostprobe::test
