// losses: full disks and quotas, disks that fail or turn read-only, suspended processes, thread storms, clocks that are set,
// more records than anybody can write. Losses may happen, but they are exact: records kept and records lost are together
// the calls that the victim has counted.
//
// HOSTPROBE_SECONDS=60 run_tests --gtest_filter='*MillionASecond*' takes a minute and 4 GB of the temporary folder; two
// seconds otherwise.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

constexpr int kNotPermitted = 123;

std::uint64_t kept_count(const nlohmann::json& report) {
  std::uint64_t sum = 0;
  for (const auto& process : report.at("processes")) sum += process.at("records").get<std::uint64_t>();
  return sum;
}

struct Counts {
  std::uint64_t kept = 0, lost = 0;
};

// What the run folder holds, before and after `recover`, is all that the victim did.
Counts expect_exact(const fs::path& run_folder, std::uint64_t made) {
  const auto before = report(run_folder);
  EXPECT_EQ(kept_count(before) + lost_count(before), made) << before.dump(1);
  const Outcome recovered = run({.command = {probe_command(), "recover", run_folder}});
  EXPECT_TRUE(recovered.exited_with(0)) << recovered.describe();
  const auto after = report(run_folder);
  EXPECT_EQ(kept_count(after) + lost_count(after), made) << "kept " << kept_count(after) << " after recover";
  EXPECT_EQ(kept_count(after), kept_count(before));
  ::testing::Test::RecordProperty("kept", std::to_string(kept_count(after)));
  ::testing::Test::RecordProperty("lost", std::to_string(lost_count(after)));
  return {kept_count(after), lost_count(after)};
}

Counts expect_exact(const Pair& pair, int messages = 1) {
  EXPECT_TRUE(pair.bare.outcome.exited_with(0)) << pair.bare.outcome.describe();
  expect_same(pair, messages);
  return expect_exact(pair.run(), static_cast<std::uint64_t>(pair.probed.number("records")));
}

Environment in_mode(const char* mode, Environment more = {}) {
  more["HOSTPROBE_MODE"] = mode;
  more["HOSTPROBE_IO_US"] = "1000000000";  // only what the victim counts
  more["HOSTPROBE_COMPRESS"] = "none";     // so that little fills a file
  return more;
}

class Losses : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { have_our_own_segments(); }
  static bool writes_at_once() { return std::string(GetParam()) == "trace"; }
  static bool writes_records() { return std::string(GetParam()) != "monitor"; }
};

TEST_P(Losses, OfABufferThatIsTooSmallAreExact) {
  expect_exact(Pair({.program = "counts_its_calls",
                     .args = {"4", "80000", "0"},
                     .probe = in_mode(GetParam(), {{"HOSTPROBE_BUFFER_MB", "1"}})}));
}

// Linux lends its errors to everybody: a filter answers in the place of a quota, a disk, a file system gone read-only.
TEST_P(Losses, OfAFileThatCannotBeWrittenAnyMoreAreExact) {
  for (const int error : {EDQUOT, EROFS, EIO, ENOSPC}) {
    SCOPED_TRACE(strerror(error));
    const Counts counts = expect_exact(Pair({.program = "counts_its_calls",
                                             .args = {"2", "60000", "200", "refuse", std::to_string(error)},
                                             .probe = in_mode(GetParam())}));
    if (writes_at_once()) {
      EXPECT_GT(counts.kept, 0u);
    }
  }
}

TEST_P(Losses, OfAFileSizeLimitAreExact) {
  const auto limit = [] {
    const rlimit small = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(124);
  };
  const Counts counts = expect_exact(Pair({.program = "counts_its_calls",
                                           .args = {"2", "100000", "200"},
                                           .probe = in_mode(GetParam()),
                                           .before_exec = limit}));
  EXPECT_EQ(counts.lost > 0, writes_records());
}

// Such a program gives no other occasion to start the writer than its records.
TEST_P(Losses, AreNoneWhereAProgramOfOneThreadOnlyWaits) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"40000", "50"}, std::vector<std::string>{"40000", "50", "handler"}}) {
    const Counts counts =
        expect_exact(Pair({.program = "waits_alone",
                           .args = args,
                           .probe = in_mode(GetParam(), {{"HOSTPROBE_BUFFER_MB", "1"}, {"HOSTPROBE_FLIGHT_MB", "1"}})}),
                     0);
    EXPECT_LT(counts.lost, counts.kept / 2);
  }
}

TEST_P(Losses, NameTheirReason) {
  const auto lost_by = [](const Pair& pair) {
    const auto answers = report(pair.run());
    return answers.at("processes").at(0).at("lost_by");
  };
  const Pair full({.program = "counts_its_calls",
                   .args = {"4", "80000", "0"},
                   .probe = in_mode(GetParam(), {{"HOSTPROBE_BUFFER_MB", "1"}})});
  const nlohmann::json of_full = lost_by(full);
  for (const auto& [reason, records] : of_full.items()) EXPECT_EQ(reason, "buffer_full") << records;
  const Pair jumps({.program = "signals_jump_out", .args = {"calls"}, .probe = in_mode(GetParam())});
  const nlohmann::json of_jumps = lost_by(jumps);
  // A jump may come between the count and its reason.
  for (const auto& [reason, records] : of_jumps.items()) {
    if (records > 2) {
      EXPECT_EQ(reason, "jumped_out") << records;
    }
  }
}

// A child that has its parent's memory takes neither the trace nor the calls from it.
TEST_P(Losses, AreNoneWhereAChildSharesTheMemory) {
  const Pair pair({.program = "clones_with_its_memory", .probe = in_mode(GetParam())});
  expect_same(pair);
  const auto answers = report(pair.run());
  EXPECT_EQ(blocked_count(answers, "sem_timedwait"), static_cast<std::uint64_t>(pair.probed.number("records")));
  EXPECT_EQ(lost_count(answers), 0u);
}

// A file system of its own for the run folder, in a mount namespace of the test's own.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& at, const char* size) : at_(at) {
    fs::create_directory(at);
    mounted_ = unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", at.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(at_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  bool make_read_only(bool read_only) const {
    return mount(nullptr, at_.c_str(), nullptr, MS_REMOUNT | (read_only ? MS_RDONLY : 0), nullptr) == 0;
  }

 private:
  fs::path at_;
  bool mounted_ = false;
};

TEST_P(Losses, OfAFullDiskAreExact) {
  ScratchFolder scratch;
  const SmallDisk disk(scratch.run(), "size=2m");
  if (!disk.mounted()) GTEST_SKIP() << "this machine lets nobody mount a small file system";
  const OneRun run = run_probed(
      {.program = "counts_its_calls", .args = {"2", "100000", "200"}, .probe = in_mode(GetParam())}, scratch);
  EXPECT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  const Counts counts = expect_exact(scratch.run(), static_cast<std::uint64_t>(run.number("records")));
  EXPECT_EQ(counts.lost > 0, writes_records());
}

TEST_P(Losses, OfADiskThatHadRoomAgainAreExact) {
  ScratchFolder scratch;
  const SmallDisk disk(scratch.run(), "size=32m");
  if (!disk.mounted()) GTEST_SKIP() << "this machine lets nobody mount a small file system";
  const fs::path ballast = scratch.run() / "ballast";
  std::ofstream(ballast) << std::string(31 << 20, 'x');
  const auto make_room = [&](pid_t) {
    usleep(400000);
    fs::remove(ballast);
  };
  const OneRun run = run_probed({.program = "counts_its_calls",
                                 .args = {"2", "200000", "200"},
                                 .probe = in_mode(GetParam()),
                                 .while_running = make_room},
                                scratch);
  EXPECT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  const Counts counts = expect_exact(scratch.run(), static_cast<std::uint64_t>(run.number("records")));
  EXPECT_GT(counts.kept, 0u);
}

// Without a descriptor table of its own the writer opens the file anew each time, so the disk can turn read-only between.
void forbid_own_descriptors() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(kNotPermitted);
}

TEST_P(Losses, OfADiskThatTurnsReadOnlyAreExact) {
  for (const bool for_good : {false, true}) {
    ScratchFolder scratch;
    const SmallDisk disk(scratch.run(), "size=200m");
    if (!disk.mounted()) GTEST_SKIP() << "this machine lets nobody mount a small file system";
    bool turned = false;
    const auto turn = [&](pid_t pid) {
      while (trace_files(scratch.run()).empty() && waitpid(pid, nullptr, WNOHANG | WNOWAIT) == 0) usleep(1000);
      usleep(300000);
      for (int i = 0; i < 2000 && !(turned = disk.make_read_only(true)); ++i) usleep(500);
      usleep(300000);
      if (!for_good) disk.make_read_only(false);
    };
    const OneRun run = run_probed({.program = "counts_its_calls",
                                   .args = {"2", "200000", "200"},
                                   .probe = in_mode(GetParam()),
                                   .before_exec = forbid_own_descriptors,
                                   .while_running = turn},
                                  scratch);
    EXPECT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
    EXPECT_TRUE(turned);
    EXPECT_TRUE(disk.make_read_only(false));  // for recover
    expect_exact(scratch.run(), static_cast<std::uint64_t>(run.number("records")));
    remove_segments_of({run.outcome.pid});
  }
}

// One process stands still in the middle of everything, for seconds, while another one records into the same folder.
TEST_P(Losses, OfASuspendedProcessAreExact) {
  ScratchFolder scratch;
  long long others = 0;
  const auto suspend = [&](pid_t pid) {
    for (int i = 0; i < 4; ++i) {
      usleep(100000);
      kill(pid, SIGSTOP);
      if (i != 1) {
        usleep(100000);
        kill(pid, SIGCONT);
        continue;
      }
      const OneRun other = run_probed(
          {.program = "counts_its_calls", .args = {"2", "200000", "100"}, .probe = in_mode(GetParam())}, scratch);
      EXPECT_TRUE(other.outcome.exited_with(0)) << other.outcome.describe();
      others = other.number("records");
      fs::remove(other.folder / "truth");
      kill(pid, SIGCONT);
    }
  };
  const OneRun run = run_probed({.program = "counts_its_calls",
                                 .args = {"2", "200000", "200"},
                                 .probe = in_mode(GetParam()),
                                 .while_running = suspend},
                                scratch);
  EXPECT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  expect_exact(scratch.run(), static_cast<std::uint64_t>(run.number("records") + others));
}

TEST_P(Losses, OfAMillionASecondFromTwoThreadsAreExact) {
  const char* wanted = std::getenv("HOSTPROBE_SECONDS");
  const long seconds = wanted == nullptr ? 2 : std::max(1L, std::atol(wanted));
  ScratchFolder scratch;
  const OneRun run = run_probed({.program = "counts_its_calls",
                                 .args = {"2", std::to_string(seconds * 500000), "500", "names"},
                                 .probe = in_mode(GetParam()),
                                 .limit = std::chrono::seconds(40 + 4 * seconds)},
                                scratch);
  EXPECT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  EXPECT_GT(expect_exact(scratch.run(), static_cast<std::uint64_t>(run.number("records"))).kept, 0u);
}

// What hostprobe does to take a stack is no call of the program's, tables that it registered or not.
TEST_P(Losses, OfCallsWithStacksAreExactAndNoneIsOurOwn) {
  const Pair pair({.program = "counts_its_calls",
                   .args = {"8", "20000", "0", "frames"},
                   .probe = in_mode(GetParam(), {{"HOSTPROBE_STACK_US", "1"}, {"HOSTPROBE_STACK_INTERVAL_MS", "0"}})});
  expect_exact(pair);
}

// Short waits leave no records; those that the disk refuses count as lost one by one.
TEST_P(Losses, OfShortWaitsOnAFullDiskAreExact) {
  ScratchFolder scratch;
  const SmallDisk disk(scratch.run(), "size=64k");
  if (!disk.mounted()) GTEST_SKIP() << "this machine lets nobody mount a small file system";
  std::ofstream(scratch.run() / "ballast") << std::string(64 << 10, 'x');
  fs::resize_file(scratch.run() / "ballast", 24 << 10);
  const OneRun run = run_probed(
      {.program = "waits_short", .args = {"3000"}, .probe = in_mode(GetParam(), {{"HOSTPROBE_WAIT_US", "100"}})},
      scratch);
  EXPECT_TRUE(run.outcome.exited_with(0)) << run.outcome.describe();
  if (trace_files(scratch.run()).empty()) return;
  const auto answers = report(scratch.run());
  EXPECT_EQ(blocked_count(answers, "ppoll") + blocked_count(answers, "sem_timedwait") + lost_count(answers), 3001u);
}

TEST_P(Losses, OfTenThousandShortThreadsAreExact) {
  const Pair pair({.program = "threads_many", .args = {"100", "100"}, .probe = in_mode(GetParam())});
  expect_same(pair);
  const auto answers = report(pair.run());
  // Where the writer gets no CPU the thread table runs full; then all calls of those that found no place are counted as lost,
  // their wait among them.
  const std::uint64_t blocked = blocked_count(answers, "sem_timedwait"), lost = lost_count(answers);
  EXPECT_LE(blocked, 10000u);
  EXPECT_GE(blocked + lost, 10000u);
  if (lost == 0) {
    EXPECT_EQ(blocked, 10000u);
  }
  if (writes_at_once()) {
    EXPECT_EQ(dump(pair.run()).of("pthread_create").size(), 10000u);
  }
}

// Times come from the clock that nobody sets.
TEST_P(Losses, ThereAreNoneWhereClocksAreSet) {
  const Pair pair({.program = "steps_its_clock", .probe = in_mode(GetParam())});
  expect_same(pair);
  EXPECT_EQ(blocked_count(report(pair.run()), "sem_clockwait"), 200u);
  if (!writes_records()) return;
  const auto waits = dump(pair.run()).of("sem_clockwait");
  ASSERT_EQ(waits.size(), 200u);
  for (std::size_t i = 1; i < waits.size(); ++i) {
    EXPECT_GE(waits[i].begin_ns, waits[i - 1].begin_ns + waits[i - 1].duration_ns);
    EXPECT_GE(waits[i].duration_ns, 1500000);
  }
}

// The process that records begins in a time namespace whose clocks stand days ahead, its parents' do not.
TEST_P(Losses, ThereAreNoneInATimeNamespace) {
  const auto step_ahead = [] {
    if (unshare(0x80 /* CLONE_NEWTIME */) != 0) _exit(kNotPermitted);
    std::ofstream offsets("/proc/self/timens_offsets");
    offsets << "monotonic 200000 0\nboottime 200000 0\n" << std::flush;
    if (!offsets) _exit(kNotPermitted);
  };
  const Pair pair({.program = "forks", .args = {"fork"}, .probe = in_mode(GetParam()), .before_exec = step_ahead});
  if (pair.bare.outcome.exited_with(kNotPermitted)) GTEST_SKIP() << "this machine permits no time namespaces";
  expect_same(pair);
  const ScratchFolder scratch;
  const OneRun usual = run_probed({.program = "forks", .args = {"fork"}, .probe = in_mode(GetParam())}, scratch);
  EXPECT_EQ(dump(pair.run()).of("sem_timedwait").size(), dump(scratch.run()).of("sem_timedwait").size());
  EXPECT_EQ(lost_count(report(pair.run())), 0u);
}

INSTANTIATE_TEST_SUITE_P(Run, Losses, testing::Values("trace", "flight", "monitor"));

}  // namespace
}  // namespace hostprobe::test
