// The report as text and as JSON: analysis/report/{text,json,losses}.cpp, questions/run_answer.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/findings/run_findings.h"
#include "analysis/run_answer.h"
#include "report/json/json.h"
#include "report/losses.h"
#include "report/text/first_screen.h"
#include "report/text/rank_table.h"
#include "report/text/tables.h"
#include "report/text/text.h"
#include "report/verdict_text.h"
#include "support/trace_file.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

using nlohmann::json;
using test::Call;
using test::TraceFile;
using testing::HasSubstr;

class Reports : public testing::Test {
 protected:
  TraceFile process(int rank, std::uint32_t pid) {
    TraceFile file;
    file.header.rank = rank;
    file.header.pid = pid;
    file.hooks({test::wait_hook("sem_clockwait"), test::launch_hook("cuLaunchKernel"),
                test::sync_hook("cuStreamSynchronize")});
    file.module(0x1000, 0x2000, "/usr/bin/python3.11");
    file.thread(test::thread_entry(pid, "python3"));
    return file;
  }
  void keep(const TraceFile& file) { file.write(folder_.file("h-" + std::to_string(file.header.pid) + "-1.hptrace")); }
  RunAnswer run() { return analyse_run(folder_.path().string(), {}); }
  json as_json() { return json::parse(report_json(run())); }
  std::string as_text(bool all = false) { return report_text(run(), ReportOptions{all}); }
  test::TestFolder folder_;
};

TEST_F(Reports, AProfileOfATracedProcessIsNoIncarnationOfItsRank) {
  for (const int rank : {0, 1}) {
    TraceFile file = process(rank, 100 + static_cast<std::uint32_t>(rank));
    file.calls(file.header.pid, 0, {{.hook = 1, .begin_us = 0, .end_us = 100}});
    keep(file);
    file.header.source = kFromProfile;
    std::memcpy(file.header.mode, "profile", 8);
    file.write(folder_.file("h-" + std::to_string(file.header.pid) + "-2.hptrace"));
  }
  const RunAnswer answer = run();
  ASSERT_EQ(answer.processes.size(), 4u);
  for (const ProcessAnswer& one : answer.processes) {
    const ProcessAnswer* traced = answer.traced(one);
    EXPECT_EQ(traced != nullptr, one.mode == "profile");
    if (traced != nullptr) {
      EXPECT_EQ(traced->pid, one.pid);
    }
  }
  EXPECT_EQ(rank_table(answer, {}).find("×"), std::string::npos) << rank_table(answer, {});
}

// As children of torch.multiprocessing do.
TEST_F(Reports, AProgramThatSetsItsRankItselfHasThatOfItsProfile) {
  TraceFile file = process(-1, 100);
  file.calls(100, 0, {{.hook = 1, .begin_us = 0, .end_us = 100}});
  keep(file);
  file.header.rank = 3;
  file.header.source = kFromProfile;
  std::memcpy(file.header.mode, "profile", 8);
  file.write(folder_.file("h-100-2.hptrace"));
  const RunAnswer answer = run();
  ASSERT_EQ(answer.processes.size(), 2u);
  for (const ProcessAnswer& one : answer.processes) EXPECT_EQ(one.rank, 3);
  EXPECT_EQ(answer.ranks, 1u);
}

TEST_F(Reports, JsonHasEveryKeyOfTheContract) {
  TraceFile file = process(0, 100);
  file.calls(100, 0,
             {{.hook = 1, .begin_us = 0, .end_us = 100, .b = pack_post(100, test::at_us(90)), .c = 0x1001},
              {.hook = 2, .begin_us = 200, .end_us = 202},
              {.hook = 2, .begin_us = 210, .end_us = 212},
              {.hook = 3, .begin_us = 220, .end_us = 320}});
  keep(file);
  const json report = as_json();
  EXPECT_EQ(report["schema"], 1);
  for (const char* key : {"hostprobe", "run", "headline", "findings", "step_share_pct", "steps", "critical_path_pct",
                          "processes", "collectives"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  for (const char* key : {"path", "started", "hosts", "mode", "ranks", "wall_s", "clock_error_us"})
    EXPECT_TRUE(report["run"].contains(key)) << key;
  EXPECT_EQ(report["run"]["ranks"], 1);
  EXPECT_EQ(report["run"]["hosts"], json({"testhost"}));
  EXPECT_EQ(report["run"]["started"], "2023-11-14T22:13:20Z");
  EXPECT_DOUBLE_EQ(report["run"]["wall_s"].get<double>(), 1.0);
  EXPECT_EQ(report["steps"]["source"], "none");
  const json& process = report["processes"].at(0);
  for (const char* key : {"rank", "pid", "host", "command", "wall_ms", "cpu_ms", "records", "lost", "own_cost_pct",
                          "threads", "waits", "launches", "syncs", "gc", "gpu", "progress"}) {
    EXPECT_TRUE(process.contains(key)) << key;
  }
  EXPECT_EQ(process["threads"].at(0)["role"], "main");
  const json& wait = process["waits"].at(0);
  EXPECT_EQ(wait["function"], "sem_clockwait");
  EXPECT_EQ(wait["library"], "python3.11");
  EXPECT_EQ(wait["count"], 1);
  EXPECT_NEAR(wait["p50_us"].get<double>(), 100, 5);
  EXPECT_NEAR(wait["wake"]["p50_us"].get<double>(), 10, 0.5);
  EXPECT_EQ(wait["wake"]["waker_role"], "main");
  EXPECT_EQ(process["launches"]["count"], 2);
  EXPECT_EQ(process["launches"]["by_function"]["cuLaunchKernel"], 2);
  EXPECT_NEAR(process["launches"]["gap_p50_us"].get<double>(), 8, 0.4);
  EXPECT_EQ(process["syncs"]["count"], 1);
}

TEST_F(Reports, WhatWasNotMeasuredIsNullNeverZero) {
  TraceFile file = process(0, 100);
  file.header.process_cpu_ns = 0;
  file.calls(100, 0, {{.hook = 1, .begin_us = 0, .end_us = 100, .c = 0x1001}});
  keep(file);
  const json report = as_json();
  const json& process = report["processes"].at(0);
  for (const json* value :
       {&report["step_share_pct"], &report["critical_path_pct"], &report["steps"]["median_ms"], &process["cpu_ms"],
        &process["own_cost_pct"], &process["gc"], &process["gpu"], &process["progress"],
        &process["threads"][0]["cpu_ms"], &process["waits"][0]["wake"]["p50_us"],
        &process["waits"][0]["wake"]["waker_role"], &process["launches"]["gap_p50_us"]}) {
    EXPECT_TRUE(value->is_null()) << *value;
  }
  EXPECT_EQ(process["launches"]["count"], 0) << "the driver was there and nothing was launched: that is a measured 0";
}

TEST_F(Reports, ProcessWithoutAGpuHasNoLaunches) {
  TraceFile file;
  test::HookLook absent = test::launch_hook("cuLaunchKernel");
  absent.found = false;
  file.hooks({test::wait_hook("sem_wait"), absent});
  keep(file);
  const json process = as_json()["processes"].at(0);
  for (const char* key : {"launches", "syncs", "gpu"}) EXPECT_FALSE(process.contains(key)) << key;
  EXPECT_TRUE(process["rank"].is_null());
}

TEST_F(Reports, RanksComeFirstAndKindsAreTold) {
  TraceFile agent = process(-1, 10), second = process(1, 30), first = process(0, 40), worker = process(0, 50),
            started = process(0, 60);
  worker.header.forked_from = worker.header.parent_pid = 40;
  started.header.parent_pid = 40;  // an exec'd child of rank 0 inherits RANK
  started.header.start = started.header.first = test::clock_at_us(100);
  for (TraceFile* file : {&agent, &second, &first, &worker, &started}) keep(*file);
  const json report = as_json();
  std::vector<std::pair<int, std::string>> seen;
  for (const json& process : report["processes"])
    seen.emplace_back(process["pid"].get<int>(), process["kind"].get<std::string>());
  EXPECT_EQ(seen[0], std::pair(40, std::string("rank")));
  EXPECT_EQ(seen[1], std::pair(30, std::string("rank")));
  EXPECT_THAT(seen, testing::IsSupersetOf({std::pair(50, std::string("worker")), std::pair(60, std::string("other")),
                                           std::pair(10, std::string("other"))}));
  EXPECT_EQ(report["run"]["ranks"], 2);
}

// Each rank with its threads, launches and waits.
TEST_F(Reports, EightRanksFitTheFirstScreenAndTheRestIsThereForTheAsking) {
  for (int rank = 0; rank < 8; ++rank) {
    const auto pid = static_cast<std::uint32_t>(100 * (rank + 1));
    TraceFile file = process(rank, pid);
    for (std::uint32_t i = 1; i < 30; ++i) {
      ThreadEntry service = test::thread_entry(pid + i, "service");
      service.cpu_ns = i < 9 ? 100'000'000 : 1;
      file.thread(service);
      file.calls(pid + i, 0, {{.hook = 1, .begin_us = 0, .end_us = 900'000, .c = 0x1001 + (i << 12)}});
    }
    file.calls(pid, 0,
               {{.hook = 1, .begin_us = 0, .end_us = 100'000.0 + 1000 * rank, .c = 0x1001},
                {.hook = 2, .begin_us = 200'000, .end_us = 200'002},
                {.hook = 3, .begin_us = 220'000, .end_us = 300'000}});
    keep(file);
  }
  const std::string text = as_text();
  EXPECT_LE(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), kScreenLines) << text;
  const auto sections = [](const std::string& report) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = report.find("\nRANK ", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(sections(text), 0u);
  EXPECT_EQ(sections("\n" + report_text(run(), {.tables = {"threads"}})), 2u);
  EXPECT_EQ(sections(as_text(true)), 8u);
  ReportOptions one;
  one.rank = 5;
  EXPECT_EQ(sections(report_text(run(), one)), 1u);
  const json only = json::parse(report_json(run(), one));
  ASSERT_EQ(only["processes"].size(), 1u);
  EXPECT_EQ(only["processes"][0]["rank"], 5);
}

TEST_F(Reports, PartsOfAThreadsTimeSumToItsWallTime) {
  TraceFile file = process(0, 100);
  ThreadEntry main = test::thread_entry(100, "python3");
  main.cpu_ns = 300'000'000;
  main.run_delay_ns = 200'000'000;
  file.thread(main);
  file.calls(100, 0, {{.hook = 1, .begin_us = 0, .end_us = 650'000, .c = 0x1001}});
  keep(file);
  const json thread = as_json()["processes"].at(0)["threads"].at(0);
  double sum = 0;
  for (const char* key : {"cpu_ms", "preempted_ms", "run_queue_ms", "wait_ms", "unexplained_ms"})
    sum += thread[key].is_null() ? 0 : thread[key].get<double>();
  EXPECT_NEAR(sum, thread["wall_ms"].get<double>(), 1e-6);
  EXPECT_NEAR(thread["wall_ms"].get<double>(), 1000, 1e-6);
}

TEST_F(Reports, AShareOfWaitsIsOfTheColumnBesideIt) {
  TraceFile file = process(0, 100);
  file.thread(test::thread_entry(7, "helper"));
  // Half of each wait is behind its post: that is no waiting.
  for (int i = 0; i < 2; ++i)
    file.calls(100, static_cast<std::uint64_t>(i),
               {{.hook = 1,
                 .begin_us = 300'000.0 * i,
                 .end_us = 300'000.0 * i + 200'000,
                 .b = pack_post(7, test::at_us(300'000.0 * i + 100'000)),
                 .c = 0x1010}});
  keep(file);
  const WaitSite site = run().processes.at(0).waits.at(0);
  EXPECT_NEAR(site.own_ms, 200, 1);
  EXPECT_NEAR(site.time.total_ns(), 400e6, 1e6);
  const std::string text = report_text(run(), {.tables = {"waits"}});
  const std::string row = text.substr(text.find("\nsem_clockwait"), 100);
  EXPECT_THAT(row, testing::ContainsRegex("200 ms +20.0"));
  EXPECT_EQ(row.find("400 ms"), std::string::npos) << row;
}

TEST_F(Reports, AJobWithoutAGpuComputesInWhatIsShown) {
  RunAnswer run;
  run.processes.resize(1);
  run.step_members = {""};
  run.step_time.emplace();
  run.step_time->length_ns = 1e9;
  run.step_time->steps = 10;
  run.step_time->lost.emplace_back();
  run.step_time->lost[0].cause = Cause::kGpuBound;
  run.step_time->lost[0].ns = 1e9;
  const ReportOptions time = {.tables = {"time"}};
  EXPECT_NE(report_text(run, time).find("compute "), std::string::npos);
  EXPECT_EQ(report_text(run, time).find("gpu_bound"), std::string::npos);
  EXPECT_NEAR(json::parse(report_json(run))["step_share_pct"]["gpu_bound"].get<double>(), 100, 1e-9) << "ids stay";
  run.processes[0].launches.call.add(1000);
  EXPECT_NE(report_text(run, time).find("gpu_bound "), std::string::npos);
}

TEST_F(Reports, AThreadOfNoRoleIsCalledByItsNameOrByWhatItRuns) {
  ProcessAnswer process;
  process.pid = 100;
  const auto add = [&process](std::uint32_t tid, Role role, const char* name, const char* runs) {
    ThreadAnswer& thread = process.threads.emplace_back();
    thread.tid = tid, thread.role = role, thread.name = name, thread.runs = runs;
  };
  add(100, Role::kMain, "python3", "");
  add(101, Role::kOther, "QueueFeederThre", "");
  add(102, Role::kOther, "python3", "Prefetcher._fill");
  add(103, Role::kOther, "python3", "");
  add(104, Role::kGloo, "pt_gloo_runloop", "");
  const auto title = [&](std::uint32_t tid, Role role = Role::kOther) { return process.thread_title({tid, 0}, role); };
  EXPECT_EQ(title(101), "QueueFeederThre");
  EXPECT_EQ(title(102), "Prefetcher._fill");
  EXPECT_EQ(title(103), "other");
  EXPECT_EQ(title(104, Role::kGloo), "gloo");
  EXPECT_EQ(title(999), "other");
}

TEST_F(Reports, NoLineOfTheTextIsWiderThanTheTerminal) {
  TraceFile file = process(0, 100);
  test::set_text(file.header.command, std::string(400, 'c'));
  file.module(0x10000, 0x20000, "/x/" + std::string(60, 'l') + ".so");
  file.thread(test::thread_entry(7, "pt_gloo_runloop"));
  std::vector<Call> calls;
  for (int i = 0; i < 50; ++i)
    calls.push_back({.hook = 1,
                     .begin_us = 2000.0 * i,
                     .end_us = 2000.0 * i + 1900,
                     .b = pack_post(100, test::at_us(2000.0 * i + 5)),
                     .c = 0x10010});
  file.calls(7, 0, calls);
  file.calls(100, 3,
             {{.hook = 2, .begin_us = 5, .end_us = 9},
              {.hook = 2, .begin_us = 15, .end_us = 19},
              {.hook = 3, .begin_us = 20, .end_us = 900'000}});
  keep(file);
  TraceFile worker = process(0, 200);
  worker.header.forked_from = 100;
  keep(worker);
  for (const std::size_t width : {80u, 120u, 200u})
    for (const bool all : {false, true}) {
      std::istringstream lines(report_text(run(), {.all = all, .width = width}));
      for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), width) << line;
    }
}

TEST_F(Reports, FindingsHaveTheKeysOfTheContract) {
  TraceFile file = process(3, 100);
  test::StringArea strings;
  file.stack(0, {}, {strings.add("_next_data (dataloader.py:1300)")});
  file.strings(strings);
  file.calls(100, 0, {{.hook = 1, .begin_us = 0, .end_us = 500'000, .c = 0x1001, .stack = 1}});
  ThreadEntry main = test::thread_entry(100, "python3");
  main.cpu_ns = 200'000'000;
  main.run_delay_ns = 200'000'000;
  file.thread(main);
  keep(file);
  TraceFile worker;
  worker.header.pid = 200;
  worker.header.parent_pid = worker.header.forked_from = 100;
  worker.header.process_cpu_ns = 950'000'000;
  worker.thread(test::thread_entry(200, "pt_data_worker"));
  keep(worker);
  const json report = as_json();
  ASSERT_EQ(report["findings"].size(), 2u);
  const json& loader = report["findings"].at(0);
  EXPECT_EQ(loader["cause"], "dataloader_wait");
  EXPECT_EQ(loader["rank"], 3);
  EXPECT_EQ(loader["text"], report["headline"].at(0));
  EXPECT_NEAR(loader["share_pct"].get<double>(), 50, 0.01);
  for (const char* key : {"ms_per_step", "gain_pct", "gain_low_pct", "gain_high_pct"})
    EXPECT_TRUE(loader.at(key).is_null()) << key << " is not computed, so it is not 0";
  EXPECT_EQ(loader["fix"]["name"], "num_workers");
  EXPECT_TRUE(loader["fix"]["how"].is_string());
  EXPECT_EQ(loader["site"]["function"], "sem_clockwait");
  EXPECT_EQ(loader["site"]["library"], "python3.11");
  EXPECT_EQ(loader["site"]["role"], "main");
  EXPECT_EQ(loader["site"]["stack"].size(), 1u);
  EXPECT_EQ(loader["evidence"]["count"], 1);
  const json& no_cpu = report["findings"].at(1);
  EXPECT_EQ(no_cpu["cause"], "cpu_contention");
  EXPECT_FALSE(no_cpu.contains("fix"));
  EXPECT_FALSE(no_cpu.contains("site"));
}

TEST_F(Reports, LossesStandBeforeEverythingElse) {
  TraceFile file = process(0, 100);
  file.calls(100, 10, {{.hook = 1, .begin_us = 0, .end_us = 1, .c = 0x1001}});
  keep(file);
  TraceFile::write_bytes(folder_.file("broken.hptrace"), "not a trace");
  const std::string text = as_text();
  const RunAnswer run = analyse_run(folder_.path().string(), {});
  const std::vector<std::string> losses = loss_sentences(run);
  ASSERT_EQ(losses.size(), 2u);
  // Their beginnings: lines are wrapped.
  const auto place = [&text](const std::string& sentence) { return text.find(sentence.substr(0, 14)); };
  EXPECT_LT(place(losses[0]), place(headline(run).at(0))) << text;
  const std::string all = report_text(run, {.tables = {"losses"}});
  for (const std::string& loss : losses) EXPECT_THAT(all, HasSubstr(loss.substr(0, 14)));
  const json report = as_json();
  EXPECT_EQ(report["processes"].at(0)["lost"], 10);
  EXPECT_EQ(report["unreadable"].at(0)["offset"], 0);
}

TEST_F(Reports, FullDiskIsNamedAsTheReason) {
  TraceFile file = process(0, 100);
  file.header.lost = file.header.lost_in_file = 5;
  file.header.file_errno = ENOSPC;
  keep(file);
  EXPECT_THAT(as_text(), testing::ContainsRegex("No\\s+space\\s+left\\s+on\\s+device"));
}

TEST_F(Reports, NamesOfOthersNeitherSteerTheTerminalNorBreakTheJson) {
  TraceFile file = process(0, 100);
  file.thread(test::thread_entry(7, "\x1b]0;owned\x07\xff"));
  keep(file);
  EXPECT_EQ(as_text().find('\x1b'), std::string::npos);
  EXPECT_EQ(as_json()["processes"].at(0)["threads"].size(), 2u);
}

TEST_F(Reports, EmptyFolderGivesAnEmptyRun) {
  EXPECT_TRUE(run().processes.empty());
  EXPECT_TRUE(run().unreadable.empty());
}

TEST_F(Reports, ProgressEndsWithAllBytesRead) {
  keep(process(0, 100));
  std::uint64_t last = 0, of = 1;
  analyse_run(folder_.path().string(), [&](std::uint64_t done, std::uint64_t all) { last = done, of = all; });
  EXPECT_EQ(last, of);
  EXPECT_GT(of, 0u);
}

}  // namespace
}  // namespace hostprobe::analysis
