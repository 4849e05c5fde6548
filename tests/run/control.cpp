// control: `hostprobe ctl` and the processes it asks.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>

#include "answers.h"
#include "format/file.h"
#include "run_probed.h"
#include "staying.h"

namespace hostprobe::test {
namespace {
namespace fs = std::filesystem;

bool anything(const nlohmann::json&) { return true; }
bool has_trigger(const nlohmann::json& status) { return status.at("triggers") != 0; }

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

// One line for people on stderr, nothing on stdout.
void expect_failure(const Outcome& said, int status, const std::string& words) {
  EXPECT_TRUE(said.exited_with(status)) << said.describe();
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
  EXPECT_TRUE(says(said.err, words)) << said.err << "does not say: " << words;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

std::vector<EventRow> events_in(const fs::path& file) {
  const std::string bytes = bytes_of(file);
  std::vector<EventRow> events;
  BlockHead head{};
  for (std::size_t at = kFileHeaderBytes; at + sizeof head <= bytes.size(); at += sizeof head + head.payload_bytes) {
    std::memcpy(&head, &bytes[at], sizeof head);
    for (std::size_t row = 0; head.kind == kBlockEvents && row < head.payload_bytes; row += sizeof(EventRow)) {
      events.emplace_back();
      std::memcpy(&events.back(), &bytes[at + sizeof head + row], sizeof(EventRow));
    }
  }
  return events;
}

std::size_t count_of(const std::vector<EventRow>& events, EventKind kind, const std::string& text) {
  return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&](const EventRow& event) {
    return event.kind == kind && std::string(event.text) == text;
  }));
}

// The shared memory of the one process of a run, as ctl sees it.
class Attached {
 public:
  explicit Attached(const fs::path& run) {
    FileHeader header{};
    std::memcpy(&header, bytes_of(trace_files(run).at(0)).data(), sizeof header);
    header_ = static_cast<SegmentHeader*>(shmat(header.segment_id, nullptr, 0));
  }
  ~Attached() { shmdt(header_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  Control& control() { return header_->control; }

 private:
  SegmentHeader* header_;
};

pid_t pid_of_one_that_ended() { return run({.command = {"/bin/true"}}).pid; }

TEST(Ctl, StatusTellsWhatIsRecordedAndWhatCanBeSet) {
  ScratchFolder scratch;
  run_staying({.program = "stays", .probe = {{"HOSTPROBE_BUDGET", "1.25"}}}, scratch, [](pid_t pid) {
    const auto status = await_status(pid, [](const auto& each) { return each.at("records") > 100; });
    EXPECT_EQ(status.at("pid"), pid);
    EXPECT_EQ(status.at("recording"), true);
    EXPECT_GE(status.at("records"), 100);
    EXPECT_EQ(status.at("lost"), 0);
    EXPECT_EQ(status.at("threads"), 2) << "the victim's and hostprobe's own";
    EXPECT_EQ(status.at("last_trigger"), nullptr);
    EXPECT_EQ(status.at("settings").size(), 12u);
    EXPECT_EQ(status.at("settings").at("budget"), 1.25);
    EXPECT_EQ(status.at("settings").at("hang_s"), 300);
    const Outcome text = ctl(pid, {"status"});
    EXPECT_TRUE(text.exited_with(0)) << text.describe();
    EXPECT_TRUE(says(text.out, "recording since") && says(text.out, " budget=1.25\n")) << text.out;
  });
}

TEST(Ctl, StopPausesAndStartGoesOn) {
  ScratchFolder scratch;
  const OneRun one = run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    for (const char* verb : {"stop", "stop"}) EXPECT_TRUE(ctl(pid, {verb}).exited_with(0)) << verb;
    const auto paused = await_status(pid, anything);
    EXPECT_EQ(paused.at("recording"), false);
    EXPECT_TRUE(says(ctl(pid, {"status"}).out, "paused since"));
    usleep(600000);
    EXPECT_EQ(await_status(pid, anything).at("records"), paused.at("records"));
    for (const char* verb : {"start", "start"}) EXPECT_TRUE(ctl(pid, {verb}).exited_with(0)) << verb;
    const auto more = [&](const auto& each) { return each.at("records") > paused.at("records"); };
    const auto resumed = await_status(pid, more);
    EXPECT_TRUE(more(resumed)) << resumed;
    EXPECT_EQ(resumed.at("recording"), true);
  });
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  const auto events = events_in(trace_files(scratch.run()).at(0));
  EXPECT_EQ(count_of(events, kEventStopped, ""), 1u);
  EXPECT_EQ(count_of(events, kEventStarted, ""), 1u);
  EXPECT_EQ(dump(scratch.run()).lost, 0u);
}

TEST(Ctl, APauseMayStandAtTheBeginning) {
  ScratchFolder scratch;
  run_staying({.program = "stays", .args = {"pauses"}}, scratch, [](pid_t pid) {
    const auto paused = await_status(pid, anything);
    EXPECT_EQ(paused.at("recording"), false);
    EXPECT_EQ(paused.at("records"), 0);
    EXPECT_TRUE(ctl(pid, {"start"}).exited_with(0));
    EXPECT_GT(await_status(pid, [](const auto& each) { return each.at("records") > 0; }).at("records"), 0);
  });
}

TEST(Ctl, ThreadsThatEndInAPauseKeepWhatTheyRecorded) {
  ScratchFolder scratch;
  const OneRun one = run_staying({.program = "stays", .args = {"threads"}}, scratch, [](pid_t) {});
  std::map<long long, int> waits;
  const Dump calls = dump(scratch.run());
  for (const Call& call : calls.of("sem_timedwait"))
    if (call.tid != one.outcome.pid) ++waits[call.tid];
  EXPECT_EQ(calls.lost, 0u);
  EXPECT_EQ(waits.size(), 3u);
  for (const auto& [tid, count] : waits) EXPECT_EQ(count, 5) << tid;
  EXPECT_EQ(report(scratch.run()).at("processes").at(0).at("lost"), 0);
}

TEST(Ctl, AProcessThatEndsInAPauseLeavesAWholeTrace) {
  ScratchFolder scratch;
  const OneRun one =
      run_staying({.program = "stays"}, scratch, [](pid_t pid) { EXPECT_TRUE(ctl(pid, {"stop"}).exited_with(0)); });
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
  FileHeader header{};
  std::memcpy(&header, bytes_of(trace_files(scratch.run()).at(0)).data(), sizeof header);
  EXPECT_EQ(header.state, kFileClosed);
  EXPECT_GT(dump(scratch.run()).of("sem_timedwait").size(), 0u);
}

TEST(Ctl, TriggerHandsItsTextOn) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    EXPECT_TRUE(ctl(pid, {"trigger", "loss", "is NaN", "--", "-x"}).exited_with(0));
    const auto last = await_status(pid, has_trigger).at("last_trigger");
    EXPECT_EQ(last.at("reason"), "command");
    EXPECT_EQ(last.at("text"), "loss is NaN -x");
    expect_failure(ctl(pid, {"trigger", std::string(300, 'x')}), 1, "are too many");
  });
}

TEST(Ctl, SetChangesWhatCanBeChangedAndRefusesTheRest) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    EXPECT_TRUE(ctl(pid, {"set", "stack-us=7", "budget=2.5"}).exited_with(0));
    const auto settings = await_status(pid, anything).at("settings");
    EXPECT_EQ(settings.at("stack_us"), 7);
    EXPECT_EQ(settings.at("budget"), 2.5);
    expect_failure(ctl(pid, {"set", "hang_s=soon"}), 1, "hang_s=soon cannot be used (not a whole number in range)");
    expect_failure(ctl(pid, {"set", "stall_us=101"}), 1, "1 to 100");
    expect_failure(ctl(pid, {"set", "out=/tmp"}), 1, "out can only be set at the start");
    expect_failure(ctl(pid, {"set", "stacks=1"}), 1, "stacks is not a setting");
    expect_failure(ctl(pid, {"set", "stack_us"}), 2, "NAME=VALUE");
    expect_failure(ctl(pid, {"set"}), 2, "NAME=VALUE");
    expect_failure(ctl(pid, {"explode"}), 2, "no verb 'explode'");
    expect_failure(ctl(pid, {"stop", "now"}), 2, "takes nothing");
    EXPECT_EQ(await_status(pid, anything).at("settings").at("hang_s"), 300);
  });
  const auto events = events_in(trace_files(scratch.run()).at(0));
  EXPECT_EQ(count_of(events, kEventSetting, "stack_us=7"), 1u);
  EXPECT_EQ(count_of(events, kEventSetting, "budget=2.5"), 1u);
}

TEST(Ctl, ASettingHoldsFromThenOn) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    EXPECT_TRUE(ctl(pid, {"set", "wait_us=100"}).exited_with(0));
    EXPECT_TRUE(ctl(pid, {"set", "stack_us=0"}).exited_with(0));
  });
  EXPECT_EQ(report(scratch.run()).at("processes").at(0).at("lost"), 0);
}

TEST(Ctl, SaysWhenThereIsNoSuchProcess) {
  expect_failure(ctl(pid_of_one_that_ended(), {"status"}), 1, "there is no process");
  EXPECT_TRUE(ctl(0, {"status"}).exited_with(1));
  EXPECT_TRUE(run({.command = {probe_command(), "ctl", "me", "status"}}).exited_with(2));
}

TEST(Ctl, SaysWhenAProcessDoesNotRecord) {
  ScratchFolder scratch;
  Victim victim{.program = "stays"};
  victim.while_running = [](pid_t pid) {
    usleep(100000);
    expect_failure(ctl(pid, {"status"}), 1, "does not record");
    kill(pid, SIGTERM);
  };
  run_bare(victim, scratch);
}

TEST(Ctl, IsForTheSameUserAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    const Outcome said = run({.command = {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                                          probe_command(), "ctl", std::to_string(pid), "trigger"}});
    if (said.exited_with(126) || said.exited_with(127)) return;  // the build folder is not for other users
    expect_failure(said, 1, "permission denied");
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
  });
}

TEST(Ctl, WhatAStoppedProcessWasAskedIsNotDoneLater) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    kill(pid, SIGSTOP);
    expect_failure(ctl(pid, {"trigger", "--timeout", "0.5"}), 1, "is stopped");
    kill(pid, SIGCONT);
    usleep(600000);
    EXPECT_EQ(await_status(pid, anything).at("triggers"), 0);
    EXPECT_TRUE(ctl(pid, {"trigger"}).exited_with(0));
  });
}

TEST(Ctl, NoticesWhenTheProcessEndsBeforeItAnswers) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [](pid_t pid) {
    kill(pid, SIGSTOP);
    Launch launch;
    launch.command = {probe_command(), "ctl", std::to_string(pid), "status", "--timeout", "30"};
    launch.while_running = [pid](pid_t) {
      usleep(300000);
      kill(pid, SIGKILL);
    };
    expect_failure(run(launch), 1, "ended before it answered");
  });
}

TEST(Ctl, WaitsForItsTurnAndTakesTheTurnOfTheDead) {
  ScratchFolder scratch;
  run_staying({.program = "stays"}, scratch, [&](pid_t pid) {
    Attached segment(scratch.run());
    std::atomic_ref owner(segment.control().owner);
    owner.store(static_cast<std::uint32_t>(getpid()));
    expect_failure(ctl(pid, {"status", "--timeout", "0.3"}), 1, "another `hostprobe ctl` (process");
    EXPECT_EQ(owner.load(), static_cast<std::uint32_t>(getpid()));
    owner.store(static_cast<std::uint32_t>(pid_of_one_that_ended()));
    EXPECT_TRUE(ctl(pid, {"status"}).exited_with(0));
    EXPECT_EQ(owner.load(), 0u);
  });
}

// What stands in the memory may be anything: it was written by another process.
TEST(Ctl, NonsenseInTheMemoryIsRefused) {
  ScratchFolder scratch;
  const OneRun one = run_staying({.program = "stays"}, scratch, [&](pid_t pid) {
    Attached segment(scratch.run());
    Control& control = segment.control();
    std::memset(control.request, '=', sizeof control.request);
    std::atomic_ref asked(control.asked), answered(control.answered);
    asked.store(answered.load() + 1);
    for (int i = 0; i < 5000 && answered.load() != asked.load(); ++i) usleep(1000);
    EXPECT_EQ(answered.load(), asked.load());
    EXPECT_EQ(control.refused, 1u);
    EXPECT_TRUE(says(control.answer, "does not know")) << control.answer;
    EXPECT_TRUE(ctl(pid, {"status"}).exited_with(0));
  });
  EXPECT_TRUE(one.outcome.exited_with(0)) << one.outcome.describe();
}

}  // namespace
}  // namespace hostprobe::test
