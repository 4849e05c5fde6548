// How processes ended, by whoever saw it, what they were in at the end, and what they were started for:
// analysis/questions/{endings,open_waits,process_task}.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/measures/process_task.h"
#include "analysis/ranks/endings.h"
#include "analysis/ranks/open_waits.h"
#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
using test::TraceFile;

class Endings : public testing::Test {
 protected:
  TraceFile process(std::uint32_t pid, int rank) {
    TraceFile file;
    file.header.pid = pid;
    file.header.rank = rank;
    file.hooks({test::wait_hook("sem_wait"), test::wait_hook("clock_nanosleep"), test::wait_hook("waitpid")});
    file.module(0x1000, 0x2000, "/usr/bin/python3.11");
    return file;
  }
  static TraceFile& killed(TraceFile& file) {
    file.header.state = kFileOpen;
    return file;
  }
  static void collects(TraceFile& parent, std::uint32_t pid, int status, double at_us) {
    EventRow row{};
    row.ticks = test::at_us(at_us);
    row.kind = kEventChildEnded;
    row.number = pid;
    row.amount = static_cast<std::uint64_t>(status);
    parent.block(kBlockEvents, test::bytes_of(row));
  }
  static void starts_at(TraceFile& file, double us) {
    file.header.start = test::clock_at_us(us);
    file.header.first = test::clock_at_us(us + 10);
    file.header.last = test::clock_at_us(us + 1'000'000);
  }
  static ThreadEntry waiting(std::uint32_t tid, std::uint16_t hook, double since_us) {
    ThreadEntry entry = test::thread_entry(tid, "python3");
    entry.open = {pack_place(0x1001, hook), test::at_us(since_us), 0};
    return entry;
  }
  void keep(const TraceFile& file) { file.write(folder_.file("h-" + std::to_string(file.header.pid) + "-1.hptrace")); }
  RunAnswer run() { return analyse_run(folder_.path().string(), {}); }
  json report() { return json::parse(report_json(run())); }
  json of(std::uint32_t pid) {
    const json whole = report();
    for (const json& one : whole["processes"])
      if (one["pid"] == pid) return one;
    return {};
  }
  test::TestFolder folder_;
};

TEST_F(Endings, ThatAParentSawHaveSignalAndTime) {
  TraceFile parent = process(10, -1), child = process(11, 1), other = process(12, 0);
  collects(parent, 11, SIGKILL, 900'000);
  keep(parent);
  keep(killed(child));
  keep(other);
  const json end = of(11)["end"];
  EXPECT_EQ(end["how"], "killed");
  EXPECT_EQ(end["signal"], "SIGKILL");
  EXPECT_NEAR(end["at_s"].get<double>(), 1.0, 0.001) << "its last proof of life was later than its parent's";
  EXPECT_EQ(of(12)["end"]["how"], "exited");
  EXPECT_TRUE(of(12)["end"]["signal"].is_null());
  const RunAnswer answer = run();
  const std::vector<Death> deaths = deaths_of(answer);
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(answer.processes[deaths[0].process].rank, 1);
  EXPECT_EQ(deaths[0].others, 0u);
  EXPECT_TRUE(of(10)["events"].empty()) << "nothing that hostprobe did";
}

TEST_F(Endings, ThatNobodySawAreNotSaidToBeKills) {
  TraceFile alone = process(11, 0);
  keep(killed(alone));
  EXPECT_EQ(of(11)["end"]["how"], "recovered");
  EXPECT_TRUE(of(11)["end"]["signal"].is_null());
  EXPECT_EQ(deaths_of(run()).size(), 1u);
}

TEST_F(Endings, ByTheBareSystemCallAreExitsWhereTheParentSawThem) {
  TraceFile parent = process(10, -1), child = process(11, 1);
  collects(parent, 11, W_EXITCODE(3, 0), 900'000);
  keep(parent);
  keep(killed(child));
  EXPECT_EQ(of(11)["end"]["how"], "exited");
  EXPECT_EQ(of(11)["end"]["status"], 3);
}

TEST_F(Endings, OfRecoveredTracesAreWhatTheParentSaw) {
  TraceFile parent = process(10, -1), killed_one = process(11, 1), left = process(12, 2), unseen = process(13, 3);
  collects(parent, 11, SIGKILL, 900'000);
  collects(parent, 12, W_EXITCODE(3, 0), 900'000);
  keep(parent);
  for (TraceFile* file : {&killed_one, &left, &unseen}) {
    file->header.state = kFileRecovered;
    keep(*file);
  }
  EXPECT_EQ(of(11)["end"]["how"], "killed");
  EXPECT_EQ(of(12)["end"]["how"], "exited");
  EXPECT_EQ(of(13)["end"]["how"], "recovered");
}

TEST_F(Endings, OfAnEarlierProcessWithTheSameIdAreNotThisOnes) {
  TraceFile parent = process(10, -1), child = process(11, 1);
  starts_at(child, 950'000);
  collects(parent, 11, SIGKILL, 900'000);
  keep(parent);
  keep(killed(child));
  EXPECT_TRUE(of(11)["end"]["signal"].is_null());
}

TEST_F(Endings, OfTheProgramItselfStandInTheJobFile) {
  TraceFile program = process(11, -1);
  keep(killed(program));
  std::ofstream(folder_.file("testhost-11-1.job.json"))
      << R"({"host": "testhost", "pid": 11, "status": 137, "wall_s": 0.5})";
  std::ofstream(folder_.file("testhost-12-1.job.json")) << "{ not whole";
  std::ofstream(folder_.file("testhost-13-1.job.json")) << R"({"host": 7, "pid": -1, "status": "x", "wall_s": null})";
  EXPECT_EQ(of(11)["end"]["signal"], "SIGKILL");
  EXPECT_EQ(of(11)["end"]["how"], "killed");
}

TEST_F(Endings, OfTheJobAreThoseOfTheLastImageOfItsProgram) {
  TraceFile first = process(11, -1), second = process(11, -1);
  starts_at(second, 500'000);
  first.write(folder_.file("h-11-1.hptrace"));
  killed(second).write(folder_.file("h-11-2.hptrace"));
  std::ofstream(folder_.file("testhost-11-1.job.json"))
      << R"({"host": "testhost", "pid": 11, "status": 137, "wall_s": 0.5})";
  const json whole = report();
  ASSERT_EQ(whole["processes"].size(), 2u);
  std::map<std::string, std::size_t> how;
  for (const json& one : whole["processes"]) ++how[one["end"]["how"]];
  EXPECT_EQ(how, (std::map<std::string, std::size_t>{{"exited", 1}, {"killed", 1}}));
}

TEST_F(Endings, RestartsAreCountedWithTheTimeBetweenThem) {
  for (const int restart : {0, 1, 2}) {
    TraceFile rank = process(20 + static_cast<std::uint32_t>(restart), 1);
    rank.header.incarnation = static_cast<std::uint64_t>(restart) + 1;
    starts_at(rank, 3'000'000.0 * restart);
    keep(restart == 2 ? rank : killed(rank));
  }
  const RunAnswer answer = run();
  EXPECT_EQ(restarts_of(answer).count, 2u);
  EXPECT_NEAR(restarts_of(answer).lost_s, 4, 0.01);
  EXPECT_EQ(deaths_of(answer).size(), 2u) << "one for each incarnation";
  EXPECT_EQ(of(22)["restart"], 2);
  EXPECT_FALSE(report()["run"].contains("restart"));
  EXPECT_EQ(answer.ranks, 1u);
}

TEST_F(Endings, OpenWaitsOfDeadRanksArePutTogether) {
  for (const int rank : {0, 1}) {
    TraceFile file = process(30 + static_cast<std::uint32_t>(rank), rank);
    file.header.last = test::clock_at_us(10'000'000);
    file.thread(waiting(file.header.pid, 1, 1'000'000.0 + 500'000 * rank));
    keep(killed(file));
  }
  const std::vector<LongWait> waits = long_waits(run());
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(waits[0].function, "sem_wait");
  EXPECT_NEAR(waits[0].most_s, 9, 0.001);
  EXPECT_NEAR(waits[0].least_s, 8.5, 0.001);
  EXPECT_TRUE(waits[0].ended);
  const json open = of(30)["threads"][0]["open_wait"];
  EXPECT_EQ(open["function"], "sem_wait");
  EXPECT_EQ(open["library"], "python3.11");
  EXPECT_TRUE(open["python"].is_null());
  EXPECT_NEAR(open["since_s"].get<double>(), 9, 0.001);
  const json site = of(30)["waits"][0];
  EXPECT_EQ(site["count"], 0);
  EXPECT_EQ(site["open"], 1);
  EXPECT_NEAR(site["share_pct"].get<double>(), 90, 0.01);
}

TEST_F(Endings, ALaunchersWaitForItsProgramIsNoNewsAndASleepSleeps) {
  RunAnswer run;
  for (const auto& [function, kind] : {std::pair{"waitpid", CallKind::kChild}, {"clock_nanosleep", CallKind::kSleep}}) {
    ProcessAnswer process;
    process.pid = static_cast<std::uint32_t>(run.processes.size() + 1);
    process.wall_ms = 10'000;
    process.end = EndState::kRunning;
    ThreadAnswer& main = process.threads.emplace_back();
    main.tid = process.pid;
    main.open_wait = OpenWaitAnswer{function, "python3.11", 0, 9'000, kind};
    run.processes.push_back(process);
  }
  const std::vector<LongWait> waits = long_waits(run);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_TRUE(waits[0].sleeps);
}

class Tasks : public testing::Test {
 protected:
  ProcessAnswer& add(std::uint32_t parent, std::optional<int> rank, const std::string& command) {
    ProcessAnswer& process = processes_.emplace_back();
    process.pid = static_cast<std::uint32_t>(processes_.size());
    process.parent_pid = parent;
    process.rank = rank;
    process.command = command;
    process.program = "/usr/bin/python3";
    process.start_monotonic_ns = 1000 * processes_.size();
    return process;
  }
  std::vector<ProcessAnswer> processes_;
};

TEST_F(Tasks, WorkersAreNeverRanksHoweverTheyWereStarted) {
  processes_.reserve(20);
  add(0, {}, "/usr/bin/python3 /venv/bin/torchrun --nproc-per-node=2 train.py");
  add(1, 0, "python3 -u train.py");
  add(1, 1, "python3 -u train.py");
  add(2, 0, "python3 -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=7, pipe_handle=9)");
  add(2, 0, "python3 -c from multiprocessing.forkserver import main; main(5, 6)");
  add(5, 0, "python3 -c from multiprocessing.forkserver import main; main(5, 6)").forked_from = 5;
  add(2, 0, "python3 -c from multiprocessing.resource_tracker import main;main(4)");
  add(2, 0, "python3 /venv/torch/_inductor/compile_worker/__main__.py --workers=2");
  add(8, 0, "python3 /venv/torch/_inductor/compile_worker/__main__.py --workers=2").forked_from = 8;
  add(99, 1, "python3 -c from multiprocessing.resource_tracker import main;main(4)");
  tell_kinds(processes_);
  using enum ProcessKind;
  std::vector<ProcessKind> kinds;
  for (const ProcessAnswer& process : processes_) kinds.push_back(process.kind);
  EXPECT_EQ(kinds, (std::vector<ProcessKind>{kOther, kRank, kRank, kWorker, kOther, kWorker, kOther, kWorker, kWorker,
                                             kOther}));
  EXPECT_EQ(processes_[0].task, ProcessTask::kLauncher);
  EXPECT_EQ(processes_[5].task, ProcessTask::kSpawned);
  EXPECT_EQ(processes_[8].task, ProcessTask::kCompiler);
}

TEST_F(Tasks, TheProcessThatStartsTheOtherRanksIsTheFirst) {
  processes_.reserve(4);
  add(0, {}, "python3 fit.py");
  add(1, 1, "python3 fit.py");
  add(1, 2, "python3 fit.py");
  tell_kinds(processes_);
  EXPECT_EQ(processes_[0].kind, ProcessKind::kRank);
  EXPECT_EQ(processes_[0].rank, 0);
}

TEST_F(Tasks, AnAgentIsNoRankThoughItsFirstRankLeftNoTrace) {
  processes_.reserve(4);
  add(0, {}, "python3 -m torch.distributed.run train.py");
  add(1, 1, "python3 train.py");
  tell_kinds(processes_);
  EXPECT_EQ(processes_[0].kind, ProcessKind::kOther);
}

}  // namespace
}  // namespace hostprobe::analysis
