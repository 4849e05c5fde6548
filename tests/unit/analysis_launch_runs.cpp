// Launches that are told together are the same as one after the other: model/launch_run.h, timeline.h, and all
// questions that take them so.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "analysis/questions.h"
#include "analysis/run_answer.h"
#include "format/switches.h"
#include "report/json/json.h"
#include "support/trace_file.h"
#include "trace/reader.h"

namespace hostprobe::analysis {
namespace {

using test::Call;

// Words that are a launch's alone are left over from the one before in other events.
std::string text_of(const Event& event) {
  std::ostringstream text;
  text << (event.function == nullptr ? "missing" : event.function->name) << ' ' << static_cast<int>(event.type) << ' '
       << event.count << ' ' << event.begin_ns << ' ' << event.end_ns << ' ' << event.duration_ns << ' '
       << event.counted << event.at_once << event.has_gap << ' ' << event.traits;
  if (event.is(kLaunches))
    text << ' ' << event.work << ' ' << event.grid << ' ' << event.captured << event.gap_lost << ' ' << event.kernels
         << ' ' << event.gap_switches << ' ' << event.gap_no_cpu_ns;
  if (event.has_gap) text << ' ' << event.gap_ns;
  return text.str();
}

// Takes runs, and tells what each of their launches would be as an event.
struct Told {
  std::vector<std::string> all;
  std::size_t in_runs = 0, longest = 0;
  void operator()(const Event& event) { all.push_back(text_of(event)); }
  void operator()(const LaunchRun& run) {
    double last_end_ns = 0;
    for (const PlainLaunch& launch : run.launches) {
      (*this)(event_of(*run.track, launch));
      last_end_ns = std::max(last_end_ns, launch.end_ns);
    }
    EXPECT_EQ(run.last_end_ns, last_end_ns);
    in_runs += run.launches.size();
    longest = std::max(longest, run.launches.size());
  }
};

class LaunchRuns : public testing::TestWithParam<unsigned> {
 protected:
  LaunchRuns() : random_(GetParam()) {
    file_.hooks({test::launch_hook("cuLaunchKernel"),
                 test::launch_hook("cuLaunchKernelEx"),
                 {.name = "cuGraphLaunch",
                  .family = Family::kCuda,
                  .labels = {"graph:hex", "nodes", "site:code", "stream:hex", "kernels"},
                  .launch = true},
                 test::sync_hook("cuStreamSynchronize"),
                 test::wait_hook("sem_wait"),
                 {.name = "cuMemcpyHtoDAsync_v2", .family = Family::kCuda, .blocking = false, .launch = true},
                 {.name = "hostprobe_step", .family = Family::kCuda, .labels = {"number"}, .blocking = false}});
    file_.thread(test::thread_entry(100, "main"));
    for (int step = 0; step < 12; ++step) add_step();
    write();
    trace_ = read_trace(path_);
    timeline_ = std::make_unique<Timeline>(trace_, symbols_);
  }

  unsigned any(unsigned most) { return static_cast<unsigned>(random_() % most); }
  void call(std::uint16_t hook, double length_us, std::uint16_t flags = 0) {
    calls_.push_back({.hook = hook,
                      .begin_us = now_us_,
                      .end_us = now_us_ + length_us,
                      .a = hook == 7 ? steps_ : any(3),
                      .b = any(4),
                      .d = any(3),
                      .e = any(2),
                      .flags = flags});
    now_us_ += length_us + 0.25 * any(40);
  }
  void add_step() {
    const double begin_us = now_us_;
    for (unsigned i = 0, many = 20 + any(200); i < many; ++i) {
      const unsigned kind = any(60);
      const std::uint16_t launch = 1 + any(30) / 29;
      if (kind == 0)
        call(3, 2);
      else if (kind == 1)
        call(4, 30);
      else if (kind == 2)
        call(5, 10);
      else if (kind == 3)
        call(6, 3);
      else if (kind == 4)
        call(1, 2, kRecordCaptured);
      else if (kind == 5)
        call(1, 2, kRecordFailed);
      else if (kind == 6)
        call(1, 2, kRecordAfterSkipped);
      else if (kind == 7)
        call(1, 2, kRecordAggregated);
      else
        call(launch, 0.5 * (1 + any(6)));
    }
    if (GetParam() % 2 == 0) {
      calls_.push_back({.hook = 7, .begin_us = begin_us, .end_us = now_us_, .a = steps_});
      ++steps_;
    }
  }
  // In pieces, between some of which records are missing.
  void write() {
    std::uint64_t sequence = 0;
    for (std::size_t at = 0; at < calls_.size();) {
      const std::size_t count = std::min<std::size_t>(1 + any(150), calls_.size() - at);
      const auto first = calls_.begin() + static_cast<std::ptrdiff_t>(at);
      file_.calls(100, sequence, {first, first + static_cast<std::ptrdiff_t>(count)});
      sequence += count + (any(5) == 0 ? any(4) : 0);
      at += count;
    }
    if (GetParam() % 3 == 0) add_switches();
    file_.write(path_);
  }
  void add_switches() {
    std::string rows;
    std::uint32_t count = 0;
    for (double us = 3; us < now_us_; us += 40 + any(100)) {
      const auto what = any(2) == 0 ? kSwitchedOutRunnable : kSwitchedOut;
      rows += test::bytes_of(SwitchRow{test::at_us(us), 100, 0, what});
      rows += test::bytes_of(SwitchRow{test::at_us(us + 1 + any(3)), 100, 1, kSwitchedIn});
      count += 2;
    }
    file_.block(kBlockSwitches,
                test::bytes_of(SwitchesHead{test::at_us(0), test::at_us(now_us_ + 10), 0, count, 1}) + rows);
  }

  // `together`: as the report asks.
  std::string answers(StepChoice choice, bool together) {
    Questions questions(*timeline_, {}, plan_steps(*timeline_, choice));
    for (const Track& track : timeline_->tracks())
      if (together)
        timeline_->walk(track, [&](const auto& event_or_run) { questions.add(event_or_run); });
      else
        timeline_->walk(track, [&](const Event& event) { questions.add(event); });
    RunAnswer run;
    ProcessAnswer& answer = run.processes.emplace_back();
    answer.wall_ms = 1e-3 * now_us_;
    ProcessWork work;
    questions.finish(symbols_, answer, work);
    questions.finish_steady(*timeline_, symbols_, answer);
    tell_of_the_whole(run);
    return report_json(run);
  }

  std::mt19937 random_;
  double now_us_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Call> calls_;
  test::TraceFile file_;
  test::TestFolder folder_;
  const std::string path_ = folder_.file("t.hptrace");
  Symbols symbols_;
  Trace trace_;
  std::unique_ptr<Timeline> timeline_;
};

TEST_P(LaunchRuns, TellTheSameEvents) {
  Told runs;
  std::vector<std::string> events;
  for (const Track& track : timeline_->tracks()) {
    timeline_->walk(track, [&](const auto& event_or_run) { runs(event_or_run); });
    timeline_->walk(track, [&](const Event& event) { events.push_back(text_of(event)); });
  }
  ASSERT_EQ(runs.all.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(runs.all[i], events[i]) << i;
  EXPECT_GT(2 * runs.in_runs, events.size()) << "most are plain launches";
  EXPECT_GT(runs.longest, 10u);
  EXPECT_LE(runs.longest, kMostOfRun);
}

TEST_P(LaunchRuns, GiveTheSameAnswers) {
  for (const StepChoice choice : {StepChoice::kAuto, StepChoice::kDetected, StepChoice::kOff})
    EXPECT_EQ(answers(choice, true), answers(choice, false));
}

INSTANTIATE_TEST_SUITE_P(OfAnyProgram, LaunchRuns, testing::Range(0u, 12u));

}  // namespace
}  // namespace hostprobe::analysis
