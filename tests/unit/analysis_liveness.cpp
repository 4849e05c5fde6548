// Is the process of a trace still there? analysis/liveness.cpp
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/trace_file.h"
#include "trace/clock.h"
#include "trace/liveness.h"

namespace hostprobe::analysis {
namespace {

FileHeader header_of(pid_t pid) {
  FileHeader header = test::TraceFile().header;
  header.pid = static_cast<std::uint32_t>(pid);
  header.start = read_clocks_now();
  test::set_text(header.boot_id, current_boot_id());
  return header;
}

TEST(Liveness, RunningProcessLives) { EXPECT_EQ(process_liveness(header_of(getpid())), Liveness::kLives); }

TEST(Liveness, ZombieAndReapedProcessAreDead) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // ended, not yet reaped
  EXPECT_EQ(process_liveness(header_of(child)), Liveness::kDead);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(process_liveness(header_of(child)), Liveness::kDead);
}

TEST(Liveness, ProcessThatGotTheIdLaterIsNotTheOneOfTheTrace) {
  FileHeader header = header_of(getpid());
  header.start.monotonic_ns = 1;  // the trace began with the boot, this process much later
  EXPECT_EQ(process_liveness(header), Liveness::kDead);
}

TEST(Liveness, ProcessThatHasBegunAnotherProgramHasLeftItsMemory) {
  test::TraceSegment segment(77);
  FileHeader header = header_of(getpid());
  header.segment_id = segment.id();
  header.cookie = 77;
  EXPECT_EQ(process_liveness(header), Liveness::kLives);
  segment.leave();
  EXPECT_EQ(process_liveness(header), Liveness::kDead);
  header.cookie = 78;  // somebody else's segment says nothing
  EXPECT_EQ(process_liveness(header), Liveness::kLives);
}

TEST(Liveness, AnotherBootOrHostIsElsewhere) {
  FileHeader header = header_of(getpid());
  test::set_text(header.boot_id, "no-such-boot");
  EXPECT_EQ(process_liveness(header), Liveness::kElsewhere);
}

}  // namespace
}  // namespace hostprobe::analysis
