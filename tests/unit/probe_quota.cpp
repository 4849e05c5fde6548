// probe/sources/quota: what the kernel writes about control groups, of both versions, and what it never writes.
#include "probe/sources/quota.h"

#include <gtest/gtest.h>

#include <string>

namespace hostprobe::probe {
namespace {

std::string folder(std::string line, const char* path, bool unified, std::uint32_t bytes = 256) {
  char out[256] = "";
  std::uint32_t root_bytes = 0;
  if (!folder_in_mount(line.data(), path, unified, out, bytes, root_bytes)) return "none";
  EXPECT_LE(root_bytes, std::string(out).size());
  return out;
}

TEST(Quota, ReadsThrottlingOfBothVersions) {
  Throttling out{};
  EXPECT_TRUE(parse_throttling("nr_periods 32\nnr_throttled 31\nthrottled_time 1807089746\nnr_bursts 0\n", out));
  EXPECT_EQ(out.periods, 31u);
  EXPECT_EQ(out.ns, 1807089746u);
  EXPECT_TRUE(parse_throttling("usage_usec 9\nnr_periods 3\nnr_throttled 2\nthrottled_usec 7\n", out));
  EXPECT_EQ(out.periods, 2u);
  EXPECT_EQ(out.ns, 7000u);
}

TEST(Quota, KnowsNothingOfAGroupThatHasNone) {
  Throttling out{};
  EXPECT_FALSE(parse_throttling("usage_usec 9\nuser_usec 3\nsystem_usec 6\n", out)) << "the root's";
  EXPECT_FALSE(parse_throttling("", out));
  EXPECT_FALSE(parse_throttling("nr_throttled", out));
  EXPECT_FALSE(parse_throttling("xnr_throttled 2\nthrottled_usec 7\n", out));
  EXPECT_FALSE(parse_throttling("nr_throttled 2\nthrottled_usecs 7\n", out));
}

TEST(Quota, TakesTheLineOfItsController) {
  EXPECT_STREQ(path_in_line("4:cpu,cpuacct:/job/7", false), "/job/7");
  EXPECT_STREQ(path_in_line("1:cpu:/", false), "/");
  EXPECT_STREQ(path_in_line("0::/user.slice", true), "/user.slice");
  EXPECT_EQ(path_in_line("3:cpuset:/a", false), nullptr);
  EXPECT_EQ(path_in_line("2:cpuacct:/a", false), nullptr);
  EXPECT_EQ(path_in_line("0::/a", false), nullptr);
  EXPECT_EQ(path_in_line("9:name=cpu:/a", false), nullptr);
  EXPECT_EQ(path_in_line("", true), nullptr);
  EXPECT_EQ(path_in_line("12", true), nullptr);
}

TEST(Quota, FindsTheFolderBelowItsMount) {
  const char* v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:7 - cgroup cgroup rw,cpu,cpuacct";
  EXPECT_EQ(folder(v1, "/job/7", false), "/sys/fs/cgroup/cpu/job/7");
  EXPECT_EQ(folder(v1, "/job/7", true), "none");
  const char* v2 = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
  EXPECT_EQ(folder(v2, "/", true), "/sys/fs/cgroup/");
  EXPECT_EQ(folder(v2, "/", false), "none");
  EXPECT_EQ(folder("34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset", "/", false), "none");
}

TEST(Quota, OfAContainerIsItsOwnAsTheRoot) {
  const char* line = "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw";
  EXPECT_EQ(folder(line, "/docker/abc/inner", true), "/sys/fs/cgroup/inner");
  EXPECT_EQ(folder(line, "/docker/abcd", true), "/sys/fs/cgroup") << "another one's: what can be seen is the mount";
  EXPECT_EQ(folder(line, "/../../elsewhere", true), "/sys/fs/cgroup");
}

TEST(Quota, RefusesLinesThatAreCut) {
  for (const char* line : {"", "41", "41 31 0:38 /", "41 31 0:38 / /sys/fs/cgroup rw", "41 31 0:38 / /m rw - cgroup2",
                           "41 31 0:38 / /m rw - ", "- - - - - - -"})
    EXPECT_EQ(folder(line, "/a", true), "none") << line;
  EXPECT_EQ(folder("41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/long", true, 10), "none") << "no room";
}

}  // namespace
}  // namespace hostprobe::probe
