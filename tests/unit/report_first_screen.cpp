// The first screen of a report, its verdict, and the tables behind it: answer/verdict.cpp, report/text/{first_screen,tables}.cpp,
// report/text_table.cpp, words/words.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "answer/verdict.h"
#include "report/columns.h"
#include "report/json/json.h"
#include "report/text/first_screen.h"
#include "report/text/tables.h"
#include "report/text/text.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kWidths[] = {20, 60, 80, 120, 200};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Finding lost(Cause cause, double pct, std::optional<int> rank = {}) {
  Finding one;
  one.cause = cause;
  one.symptom = Symptom::kLostTime;
  one.share_pct = pct;
  one.rank = rank;
  one.of_steps = true;
  one.ms_per_step = pct / 10;
  one.gain_pct = pct - 1;
  one.gain_low_pct = pct - 2;
  one.gain_high_pct = pct;
  return one;
}

void add_lost(StepTime& time, Cause cause, double pct) {
  LostTime& one = time.lost.emplace_back();
  one.cause = cause;
  one.ns = 1e7 * pct;
}

// Of two ranks, 10 ms a step, all of it explained.
RunAnswer job(std::vector<Finding> findings) {
  RunAnswer run;
  run.path = "run";
  run.ranks = 2;
  run.wall_s = 7.4;
  run.hosts = {"a"};
  for (const int rank : {0, 1}) {
    ProcessAnswer& process = run.processes.emplace_back();
    process.rank = rank;
    process.kind = ProcessKind::kRank;
    process.pid = 100 + static_cast<std::uint32_t>(rank);
    process.host = "a";
    process.wall_ms = 7400;
    process.trace_path = std::to_string(rank);
    run.step_members.push_back(process.trace_path);
  }
  run.steps.lengths = {.count = 100, .total_ns = 1e9, .median_ns = 1e7, .p99_ns = 2e7, .max_ns = 3e7};
  run.step_time.emplace();
  run.step_time->length_ns = 1e9;
  run.step_time->steps = 100;
  double rest = 100;
  for (const Finding& one : findings) {
    add_lost(*run.step_time, one.cause, one.share_pct);
    rest -= one.share_pct;
  }
  add_lost(*run.step_time, Cause::kGpuBound, rest);
  run.findings = std::move(findings);
  return run;
}

std::string screen(const RunAnswer& run, std::size_t width = 80) { return first_screen(run, {.width = width}); }

VerdictWord word(const RunAnswer& run) { return verdict_of(run).word; }

TEST(Verdict, NamesWhatLimitsTheRun) {
  EXPECT_EQ(word(job({})), VerdictWord::kHostFine);
  EXPECT_EQ(word(job({lost(Cause::kDataloaderWait, 30)})), VerdictWord::kInputBound);
  EXPECT_EQ(word(job({lost(Cause::kCommBandwidth, 30)})), VerdictWord::kCommunicationBound);
  EXPECT_EQ(word(job({lost(Cause::kGcPause, 30)})), VerdictWord::kHostBound);
  EXPECT_EQ(word(job({lost(Cause::kUnexplained, 30)})), VerdictWord::kCannotTell);
}

TEST(Verdict, OneRankIsLateOnlyWhereTheOthersHaveNothingAlike) {
  EXPECT_EQ(word(job({lost(Cause::kGcPause, 30, 1)})), VerdictWord::kOneRankLate);
  EXPECT_EQ(word(job({lost(Cause::kGcPause, 30, 1), lost(Cause::kFileIo, 5, 0)})), VerdictWord::kOneRankLate);
  EXPECT_EQ(word(job({lost(Cause::kGcPause, 30, 1), lost(Cause::kFileIo, 20, 0)})), VerdictWord::kHostBound);
  EXPECT_EQ(word(job({lost(Cause::kDataloaderWait, 30, 1)})), VerdictWord::kInputBound)
      << "the word says more than the rank";
  RunAnswer alone = job({lost(Cause::kGcPause, 30, 0)});
  alone.ranks = 1;
  EXPECT_EQ(word(alone), VerdictWord::kHostBound) << "nobody waits for the only rank";
}

TEST(Verdict, SeverityIsWhatCanBeGained) {
  EXPECT_EQ(verdict_of(job({})).severity, Severity::kNone);
  EXPECT_EQ(verdict_of(job({lost(Cause::kGcPause, 30)})).severity, Severity::kCritical);
  EXPECT_EQ(verdict_of(job({lost(Cause::kGcPause, 6)})).severity, Severity::kWarning);
  Finding hidden = lost(Cause::kGcPause, 30);
  hidden.gain_pct = 2;
  EXPECT_EQ(verdict_of(job({hidden})).severity, Severity::kWarning) << "lost, but hardly anything to gain";
}

TEST(Verdict, TheProbesOwnCostIsNoVerdict) {
  Finding cost = lost(Cause::kOwnCost, 3);
  cost.symptom = Symptom::kOwnCost;
  EXPECT_EQ(word(job({cost})), VerdictWord::kHostFine);
  EXPECT_THAT(screen(job({cost})), Not(HasSubstr("->")));
}

TEST(Verdict, CannotTellSaysWhy) {
  EXPECT_EQ(verdict_of(RunAnswer{}).reason, NoVerdict::kNoTrace);
  RunAnswer run = job({});
  run.step_time.reset();
  run.step_time_unknown = TimeUnknown::kNoSteps;
  EXPECT_EQ(verdict_of(run).reason, NoVerdict::kNoSteps);
  EXPECT_THAT(screen(run), HasSubstr("no steps were found"));
  run.long_waits.push_back(
      {.function = "sem_wait", .library = "x", .python = "", .ranks = {0}, .pids = {}, .most_s = 9});
  EXPECT_EQ(verdict_of(run).severity, Severity::kCritical) << "a job that stands still is no healthy one";
  EXPECT_EQ(word(run), VerdictWord::kCannotTell);
}

TEST(Verdict, IsTheSameInTheDocument) {
  const auto document = nlohmann::json::parse(report_json(job({lost(Cause::kDataloaderWait, 30)}), {}));
  EXPECT_EQ(document["verdict"]["word"], "input bound");
  EXPECT_EQ(document["verdict"]["severity"], "critical");
  EXPECT_THAT(document["verdict"]["why"].get<std::string>(), HasSubstr("next batch"));
}

TEST(FirstScreen, FitsATerminalWhateverIsFound) {
  std::vector<Finding> many;
  for (const Cause cause :
       {Cause::kDataloaderWait, Cause::kFileIo, Cause::kGcPause, Cause::kRemoteWait, Cause::kPageFaults}) {
    Finding& one = many.emplace_back(lost(cause, 12));
    one.site = FindingSite{
        "read", "libc.so.6", Role::kMain, {std::string(200, 'f') + " (" + std::string(200, 'd') + "/train.py:44)"}};
    one.evidence.add(AwaitedEvidence{.awaited = "/" + std::string(300, 'p')});
  }
  RunAnswer run = job(many);
  run.path = "/tmp/" + std::string(300, 'r');
  for (const std::size_t width : {80u, 120u, 200u}) {
    const std::vector<std::string> lines = lines_of(screen(run, width));
    EXPECT_LE(lines.size(), kScreenLines + 6)
        << "a path of 300 letters is printed whole in a command that is to be copied";
  }
  run.path = "run";
  for (const std::size_t width : {80u, 120u, 200u}) {
    const std::vector<std::string> lines = lines_of(screen(run, width));
    EXPECT_LE(lines.size(), kScreenLines) << screen(run, width);
    for (const std::string& line : lines) EXPECT_LE(columns(line), width) << line;
  }
}

TEST(FirstScreen, OfAnyWidthIsWhole) {
  const RunAnswer run = job({lost(Cause::kDataloaderWait, 30, 1)});
  for (const std::size_t width : kWidths) {
    std::string text = screen(run, width);
    for (char& one : text) one = one == '\n' ? ' ' : one;
    for (const char* word : {"BOUND", "critical", "Data loading", "rank 1", "gain", "Looked for", "Next:"})
      EXPECT_THAT(text, HasSubstr(word)) << width;
    EXPECT_THAT(text, Not(HasSubstr(":  and "))) << width;
  }
}

TEST(FirstScreen, AnswersWhatARankDoesWhatThatCostsAndWhatIsGained) {
  Finding one = lost(Cause::kDataloaderWait, 30, 1);
  one.site =
      FindingSite{"sem_wait", "python3.11", Role::kMain, {"Queue.get (queue.py:171)", "evaluate (src/train.py:44)"}};
  one.evidence.add(HolderEvidence{.held_by = "other", .held_by_tid = 77, .held_by_name = "pt_data_worker-1"});
  const std::string text = screen(job({one}));
  for (const char* answer : {"rank 1", "evaluate (src/train.py:44)", "pt_data_worker-1", "3.00 ms a step · 30 %",
                             "gain 29 % (28 to 30)", "-> Look at how it makes samples", "hostprobe report run"})
    EXPECT_THAT(text, HasSubstr(answer));
}

TEST(FirstScreen, APlaceInALibraryComesWithTheProgramsOwnLine) {
  Finding one = lost(Cause::kGilContention, 30, 1);
  one.site = FindingSite{"sem_wait",
                         "python3.11",
                         Role::kMain,
                         {"Linear.forward (linear.py:134)", "step (train.py:12)", "main (train.py:40)"}};
  std::string text = screen(job({one}));
  for (std::size_t at; (at = text.find("\n    ")) != std::string::npos;) text.replace(at, 5, " ");
  EXPECT_THAT(text, HasSubstr("in Linear.forward (linear.py:134), called from step (train.py:12)"));
  one.site->stack = {"Prefetcher._fill (train.py:9)", "Thread.run (threading.py:975)",
                     "Thread._bootstrap (threading.py:995)"};
  EXPECT_THAT(screen(job({one})), Not(HasSubstr("called from"))) << "a thread begins in Python's own library";
}

TEST(FirstScreen, AHealthyRunSaysSoWithoutAdvice) {
  const std::string text = screen(job({}));
  EXPECT_THAT(text, HasSubstr("HOST FINE"));
  EXPECT_THAT(text, Not(HasSubstr("->")));
  EXPECT_THAT(text, Not(HasSubstr("critical")));
  EXPECT_THAT(text, HasSubstr("Looked for, not found"));
}

TEST(FirstScreen, WhatWasFoundOrNotMeasuredIsNotAmongWhatWasNotFound) {
  const std::string text = screen(job({lost(Cause::kFileIo, 30)}), 200);
  const std::string line = text.substr(text.find("Looked for"), text.find("\nSeen:") - text.find("Looked for"));
  EXPECT_THAT(line, Not(HasSubstr("file access")));
  EXPECT_THAT(line, Not(HasSubstr("garbage"))) << "no process told of its collector";
  EXPECT_THAT(line, Not(HasSubstr("GPU"))) << "none was used";
}

TEST(FirstScreen, WhatTakesMuchAndGainsNothingIsNotCalledNotFound) {
  RunAnswer run = job({lost(Cause::kFileIo, 30)});
  run.findings.clear();
  run.step_time->lost.push_back(run.step_time->lost.front());
  run.step_time->lost.back().cause = Cause::kLockContention;
  run.step_time->lost.back().ns = 1e7;
  const std::string text = screen(run, 200);
  EXPECT_THAT(text, HasSubstr("lock 1.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("file access")));
}

TEST(FirstScreen, SaysWhoseThreadsWantTheCpusThatAreShort) {
  RunAnswer run = job({lost(Cause::kCpuContention, 36)});
  for (ProcessAnswer& process : run.processes) {
    process.cpus = 2;
    for (int i = 0; i < 4; ++i) {
      ThreadAnswer& thread = process.threads.emplace_back();
      thread.tid = process.pid + static_cast<std::uint32_t>(i);
      thread.role = i == 0 ? Role::kMain : Role::kOpenmp;
      thread.time.cpu_ms = 3700;
      thread.time.run_delay_ms = 3700;
    }
  }
  std::string text = screen(run);
  for (std::size_t at; (at = text.find("\n    ")) != std::string::npos;) text.replace(at, 5, " ");
  EXPECT_THAT(text,
              HasSubstr("work for 8.0 CPUs and may use 2: OpenMP threads 6.0 (6), main threads of ranks 2.0 (2)"));
  EXPECT_THAT(text, HasSubstr("OMP_NUM_THREADS=1"));
}

TEST(FirstScreen, SaysInWhichLineTheWorkersOfALoaderSpendTheirTime) {
  RunAnswer run = job({lost(Cause::kDataloaderWait, 30)});
  for (const int rank : {0, 1}) {
    ProcessAnswer& worker = run.processes.emplace_back();
    worker.rank = rank;
    worker.kind = ProcessKind::kWorker;
    worker.task = ProcessTask::kDataLoader;
    worker.pid = 200 + static_cast<std::uint32_t>(rank);
    ThreadAnswer& main = worker.threads.emplace_back();
    main.tid = worker.pid;
    main.role = Role::kDataloader;
    main.time.wall_ms = 1000;
    main.time.cpu_ms = 100;
    for (const char* place : {"Samples.__getitem__ (data.py:45)", "Queue.get (queues.py:113)"}) {
      WaitSite& site = worker.waits.emplace_back();
      site.role = Role::kDataloader;
      site.own_ms = 400;
      site.python.push_back({.text = place, .count = 1, .total_ms = 400});
    }
  }
  const auto flat = [&run] {
    std::string text = screen(run);
    for (std::size_t at; (at = text.find("\n    ")) != std::string::npos;) text.replace(at, 5, " ");
    return text;
  };
  EXPECT_THAT(flat(),
              HasSubstr("2 worker processes spend 40 % of their time waiting in Samples.__getitem__ (data.py:45)"));
  for (ProcessAnswer& worker : run.processes)
    for (ThreadAnswer& thread : worker.threads) thread.time.run_delay_ms = 500;
  EXPECT_THAT(flat(), HasSubstr("2 worker processes spend 50 % of their time ready to run but without a CPU"));
  EXPECT_THAT(flat(), Not(HasSubstr("use more workers")));
}

TEST(Tables, EachIsReadableByItselfAndSaysSoWhereItIsEmpty) {
  const RunAnswer run = job({});
  for (const NamedTable& table : named_tables()) {
    const std::string text = report_text(run, {.tables = {table.name}});
    EXPECT_GE(lines_of(text).size(), 2u) << table.name;
    const bool is_empty = table.text(run, {}).empty();
    EXPECT_EQ(text.find(table.nothing) != std::string::npos, is_empty) << text;
  }
}

TEST(Tables, ComeInTheOrderInWhichTheyAreAskedFor) {
  const std::string text = report_text(job({}), {.tables = {"ranks", "time"}});
  EXPECT_LT(text.find("RANKS"), text.find("TIME"));
}

TextTable names_and_numbers() {
  TextTable table(
      {{.heading = "function", .is_name = true, .least = 12}, {.heading = "count"}, {.heading = "p99", .spare = 1}});
  table.add({"evaluate_the_model_again (src/train.py:44)", "12", "1.20 ms"});
  table.add({"f", "1234", "9 ns"});
  return table;
}

TEST(TextTable, ShortensNamesBeforeItLeavesOutColumns) {
  const TextTable table = names_and_numbers();
  EXPECT_THAT(table.text(100), HasSubstr("evaluate_the_model_again (src/train.py:44)"));
  EXPECT_THAT(table.text(45), HasSubstr("evaluate_the_m… (train.py:44)"));
  EXPECT_THAT(table.text(45), HasSubstr("p99"));
  EXPECT_THAT(table.text(22), Not(HasSubstr("p99")));
  for (const std::size_t width : {20u, 22u, 45u, 100u})
    for (const std::string& line : lines_of(table.text(width))) EXPECT_LE(columns(line), width) << line;
}

TEST(TextTable, ColumnsWithoutContentAreLeftOut) {
  TextTable table({{.heading = "name", .is_name = true}, {.heading = "lost"}});
  table.add({"a", ""});
  EXPECT_EQ(table.text(80), "name\na\n");
}

TEST(Lines, DoNotBreakBetweenANumberAndItsUnit) {
  EXPECT_EQ(wrapped("it takes 12.5 ms, 30 %.", "", "", 15), "it takes\n12.5 ms, 30 %.\n");
  EXPECT_EQ(wrapped("own cost 0.1 %", "", "", 12), "own cost\n0.1 %\n");
  EXPECT_EQ(wrapped("a b c", "- ", "  ", 5), "- a b\n  c\n");
  EXPECT_EQ(wrapped("there are 12 345 678 of 9 000 steps", "", "", 14), "there are\n12 345 678 of\n9 000 steps\n");
}

TEST(Words, APlaceKeepsItsFileAndLine) {
  EXPECT_EQ(shortened_place("evaluate (train.py:44)", 80), "evaluate (train.py:44)");
  EXPECT_EQ(shortened_place("evaluate_everything (src/train.py:44)", 24), "evaluate_… (train.py:44)");
  EXPECT_EQ(shortened_place("evaluate (a/very/deep/folder/train.py:44)", 30), "evaluate (train.py:44)");
  EXPECT_EQ(shortened_place("evaluate (train.py:44)", 11), "train.py:44");
  EXPECT_EQ(shortened_place("/a/very/long/path/to/some/file", 12), "…o/some/file");
  EXPECT_EQ(shortened_place("libpython3.11.so.1.0", 10), "libpython…");
  EXPECT_EQ(columns(shortened_place(std::string(50, 'x') + "äöü (ß.py:1)", 20)), 20u);
}

}  // namespace
}  // namespace hostprobe::analysis
