// probe/fixes/placement: which CPUs a rank takes, on machines of many shapes; machine.h, cpu_set.h and cpu_claims.h below it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "probe/fixes/placement/cpu_claims.h"
#include "probe/fixes/placement/machine.h"
#include "probe/fixes/placement/placement.h"
#include "probe/runtime/of_process.h"
#include "probe_fakes.h"

namespace hostprobe::probe {
namespace {

CpuSet cpus(const std::string& list) {
  CpuSet out{};
  if (!list.empty() && !parse_cpus(list.c_str(), out)) ADD_FAILURE() << list;
  return out;
}

std::string text(const CpuSet& set) {
  char out[256];
  write_cpus(set, out, sizeof out);
  return out;
}

CpuSet both(const CpuSet& a, const CpuSet& b) {
  CpuSet out = a;
  for (unsigned cpu = b.next(0); cpu < kMostCpus; cpu = b.next(cpu + 1)) out.add(cpu);
  return out;
}

// CPUs N and N + `cores` are the threads of core N, as on most machines; `cores` 0: each CPU is a core.
Machine machine(const std::string& allowed, unsigned cores = 0, const std::string& near = "") {
  Machine out{};
  out.allowed = cpus(allowed);
  out.near = cpus(near);
  for (unsigned cpu = 0; cpu < kMostCpus; ++cpu)
    out.core[cpu] = static_cast<std::uint16_t>(cores == 0 ? cpu : cpu % cores);
  return out;
}

// What the ranks of a job take, one after the other; fewer where one gets nothing.
std::vector<Placement> place_all(const Machine& on, unsigned ranks, unsigned progress) {
  std::vector<Placement> all;
  CpuSet taken{};
  Shortage shortage;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Placement one;
    if (!place_rank(on, taken, {ranks, progress}, one, shortage)) break;
    all.push_back(one);
    taken = both(taken, one.claimed);
  }
  return all;
}

TEST(CpuSet, ReadsAndWritesTheKernelsLists) {
  for (const char* list : {"0", "0-3", "0-3,8", "1,3,5-7,2047", "0-2047"}) EXPECT_EQ(text(cpus(list)), list);
  EXPECT_EQ(cpus("0-3,8").count(), 5u);
  CpuSet out;
  EXPECT_TRUE(parse_cpus("0-1\n", out));
  for (const char* bad : {"", "\n", "a", "3-1", "2048", "0-2048", "1,x", "-1", "1 2", "99999999999999999999"})
    EXPECT_FALSE(parse_cpus(bad, out)) << bad;
}

TEST(CpuSet, ALongListEndsInDots) {
  CpuSet odd{};
  for (unsigned cpu = 1; cpu < 100; cpu += 2) odd.add(cpu);
  char out[16];
  write_cpus(odd, out, sizeof out);
  EXPECT_EQ(std::string(out), "1,3,5,7,9,11...");
}

struct Shape {
  const char* allowed;
  unsigned cores;
  const char* near;
  unsigned ranks, progress;
};

class Shapes : public testing::TestWithParam<Shape> {};

// Everybody has what he needs; nobody has what another one has, or what is not allowed.
TEST_P(Shapes, KeepRanksAndRolesApart) {
  const Shape& shape = GetParam();
  const Machine on = machine(shape.allowed, shape.cores, shape.near);
  const std::vector<Placement> all = place_all(on, shape.ranks, shape.progress);
  ASSERT_EQ(all.size(), shape.ranks);
  CpuSet taken{};
  for (const Placement& one : all) {
    EXPECT_GE(one.progress_count, 1u);
    EXPECT_TRUE(one.claimed.both(taken).empty());
    EXPECT_EQ(one.claimed.without(on.allowed).count(), 0u);
    EXPECT_TRUE(one.claimed.has(one.main));
    EXPECT_FALSE(one.progress_cpus().has(one.main));
    EXPECT_EQ(one.progress_cpus().count(), one.progress_count);
    EXPECT_TRUE(one.progress_cpus().without(one.claimed).empty());
    const bool is_near = both(one.main_cpus(), one.progress_cpus()).without(on.near).empty();
    EXPECT_TRUE(is_near || on.near.both(on.allowed).empty());
    taken = both(taken, one.claimed);
  }
}
INSTANTIATE_TEST_SUITE_P(Placement, Shapes,
                         testing::Values(Shape{"0-1", 0, "", 1, 1}, Shape{"0-1", 0, "0-1", 1, 5},
                                         Shape{"0-1", 1, "", 1, 1}, Shape{"3,9", 0, "", 1, 0},
                                         Shape{"0-15", 8, "", 8, 1}, Shape{"0-15", 8, "", 4, 2},
                                         Shape{"0-15", 0, "", 8, 3}, Shape{"0-191", 96, "0-47,96-143", 1, 3},
                                         Shape{"0-127", 64, "", 8, 4}, Shape{"1-2047", 0, "", 8, 8},
                                         Shape{"0-7", 4, "4-7", 2, 1}, Shape{"0-3", 2, "64-127", 2, 1}));

TEST(Placement, AvoidsSiblingsWhereThereAreCoresEnough) {
  const Machine on = machine("0-15", 8);
  for (const Placement& one : place_all(on, 4, 1)) {
    EXPECT_EQ(one.claimed.count(), 4u) << text(one.claimed);
    EXPECT_NE(on.core[one.main], on.core[one.progress[0]]);
  }
}

TEST(Placement, SharesCoresWhereThereAreNot) {
  for (const Placement& one : place_all(machine("0-15", 8), 8, 1)) EXPECT_EQ(one.claimed.count(), 2u);
}

TEST(Placement, TakesCpuZeroLast) {
  const auto all = place_all(machine("0-7"), 4, 1);
  ASSERT_EQ(all.size(), 4u);
  for (unsigned rank = 0; rank < 3; ++rank) EXPECT_FALSE(all[rank].claimed.has(0));
  EXPECT_TRUE(all[3].claimed.has(0));
}

TEST(Placement, GivesProgressThreadsNoMoreThanTheRanksShare) {
  const auto all = place_all(machine("0-15"), 4, 8);
  ASSERT_EQ(all.size(), 4u);
  for (const Placement& one : all) EXPECT_EQ(one.progress_count, 3u);
}

TEST(Placement, MakesRoomForOneMoreWithinTheShare) {
  const Machine on = machine("0-7");
  Placement one;
  Shortage shortage;
  ASSERT_TRUE(place_rank(on, {}, {2, 1}, one, shortage));
  EXPECT_TRUE(place_one_more(on, {}, {2, 1}, one));
  EXPECT_TRUE(place_one_more(on, {}, {2, 1}, one));
  EXPECT_FALSE(place_one_more(on, {}, {2, 1}, one)) << "four of eight CPUs are this rank's share";
  EXPECT_EQ(one.progress_cpus().count(), 3u);
}

TEST(Placement, SaysHowManyAreMissing) {
  Placement one;
  Shortage shortage{};
  EXPECT_FALSE(place_rank(machine("0-1"), {}, {2, 1}, one, shortage));
  EXPECT_EQ(shortage.wanted, 4u);
  EXPECT_EQ(shortage.there, 2u);
  EXPECT_FALSE(place_rank(machine("5"), {}, {1, 1}, one, shortage));
  EXPECT_FALSE(place_rank(machine(""), {}, {1, 1}, one, shortage));
  EXPECT_EQ(shortage.there, 0u);
  EXPECT_FALSE(place_rank(machine("0-7", 0, "6-7"), cpus("6"), {1, 1}, one, shortage));
  EXPECT_TRUE(shortage.near);
  EXPECT_EQ(shortage.there, 1u);
}

TEST(Placement, AnotherJobsRanksLeaveTooFew) {
  Placement one;
  Shortage shortage{};
  EXPECT_FALSE(place_rank(machine("0-3"), cpus("0-2"), {1, 1}, one, shortage));
  EXPECT_EQ(shortage.there, 1u);
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << content << '\n';
}

TEST(Machine, IsReadFromSysfs) {
  Folder folder;
  const std::string root = folder.path.string();
  write_file(folder.path / "bus/pci/devices/0000:1b:00.0/local_cpulist", "2-3,6-7");
  write_file(folder.path / "bus/pci/devices/0000:1b:00.0/numa_node", "1");
  for (int cpu = 0; cpu < 8; ++cpu)
    write_file(folder.path / ("devices/system/cpu/cpu" + std::to_string(cpu)) / "topology/core_cpus_list",
               std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
  write_file(folder.path / "devices/system/node/has_memory", "0-1");
  Machine out;
  read_machine({root.c_str(), root.c_str()}, "00000000:1B:00.0", cpus("0-7"), out);
  EXPECT_EQ(text(out.near), "2-3,6-7");
  EXPECT_EQ(out.core[6], 2u);
  EXPECT_EQ(out.core[3], 3u);
  EXPECT_EQ(node_of_device(root.c_str(), "0000:1b:00.0"), 1);
  std::uint64_t nodes = 0;
  EXPECT_EQ(memory_nodes(root.c_str(), nodes), 2u);
  EXPECT_EQ(nodes, 3u);
}

TEST(Machine, ByTheNodeWhereThereIsNoListOfCpus) {
  Folder folder;
  const std::string root = folder.path.string();
  write_file(folder.path / "bus/pci/devices/0000:1b:00.0/numa_node", "1");
  write_file(folder.path / "devices/system/node/node1/cpulist", "4-7");
  Machine out;
  read_machine({root.c_str(), root.c_str()}, "0000:1b:00.0", cpus("0-7"), out);
  EXPECT_EQ(text(out.near), "4-7");
}

TEST(Machine, WhatIsNotThereIsLeftOut) {
  Folder folder;
  const std::string root = folder.path.string();
  write_file(folder.path / "bus/pci/devices/0000:1b:00.0/local_cpulist", "nonsense");
  write_file(folder.path / "bus/pci/devices/0000:1b:00.0/numa_node", "-1");
  for (const char* bus_id : {"0000:1b:00.0", "0000:ff:00.0", "", "../../etc/passwd"}) {
    Machine out;
    read_machine({root.c_str(), root.c_str()}, bus_id, cpus("0-7"), out);
    EXPECT_TRUE(out.near.empty()) << bus_id;
    EXPECT_EQ(out.core[7], 7u);
  }
  std::uint64_t nodes = 0;
  EXPECT_EQ(memory_nodes(root.c_str(), nodes), 0u);
}

// As a forked child that records.
void forget_claims_of_parent() { forget_process(); }

// In a child, which ends before it returns.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(CpuClaims, AreSeenByOtherProcessesAndEndWithTheirs) {
  Folder folder;
  const std::string path = folder.path / "cpus";
  ASSERT_EQ(open_claims(path.c_str()), 0);
  ASSERT_TRUE(claim_cpus(cpus("1-2,2047")));
  EXPECT_TRUE(claimed_by_others(cpus("0-2047")).empty()) << "they are ours";
  EXPECT_EQ(in_child([&] {
              forget_claims_of_parent();
              if (open_claims(path.c_str()) != 0) return 1;
              if (text(claimed_by_others(cpus("0-2047"))) != "1-2,2047") return 2;
              if (claim_cpus(cpus("0,2"))) return 3;
              return claim_cpus(cpus("0,3")) ? 0 : 4;
            }),
            0);
  EXPECT_TRUE(claimed_by_others(cpus("0-3")).empty()) << "the child has ended";
  EXPECT_TRUE(claims_hold());
  release_claims();
  EXPECT_FALSE(claims_hold());
}

TEST(CpuClaims, WhatIsRefusedIsNotHeldInPart) {
  Folder folder;
  const std::string path = folder.path / "cpus";
  ASSERT_EQ(open_claims(path.c_str()), 0);
  ASSERT_TRUE(claim_cpus(cpus("5")));
  EXPECT_EQ(in_child([&] {
              forget_claims_of_parent();
              if (open_claims(path.c_str()) != 0 || claim_cpus(cpus("3-5"))) return 1;
              return in_child([&] {
                forget_claims_of_parent();
                return open_claims(path.c_str()) == 0 && text(claimed_by_others(cpus("0-7"))) == "5" ? 0 : 2;
              });
            }),
            0);
  release_claims();
}

TEST(CpuClaims, RanksOfACommunicatorAreCountedWhereTheyAre) {
  Folder folder;
  const std::string path = folder.path / "cpus";
  ASSERT_EQ(open_claims(path.c_str()), 0);
  EXPECT_EQ(count_ranks_here(0xabcdef0123456789, 3, 10'000), 1u) << "the others are elsewhere, or not here yet";
  const auto counted_with = [&](std::uint64_t communicator, unsigned rank, const std::function<int()>& further = {}) {
    return in_child([&] {
      forget_claims_of_parent();
      if (open_claims(path.c_str()) != 0) return -1;
      const int counted = static_cast<int>(count_ranks_here(communicator, rank, 10'000));
      return further ? further() : counted;
    });
  };
  EXPECT_EQ(counted_with(0xabcdef0123456789, 9'999), 2);
  EXPECT_EQ(counted_with(0xabcdef0123456788, 3), 1) << "another communicator";
  EXPECT_EQ(counted_with(0xabcdef0123456789, 0, [&] { return counted_with(0xabcdef0123456789, 4); }), 3);
  EXPECT_EQ(count_ranks_here(0xabcdef0123456789, 3, 10'000), 1u) << "the children have ended";
  release_claims();
}

TEST(CpuClaims, AFileThatIsNoneOfOursIsRefused) {
  Folder folder;
  const std::string path = folder.path / "cpus", link = folder.path / "link";
  EXPECT_EQ(open_claims((path + "/nowhere/cpus").c_str()), ENOENT);
  std::ofstream(path) << "";
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(open_claims(link.c_str()), ELOOP);
  EXPECT_EQ(open_claims(folder.path.c_str()), EISDIR);
  EXPECT_FALSE(claims_hold());
}

TEST(CpuClaims, AreLostWhereTheFileIsClosedBehindOurBack) {
  Folder folder;
  const std::string path = folder.path / "cpus";
  ASSERT_EQ(open_claims(path.c_str()), 0);
  ASSERT_TRUE(claim_cpus(cpus("1")));
  for (int fd = 3; fd < 64; ++fd)
    if (std::error_code none; std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), none) == path)
      close(fd);
  EXPECT_FALSE(claims_hold());
  release_claims();
}

}  // namespace
}  // namespace hostprobe::probe
