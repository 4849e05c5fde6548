// The view of `hostprobe top`: readings become rows, answers become causes, and all of it becomes lines that fit the screen.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "live/top/cause_reader.h"
#include "live/top/rank_history.h"
#include "live/top/recent_causes.h"
#include "live/top/view_json.h"
#include "live/top/view_lines.h"
#include "live/top/watched_run.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

StepRing ring_of(std::uint32_t count, std::uint64_t length_ns) {
  StepRing ring{.from = 3, .count = count, .places = {}};
  for (std::uint32_t i = 0; i < count; ++i) ring.places[i % kStepPlaces] = {(i + 1) * length_ns, length_ns};
  return ring;
}

TEST(StepRing, GivesAllStepsThatAreWhole) {
  EXPECT_TRUE(whole_steps(ring_of(0, 100), 0, 0).empty());
  EXPECT_EQ(whole_steps(ring_of(5, 100), 5, 5).size(), 5u);
  const std::vector<StepPlace> steps = whole_steps(ring_of(200, 100), 200, 200);
  ASSERT_EQ(steps.size(), kStepPlaces - 1);
  EXPECT_EQ(steps.back().end_ns, 20000u);
  EXPECT_EQ(steps.front().end_ns, (200 - kStepPlaces + 2) * 100);
}

TEST(StepRing, LeavesOutWhatWasOverwrittenMeanwhile) {
  EXPECT_EQ(whole_steps(ring_of(200, 100), 200, 210).size(), kStepPlaces - 11);
  EXPECT_TRUE(whole_steps(ring_of(200, 100), 200, 400).empty());
}

TEST(StepRing, IsEmptyWhereAnotherSourceShowsTheStepsNow) {
  EXPECT_TRUE(whole_steps(ring_of(200, 100), 200, 3).empty());
  StepRing ring = ring_of(5, 100);
  ring.from = 0;
  EXPECT_TRUE(whole_steps(ring, 5, 5).empty());
}

TEST(LiveSteps, HaveTheMedianAndTheRateOfTheLast31) {
  std::vector<StepPlace> steps;
  std::uint64_t at_ns = 0;
  for (int i = 0; i < 63; ++i) {
    const std::uint64_t length_ns = i < 32 ? 500'000'000 : i == 40 ? 900'000'000 : 100'000'000;
    steps.push_back({at_ns += length_ns, length_ns});
  }
  const auto live = live_steps(steps, 63, at_ns + 2 * kSecondNs);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->last_ms.size(), 60u);
  EXPECT_DOUBLE_EQ(live->median_ms, 100);
  EXPECT_NEAR(live->per_s, 31 / 3.9, 1e-6);
  EXPECT_DOUBLE_EQ(live->since_s, 2);
  EXPECT_FALSE(live_steps({}, 0, at_ns));
}

FileHeader header_of(std::uint32_t pid, std::int32_t rank) {
  FileHeader header{};
  header.pid = pid;
  header.rank = rank;
  header.state = kFileOpen;
  header.start = {1000, 1000, 0};  // a tick is a nanosecond
  header.first = header.start;
  return header;
}

ThreadEntry thread_of(std::uint32_t tid, const char* name, std::uint64_t cpu_ns) {
  ThreadEntry entry{};
  entry.state = kThreadLive;
  entry.tid = tid;
  entry.start_ticks = 5;
  entry.cpu_ns = cpu_ns;
  std::strncpy(entry.name, name, sizeof entry.name - 1);
  return entry;
}

SegmentReading reading_at(std::uint64_t at_ns, std::uint64_t cpu_ns) {
  SegmentReading reading;
  reading.at_ns = at_ns;
  reading.clock = {at_ns, at_ns, at_ns};
  reading.process_cpu_ns = cpu_ns;
  reading.threads = {thread_of(7, "python", cpu_ns / 2)};
  return reading;
}

std::string name_hook(std::uint16_t hook) { return hook == 4 ? "sem_wait" : "?"; }

TEST(RankHistory, HasRatesOfTheLastTenSeconds) {
  RankHistory history(header_of(7, 3));
  for (std::uint64_t second = 1; second <= 30; ++second) {
    // It began to use a CPU 15 s ago.
    SegmentReading reading = reading_at(second * kSecondNs, second < 15 ? 0 : (second - 15) * kSecondNs / 2);
    reading.throttled_ns = second * kSecondNs / 10;
    history.add(std::move(reading), header_of(7, 3));
  }
  const LiveRank rank = history.rank(name_hook);
  EXPECT_EQ(rank.rank, 3);
  EXPECT_NEAR(*rank.cpu_pct, 50, 1e-6);
  EXPECT_NEAR(*rank.throttled_pct, 10, 1e-6);
  ASSERT_EQ(rank.threads.size(), 1u);
  EXPECT_NEAR(*rank.threads[0].cpu_pct, 25, 1e-6);
  EXPECT_FALSE(rank.steps);
  EXPECT_FALSE(rank.own_cost_pct) << "the file does not say what a record costs";
}

TEST(RankHistory, SaysNoRateOfOneReading) {
  RankHistory history(header_of(7, 0));
  history.add(reading_at(kSecondNs, 5), header_of(7, 0));
  const LiveRank rank = history.rank(name_hook);
  EXPECT_FALSE(rank.cpu_pct);
  EXPECT_FALSE(rank.threads[0].cpu_pct);
}

TEST(RankHistory, NamesTheOpenWaitAndSinceWhen) {
  RankHistory history(header_of(7, 0));
  SegmentReading reading = reading_at(10 * kSecondNs, 5);
  reading.threads[0].open = {pack_place(0x1234, 4), 4 * kSecondNs, 0};
  reading.threads.push_back(thread_of(8, "loader", 100));
  history.add(std::move(reading), header_of(7, 0));
  const LiveRank rank = history.rank(name_hook);
  ASSERT_TRUE(rank.in);
  EXPECT_EQ(rank.in->function, "sem_wait");
  EXPECT_NEAR(rank.in->since_s, 6, 1e-6);
}

TEST(RankHistory, CountsItsOwnCostByTheReportsFormula) {
  FileHeader header = header_of(7, 0);
  header.record_cost_ticks = 1024 * 100;  // 100 ticks a record
  RankHistory history(header);
  for (std::uint64_t second = 1; second <= 3; ++second) {
    SegmentReading reading = reading_at(second * kSecondNs, 0);
    reading.records = second * 10000;                  // 1 ms a second
    reading.writer_cpu_ns = second * kSecondNs / 500;  // 2 ms
    history.add(std::move(reading), header);
  }
  EXPECT_NEAR(*history.rank(name_hook).own_cost_pct, 0.3, 1e-6);
}

RunFile file_of(std::uint32_t pid, std::int32_t rank, std::uint64_t began_ns, std::uint32_t parent = 1) {
  RunFile file{"trace-" + std::to_string(pid), header_of(pid, rank)};
  file.header.first.monotonic_ns = began_ns;
  file.header.parent_pid = parent;
  return file;
}

std::vector<std::uint32_t> pids_of(const std::vector<RunFile>& files) {
  std::vector<std::uint32_t> pids;
  for (const RunFile& file : files) pids.push_back(file.header.pid);
  return pids;
}

TEST(RankFiles, AreTheNewestOfEachRankWithoutWorkersAndLaunchers) {
  RunFile forked = file_of(13, 0, 30, 11);
  forked.header.forked_from = 11;
  const std::vector<RunFile> files = {file_of(10, -1, 1),     file_of(12, 1, 10), file_of(11, 0, 10), forked,
                                      file_of(14, 1, 40, 12), file_of(20, 1, 50)};
  EXPECT_EQ(pids_of(rank_files(files)), (std::vector<std::uint32_t>{11, 20}));
}

TEST(RankFiles, AreAllProcessesWhereThereAreNoRanks) {
  EXPECT_EQ(pids_of(rank_files({file_of(12, -1, 2, 11), file_of(11, -1, 1)})), (std::vector<std::uint32_t>{11, 12}));
}

LiveRank rank_with(int number, double since_s, double median_ms = 100) {
  LiveRank rank{.rank = number, .pid = 100 + number};
  rank.steps = LiveSteps{.count = 50,
                         .last_ms = std::vector<double>(60, median_ms),
                         .median_ms = median_ms,
                         .per_s = 1000 / median_ms,
                         .since_s = since_s};
  return rank;
}

TEST(Hang, IsAStepThatDoesNotCome) {
  EXPECT_EQ(hang_text({rank_with(0, 0.1), rank_with(1, 4.9)}, ""), "");
  EXPECT_NE(hang_text({rank_with(0, 6), rank_with(1, 7)}, "").find("rank 1"), std::string::npos);
  EXPECT_NE(hang_text({rank_with(0, 6)}, "who is missing").find("who is missing"), std::string::npos);
  EXPECT_EQ(hang_text({rank_with(0, 20, 3000)}, ""), "") << "its steps are long";
  LiveRank ended = rank_with(0, 100);
  ended.state = EndState::kEnded;
  EXPECT_EQ(hang_text({ended}, ""), "");
  EXPECT_EQ(hang_text({LiveRank{.rank = 0}}, ""), "") << "it has made no step";
}

LostTime lost_on(std::uint32_t member, Cause cause, std::vector<double> step_ns) {
  LostTime lost;
  lost.cause = cause;
  lost.member = member;
  lost.step_ns = std::move(step_ns);
  return lost;
}

RunAnswer answer_of(std::vector<double> gpu_ns, std::vector<double> loader_ns) {
  RunAnswer run;
  for (int rank = 0; rank < 2; ++rank) {
    ProcessAnswer process;
    process.rank = rank;
    process.pid = 100u + static_cast<std::uint32_t>(rank);
    process.trace_path = std::to_string(rank);
    process.gpu.source = ActivitySource::kAccount;  // it uses a GPU
    ThreadAnswer main;
    main.tid = process.pid;
    main.role = Role::kMain;
    process.threads.push_back(std::move(main));
    run.step_members.push_back(process.trace_path);
    run.processes.push_back(std::move(process));
  }
  StepTime time;
  time.steps = gpu_ns.size();
  time.lost.push_back(lost_on(0, Cause::kGpuBound, std::move(gpu_ns)));
  time.lost.push_back(lost_on(1, Cause::kDataloaderWait, std::move(loader_ns)));
  time.length_ns = 1;
  run.step_time = std::move(time);
  return run;
}

TEST(RecentCauses, AreThoseOfTheNewestStepsAtTheirRanks) {
  // Two old steps that waited for input, and four of 3 s that did not.
  const RunAnswer run = answer_of({1e9, 1e9, 3e9, 3e9, 3e9, 3e9}, {9e9, 9e9, 0, 0, 0, 0});
  const RecentCauses recent = recent_causes(run, 10);
  ASSERT_EQ(recent.ranks.size(), 2u);
  EXPECT_EQ(recent.ranks[0].pid, 100u);
  ASSERT_EQ(recent.ranks[0].parts.size(), 1u);
  EXPECT_EQ(recent.ranks[0].parts[0].cause, "gpu_bound");
  EXPECT_DOUBLE_EQ(recent.ranks[0].parts[0].ms, 3000);
  EXPECT_TRUE(recent.ranks[1].parts.empty());
  EXPECT_DOUBLE_EQ(recent.span_s, 12);
  EXPECT_EQ(recent.roles.at(101).at(101), "main");
}

TEST(RecentCauses, AreOfAllStepsWhereTheseAreShorter) {
  const RecentCauses recent = recent_causes(answer_of({1e9, 1e9}, {2e9, 0}), 10);
  ASSERT_EQ(recent.ranks[1].parts.size(), 1u);
  EXPECT_DOUBLE_EQ(recent.ranks[1].parts[0].ms, 1000);
  EXPECT_DOUBLE_EQ(recent.span_s, 4);
}

TEST(RecentCauses, SayWhyThereAreNone) {
  RunAnswer run = answer_of({1e9}, {0});
  run.step_time.reset();
  run.step_time_unknown = TimeUnknown::kNoSteps;
  const RecentCauses recent = recent_causes(run, 10);
  EXPECT_EQ(recent.unknown, "no_steps");
  LiveView view;
  view.ranks = {rank_with(0, 0)};
  add_causes(recent, 3, view);
  EXPECT_EQ(view.causes_unknown, "no_steps");
  EXPECT_TRUE(view.ranks[0].causes.empty());
}

TEST(RecentCauses, GoToTheRowsOfTheirProcesses) {
  LiveView view;
  view.ranks = {rank_with(1, 0), rank_with(0, 0), rank_with(5, 0)};
  view.ranks[0].threads = {{.tid = 101}};
  add_causes(recent_causes(answer_of({1e9}, {2e9}), 10), 3, view);
  EXPECT_EQ(view.ranks[0].causes.at(0).cause, "dataloader_wait");
  EXPECT_EQ(view.ranks[0].threads[0].role, "main");
  EXPECT_EQ(view.ranks[1].causes.at(0).cause, "gpu_bound");
  EXPECT_TRUE(view.ranks[2].causes.empty()) << "it joined after the reading";
}

TEST(CauseReader, WaitsUntilItsTimeIsPaidFor) {
  EXPECT_EQ(next_reading_ns(5 * kSecondNs, 0.1, 0.004), 30 * kSecondNs);
  EXPECT_GE(next_reading_ns(5 * kSecondNs, 0, 0.004), 6 * kSecondNs);
}

TEST(CauseReader, KeepsWhatItHasWhereAReadingFails) {
  CauseReader reader;
  EXPECT_TRUE(reader.is_due(0, false));
  reader.start([]() -> RunAnswer { throw std::runtime_error("the job is gone"); });
  while (reader.is_busy()) continue;
  EXPECT_FALSE(reader.newest());
  EXPECT_FALSE(reader.is_due(now_monotonic_ns(), false));
  EXPECT_TRUE(reader.is_due(now_monotonic_ns(), true));
  reader.start([] { return answer_of({1e9}, {0}); });
  while (reader.is_busy()) continue;
  ASSERT_TRUE(reader.newest());
  EXPECT_EQ(reader.newest()->causes.ranks.size(), 2u);
}

// ---- the screen ----

LiveView view_with(int ranks) {
  LiveView view{.command = "python train.py --data /a/very/long/path/that/is/cut/somewhere",
                .path = "run",
                .mode = "flight",
                .wall_s = 3725};
  for (int rank = 0; rank < ranks; ++rank) {
    view.ranks.push_back(rank_with(rank, 0.05, 100 + rank));
    LiveRank& row = view.ranks.back();
    row.causes = {{"gpu_bound", 40}, {"dataloader_wait", 5.0 * rank}, {"gc_pause", 1}};
    row.cpu_pct = 90 - rank;
    row.in = LiveCall{"pthread_cond_clockwait_with_a_long_name", 0.25 * rank};
    for (std::uint32_t tid = 0; tid < 40; ++tid)
      row.threads.push_back({.tid = tid, .name = "worker", .role = "dataloader", .cpu_pct = 1});
  }
  view.causes_age_s = 12;
  view.causes_span_s = 10;
  return view;
}

std::string screen(const LiveView& view, const ViewState& state = {},
                   const ScreenSize& size = {.width = 80, .height = 24}) {
  return plain_text(view_lines(view, state, size));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string row_of(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(begin)) return line;
  return "";
}

TEST(Screen, FitsEverySize) {
  for (const int ranks : {0, 1, 2, 8, 300})
    for (const Panel panel : {Panel::kThreads, Panel::kStacks, Panel::kFixes, Panel::kHelp})
      for (std::size_t width = 20; width <= 240; width += 7)
        for (std::size_t height = 1; height <= 60; height += 4) {
          LiveView view = view_with(ranks);
          view.hang = "no step for 12 s on rank 3; AllReduce 17 waits for rank 3 on communicator 123456789abcdef";
          view.trial = LiveTrial{"gc", true, 12, 100, 31, 90, 17};
          view.fix_auto =
              LiveAuto{AutoStage::kUnderWay, "timer_slack", "", 12, 100, 90, 10, std::pair{5., 15.}, {"gc", "pin"}};
          ViewState state{
              .panel = panel, .stacks = std::vector<std::string>(90, std::string(300, 'x')), .fixes = {"gc", "pin"}};
          const std::vector<ViewLine> lines = view_lines(view, state, {.width = width, .height = height});
          ASSERT_LE(lines.size(), height) << ranks << " " << width;
          for (const ViewLine& line : lines) {
            std::string whole;
            for (const Span& span : line) whole += span.text;
            ASSERT_LE(columns(whole), width) << width << "x" << height << ": " << whole;
          }
        }
}

TEST(Screen, HasARowOfEachRankTheLegendAndItsAge) {
  const std::string text = screen(view_with(2));
  EXPECT_TRUE(has(row_of(text, ">    0"), "100.0")) << text;
  EXPECT_TRUE(has(row_of(text, "     1"), "101.0")) << text;
  EXPECT_TRUE(has(row_of(text, ">    0"), "GGGG")) << text;
  EXPECT_TRUE(has(text, "G=gpu_bound 92 %")) << text;
  EXPECT_TRUE(has(text, "12 s ago")) << text;
  EXPECT_TRUE(has(text, "1:02:05")) << text;
}

TEST(Screen, KeepsTheChosenRankInSightAndCountsTheOthers) {
  const ViewState state{.chosen = 100 + 250};
  for (const std::size_t height : {10, 24, 50}) {
    const std::string text = screen(view_with(300), state, {.width = 60, .height = height});
    EXPECT_NE(row_of(text, ">  250"), "") << text;
    EXPECT_TRUE(has(text, " more")) << text;
  }
}

TEST(Screen, SaysWhatItDoesNotKnow) {
  LiveView view;
  view.path = "run";
  view.ranks = {LiveRank{.rank = 0, .pid = 5}};
  const std::string text = screen(view);
  EXPECT_TRUE(has(row_of(text, ">    0"), " - ")) << text;
  EXPECT_FALSE(has(text, "nan")) << text;
  view.causes_age_s = 1;
  view.causes_unknown = "no_steps";
  EXPECT_TRUE(has(screen(view), "no_steps"));
}

TEST(Screen, NamesHangsDeathsAndRestarts) {
  LiveView view = view_with(3);
  view.hang = "no step for 99 s on rank 2";
  view.ranks[0].state = EndState::kUnseen;
  view.ranks[1].state = EndState::kEnded;
  view.ranks[2].restart = 1;
  const std::string text = screen(view);
  EXPECT_TRUE(has(text, "no step for 99 s on rank 2")) << text;
  EXPECT_TRUE(has(row_of(text, ">    0"), "killed")) << text;
  EXPECT_TRUE(has(row_of(text, "     1"), "ended")) << text;
  EXPECT_NE(row_of(text, "  2 ×2"), "") << text;
}

TEST(Screen, ShowsATrialWithBothMedians) {
  LiveView view = view_with(1);
  view.trial = LiveTrial{"gc", true, 12, 100, 31, 90, 17};
  const std::string text = screen(view);
  EXPECT_TRUE(has(text, "-10.0 %, 17 steps")) << text;
  view.trial->since_steps = 0;
  EXPECT_FALSE(has(screen(view), "-10.0 %"));
}

ShownTrial shown_of(AutoStage stage, const char* fix, const char* decision, std::uint32_t pairs, const char* kept) {
  ShownTrial shown{};
  shown.serial = 2, shown.stage = stage, shown.pairs = pairs, shown.without_ms = 12, shown.with_ms = 9;
  shown.gain_pct = 25, shown.low_pct = 20, shown.high_pct = 30;
  std::strncpy(shown.fix, fix, sizeof shown.fix - 1);
  std::strncpy(shown.decision, decision, sizeof shown.decision - 1);
  std::strncpy(shown.kept, kept, sizeof shown.kept - 1);
  return shown;
}

TEST(Auto, IsNothingWhereItIsOffOrHalfWritten) {
  EXPECT_FALSE(live_auto(ShownTrial{}));
  ShownTrial shown = shown_of(AutoStage::kUnderWay, "gc", "", 3, "");
  EXPECT_TRUE(live_auto(whole_trial(shown)));
  shown.serial = 3;
  EXPECT_FALSE(live_auto(whole_trial(shown)));
}

TEST(Auto, HasAnIntervalFromEightPairsOn) {
  const auto early = live_auto(shown_of(AutoStage::kUnderWay, "gc", "", 7, ""));
  ASSERT_TRUE(early);
  EXPECT_FALSE(early->interval_pct);
  const auto later = live_auto(shown_of(AutoStage::kUnderWay, "gc", "", 8, "pin,spin"));
  ASSERT_TRUE(later && later->interval_pct);
  EXPECT_EQ(later->interval_pct->second, 30);
  EXPECT_EQ(later->kept, (std::vector<std::string>{"pin", "spin"}));
}

TEST(Screen, ShowsWhatAutoTriesWithBothMediansAndTheInterval) {
  LiveView view = view_with(1);
  view.fix_auto = live_auto(shown_of(AutoStage::kNoSteps, "", "", 0, ""));
  EXPECT_TRUE(has(screen(view), "fix auto")) << screen(view);
  view.fix_auto = live_auto(shown_of(AutoStage::kUnderWay, "gc", "", 8, "pin"));
  const std::string text = screen(view, {}, {.width = 120, .height = 24});
  EXPECT_TRUE(has(text, "12.0 ms")) << text;
  EXPECT_TRUE(has(text, "9.00 ms") || has(text, "9.00 with")) << text;
  EXPECT_TRUE(has(text, "-25.0 % (-30.0 to -20.0) in 8 pairs")) << text;
  EXPECT_TRUE(has(text, "pin")) << text;
  const auto document = nlohmann::json::parse(view_json(view, 0, true));
  EXPECT_EQ(document["auto"]["gain_low_pct"], 20);
  EXPECT_EQ(document["auto"]["kept"][0], "pin");
  EXPECT_TRUE(document["auto"]["decision"].is_null());
}

TEST(Screen, SaysThatStepsAreSwitchedOff) {
  LiveView view;
  view.ranks = {LiveRank{.rank = 0, .pid = 5}};
  EXPECT_FALSE(has(screen(view), "HOSTPROBE_STEPS"));
  view.steps_are_off = true;
  EXPECT_TRUE(has(screen(view), "HOSTPROBE_STEPS"));
}

TEST(Screen, CannotBeSteeredByNames) {
  LiveView view = view_with(1);
  view.command = "evil\x1b[2Jname\n";
  view.ranks[0].in = LiveCall{"a\x1b]0;b", 1};
  view.ranks[0].threads[0].name = "t\rx\xff";
  const std::string text = screen(view, {.note = "a\x1b[1m"});
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
}

TEST(Screen, IsWholeWithoutAKeyboard) {
  const std::string text = screen(view_with(30), {}, {.width = 80});
  EXPECT_NE(row_of(text, "    29"), "") << text;
  EXPECT_EQ(row_of(text, "q quit"), "");
}

TEST(CauseLetters, AreAllDifferent) {
  std::vector<CausePart> causes;
  for (std::size_t i = 0; i < kCauses; ++i) causes.push_back({cause_id(static_cast<Cause>(i)), 1});
  const std::vector<char> letters = cause_letters(causes);
  EXPECT_EQ(std::set<char>(letters.begin(), letters.end()).size(), letters.size());
}

TEST(Curve, HasTheHighestOfEachGroup) {
  EXPECT_EQ(curve_text({1, 1, 1, 8, 1, 1}, 3, false), ".#.");
  EXPECT_EQ(curve_text({}, 10, true), "");
  EXPECT_EQ(columns(curve_text(std::vector<double>(60, 5), 20, true)), 20u);
  EXPECT_EQ(curve_text({1, 1, 1, 100}, 4, false), "...#") << "the top is four medians";
}

// ---- keys ----

TEST(Keys, ChooseAndOrderRanks) {
  const LiveView view = view_with(3);
  ViewState state;
  EXPECT_EQ(chosen_rank(view, state)->rank, 0);
  press(state, view, kKeyDown);
  press(state, view, 'j');
  press(state, view, 'j');
  EXPECT_EQ(chosen_rank(view, state)->rank, 2);
  press(state, view, kKeyUp);
  EXPECT_EQ(chosen_rank(view, state)->rank, 1);
  press(state, view, 'o');
  EXPECT_EQ(state.order, RankOrder::kStep);
  EXPECT_EQ(ordered_ranks(view, state).front()->rank, 2);
  EXPECT_EQ(chosen_rank(view, state)->rank, 1) << "the choice is of a rank, not of a row";
}

TEST(Keys, GoThroughTheCauses) {
  const LiveView view = view_with(3);
  ViewState state;
  press(state, view, 'c');
  EXPECT_EQ(state.cause, "gpu_bound");
  press(state, view, 'c');
  EXPECT_EQ(state.cause, "dataloader_wait");
  EXPECT_EQ(ordered_ranks(view, state).front()->rank, 2);
  press(state, view, 'c');
  press(state, view, 'c');
  EXPECT_EQ(state.cause, "");
}

TEST(Keys, AskForAFixAndThenForItsEnd) {
  const LiveView view = view_with(1);
  ViewState state{.fixes = {"gc", "pin"}};
  EXPECT_EQ(press(state, view, 'f').wish, Wish::kNothing);
  Request request = press(state, view, 'b');
  EXPECT_EQ(request.wish, Wish::kFix);
  EXPECT_EQ(request.fix, "pin");
  EXPECT_TRUE(request.on);
  state.fixes_on.insert("pin");
  press(state, view, 'f');
  EXPECT_FALSE(press(state, view, 'b').on);
  press(state, view, 'f');
  EXPECT_EQ(press(state, view, 'z').wish, Wish::kNothing) << "there is no such fix";
  EXPECT_EQ(state.panel, Panel::kThreads);
}

TEST(Keys, OpenAndCloseStacks) {
  const LiveView view = view_with(1);
  ViewState state{.stacks = {"a", "b", "c"}};
  EXPECT_EQ(press(state, view, 's').wish, Wish::kStacks);
  press(state, view, kKeyDown);
  press(state, view, kKeyDown);
  press(state, view, kKeyDown);
  EXPECT_EQ(state.scroll, 2u);
  EXPECT_EQ(press(state, view, 's').wish, Wish::kNothing);
  EXPECT_EQ(state.panel, Panel::kThreads);
  EXPECT_EQ(press(state, view, 't').wish, Wish::kTrigger);
  EXPECT_EQ(press(state, view, 'q').wish, Wish::kQuit);
}

TEST(Keys, DoNothingWhereThereAreNoRanks) {
  const LiveView view;
  ViewState state;
  for (int key = 1; key < 128; ++key)
    if (key != 'q') press(state, view, key);
  press(state, view, kKeyDown);
  EXPECT_EQ(chosen_rank(view, state), nullptr);
}

TEST(TopDocument, HasNullForWhatIsNotKnown) {
  LiveView view;
  view.path = "run";
  view.ranks = {LiveRank{.rank = 0, .pid = 5}};
  const auto json = nlohmann::json::parse(view_json(view, 0, true));
  EXPECT_TRUE(json["steps_per_s"].is_null());
  EXPECT_TRUE(json["hang"].is_null());
  EXPECT_TRUE(json["ranks"][0]["cpu_pct"].is_null());
  EXPECT_EQ(json["ranks"][0]["state"], "running");
  EXPECT_TRUE(view_json(view, 0, true).find('\n') == view_json(view, 0, true).size() - 1);
}

}  // namespace
}  // namespace hostprobe::analysis
