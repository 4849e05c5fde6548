// limits: no address space, no descriptors, no file size, no processes, no shared memory, no room in /dev/shm, every
// descriptor closed. The program goes on exactly as without the probe; what could not be kept is counted.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

std::function<void()> limited(int resource, rlim_t value) {
  return [=] {
    const rlimit limit = {value, value};
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) _exit(124);
  };
}

// What of the program's waits is missing must be counted. A file that takes no more blocks still has the sum in its
// header, so `report` knows it; `dump` knows only what its threads' last entries in the file say.
void expect_waits_or_losses(const std::filesystem::path& run_folder, std::uint64_t waits) {
  if (trace_files(run_folder).empty()) return;
  const std::size_t found = dump(run_folder).of("sem_timedwait").size();
  EXPECT_GE(found + lost_count(report(run_folder)), waits);
  EXPECT_LE(found, waits);
}

class FileSize : public testing::TestWithParam<int> {};

TEST_P(FileSize, LimitNeverBringsSigxfsz) {
  const Pair pair({.program = "works",
                   .args = {"3000"},
                   .probe = {{"HOSTPROBE_COMPRESS", "none"}},  // or all of them would fit
                   .before_exec = limited(RLIMIT_FSIZE, static_cast<rlim_t>(GetParam()))});
  EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  EXPECT_EQ(probe_messages(pair.probed.outcome.err).size(), 1u);
  // Below the size of the file's header not even the loss can be noted down.
  if (GetParam() >= 4096) expect_waits_or_losses(pair.run(), 6000);
}
INSTANTIATE_TEST_SUITE_P(Limits, FileSize, testing::Values(0, 1, 4096, 20000, 200000));

TEST(Limits, ASmallFileSizeIsSaidOnceAndTheLossIsCounted) {
  const Pair pair({.program = "works",
                   .args = {"3000"},
                   .probe = {{"HOSTPROBE_COMPRESS", "none"}},
                   .before_exec = limited(RLIMIT_FSIZE, 100000)});
  expect_same(pair, 1);
  EXPECT_EQ(probe_messages(pair.probed.outcome.err).size(), 1u);
  EXPECT_GT(lost_count(report(pair.run())), 0u);
  EXPECT_GT(dump(pair.run()).of("sem_timedwait").size(), 0u);
  expect_waits_or_losses(pair.run(), 6000);
}

// Standard error is a file that may not grow, or a pipe that nobody reads.
std::function<void()> with_stderr(int kind) {
  return [=] {
    int ends[2] = {-1, -1};
    if (kind == 0) ends[1] = open("stderr", O_WRONLY | O_CREAT, 0600);
    if (kind == 1 && pipe(ends) == 0) close(ends[0]);
    if (dup2(ends[1], 2) != 2) _exit(124);
    if (kind == 0) limited(RLIMIT_FSIZE, 0)();
  };
}

TEST(Limits, AWordOfOursBringsNoSignal) {
  for (int kind : {0, 1}) {
    SCOPED_TRACE(kind);
    const Pair pair({.program = "works",
                     .probe = {{"HOSTPROBE_MODE", "sideways"}, {"HOSTPROBE_OUT", "/proc/no/such/folder"}},
                     .before_exec = with_stderr(kind)});
    EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
    expect_same(pair);
  }
}

TEST(Limits, NorDoesTheWordOfAProcessThatIsNotRecorded) {
  for (int kind : {0, 1}) {
    SCOPED_TRACE(kind);
    const Pair pair({.program = "works",
                     .probe = {{"HOSTPROBE_OFF", "1"}, {"HOSTPROBE_VERBOSE", "1"}},
                     .before_exec = with_stderr(kind)});
    EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
    expect_same(pair);
  }
}

TEST(Limits, AProgramPastItsOwnFileSizeMeetsItsOwnSignal) {
  for (const char* way : {"handled", "killed"}) {
    const Pair pair({.program = "exceeds_its_limit", .args = {way}});
    expect_same(pair, 1);
  }
}

TEST(Limits, FourDescriptorsAreEnough) {
  const Pair pair({.program = "works", .before_exec = limited(RLIMIT_NOFILE, 4)});
  EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  expect_waits_or_losses(pair.run(), 100);
}

TEST(Limits, DescriptorNumbersAreThoseOfTheProgramAlone) {
  const Pair pair({.program = "counts_its_fds"});
  expect_same(pair);
  const Pair tight({.program = "counts_its_fds", .before_exec = limited(RLIMIT_NOFILE, 8)});
  expect_same(tight, 1);
}

// The limit that is just enough for the program alone, and room for the library itself (its text, its tables: 6 MiB)
// on top. Buffers and the writer's stack must then make do with less, or the trace be given up.
TEST(Limits, AddressSpaceIsLeftToTheProgram) {
  ScratchFolder measured;
  const OneRun free_run = run_bare({.program = "fills_its_memory"}, measured);
  const rlim_t enough = static_cast<rlim_t>(free_run.number("peak-kib")) << 10;
  for (const rlim_t room_mib : {6, 8, 16, 24, 64}) {
    SCOPED_TRACE(testing::Message() << "with " << room_mib << " MiB more than the program needs");
    const Pair pair({.program = "fills_its_memory", .before_exec = limited(RLIMIT_AS, enough + (room_mib << 20))});
    EXPECT_EQ(pair.bare.outcome.out, "pieces 384, thread 0\n");
    expect_same(pair, 1);
  }
}

TEST(Limits, NoThreadForTheWriterIsNoReasonToFail) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become a user that may have no more threads";
  ScratchFolder open_to_all;
  std::filesystem::permissions(open_to_all.path(), std::filesystem::perms(0777));
  const auto become_nobody = [] {
    limited(RLIMIT_NPROC, 1)();
    if (setgroups(0, nullptr) != 0 || setresgid(65533, 65533, 65533) != 0 || setresuid(65533, 65533, 65533) != 0)
      _exit(124);
  };
  const Pair pair(
      {.program = "works", .probe = {{"HOSTPROBE_OUT", open_to_all.path() / "run"}}, .before_exec = become_nobody});
  EXPECT_NE(pair.bare.outcome.out.find("thread: 11"), std::string::npos) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  expect_waits_or_losses(open_to_all.path() / "run", 50);
}

constexpr int kNotPermitted = 123;

bool write_setting(const char* path, const char* value) {
  std::ofstream file(path);
  file << value;
  return static_cast<bool>(file.flush());
}

// The program is started in an IPC namespace of its own, in which the kernel setting is what the test needs.
std::function<void()> with_shared_memory_setting(const char* path, const char* value) {
  return [=] {
    if (unshare(CLONE_NEWIPC) != 0 || !write_setting(path, value)) _exit(kNotPermitted);
  };
}

void with_full_dev_shm() {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k") != 0)
    _exit(kNotPermitted);
  std::ofstream("/dev/shm/filler") << std::string(4096, 'x');
}

class SharedMemory : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(SharedMemory, ThatCannotBeHadIsSaidOnceAtMost) {
  const Pair pair({.program = "works",
                   .args = {"1000"},
                   .before_exec = with_shared_memory_setting(GetParam().first, GetParam().second)});
  if (pair.bare.outcome.exited_with(kNotPermitted)) GTEST_SKIP() << "this machine permits no IPC namespaces";
  EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  expect_waits_or_losses(pair.run(), 2000);
}
INSTANTIATE_TEST_SUITE_P(Limits, SharedMemory,
                         testing::Values(std::pair{"/proc/sys/kernel/shmmni", "0"},
                                         std::pair{"/proc/sys/kernel/shmmax", "65536"},
                                         std::pair{"/proc/sys/kernel/shmall", "16"}));

// A container profile that forbids shmget and shmat, as a seccomp filter says it.
void forbid_shared_memory() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(124);
}

TEST(Limits, SharedMemoryForbiddenByAContainerProfile) {
  const Pair pair({.program = "works", .args = {"1000"}, .before_exec = forbid_shared_memory});
  EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
  expect_same(pair, 1);
  expect_waits_or_losses(pair.run(), 2000);
}

TEST(Limits, AFullDevShmDoesNotMatter) {
  const Pair pair({.program = "works", .args = {"1000"}, .before_exec = with_full_dev_shm});
  if (pair.bare.outcome.exited_with(kNotPermitted)) GTEST_SKIP() << "this machine permits no mounts";
  EXPECT_TRUE(pair.bare.outcome.exited_with(5)) << pair.bare.outcome.describe();
  expect_same(pair);
  const Dump calls = dump(pair.run());
  EXPECT_EQ(calls.of("sem_timedwait").size(), 2000u);
  EXPECT_EQ(calls.lost, 0u);
}

class ClosesFds : public testing::TestWithParam<const char*> {};

TEST_P(ClosesFds, NothingIsEverWrittenIntoTheProgramsFiles) {
  const Pair pair({.program = "closes_every_fd", .args = {GetParam()}});
  EXPECT_EQ(pair.bare.outcome.out, "looked at all files, first number 3\n");
  expect_same(pair, 1);
  const Dump calls = dump(pair.run());
  EXPECT_GE(calls.of("sem_timedwait").size() + calls.lost, 3300u);
}
INSTANTIATE_TEST_SUITE_P(Limits, ClosesFds, testing::Values("closefrom", "range", "loop", "daemon", "dup2"),
                         [](const auto& each) { return std::string(each.param); });

// A message of ours has a place only where the program was started with standard error, and only while it is there.
TEST(Limits, MessagesNeverLandInAFileThatTookTheNumberOfStandardError) {
  for (const char* out : {"/dev/null/run", "good-folder"}) {
    for (const char* way : {"closed", "late"}) {
      SCOPED_TRACE(std::string(way) + " " + out);
      const auto close_all = [=] {
        for (int fd = 0; fd < 3 && std::string(way) == "closed"; ++fd) close(fd);
      };
      const Pair pair({.program = "replaces_stderr",
                       .args = {way},
                       .probe = {{"HOSTPROBE_OUT", out}, {"HOSTPROBE_NO_SUCH_SETTING", "1"}},
                       .before_exec = close_all});
      EXPECT_TRUE(pair.bare.outcome.exited_with(4)) << pair.bare.outcome.describe();
      expect_same(pair, 2);
      EXPECT_EQ(pair.probed.number("bytes"), 0);
      EXPECT_EQ(pair.probed.told("numbers"), pair.bare.told("numbers"));
    }
  }
}

}  // namespace
}  // namespace hostprobe::test
