// What loader workers did while their rank waited, and the remedy for it: analysis/step_time/loader_use.cpp,
// analysis/causes/loader_workers.cpp
#include "analysis/step_time/loader_use.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "analysis/causes/loader_workers.h"
#include "model/timeline.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint16_t kForAnOrder = 1, kForASample = 2;  // stacks

class LoaderUseOfARank : public testing::Test {
 protected:
  LoaderUseOfARank() {
    wait_.traits = kWaits;
    main_.role = Role::kMain, loop_.role = Role::kDataloader, feeder_.role = Role::kOther;
    trace_.stacks[kForAnOrder - 1] = {{}, {frame("Queue.get (queues.py:113)"), frame("_worker_loop (worker.py:375)")}};
    trace_.stacks[kForASample - 1] = {{}, {frame("Queue.get (queues.py:113)"), frame("get (slow_worker.py:8)")}};
    add_thread(main_, 0);
  }
  // A worker with its loop and the thread that writes its batches.
  void add_worker(const Window& life) {
    ProcessAnswer& answer = answers_.emplace_back();
    answer.start_since_first_ns = life.begin_ns;
    answer.wall_ms = 1e-6 * life.length_ns();
    const auto process = static_cast<std::uint32_t>(answers_.size());
    add_thread(loop_, process);
    add_thread(feeder_, process);
  }
  std::size_t loop_of(std::size_t worker) const { return 1 + 2 * worker; }
  void wait(std::size_t worker, double begin_ns, double end_ns, std::uint16_t stack) {
    HostCall call;
    call.begin_ns = begin_ns, call.end_ns = end_ns, call.function = &wait_, call.stack = stack;
    graph_.host.threads[loop_of(worker)].calls.push_back(call);
  }
  void batch(std::size_t worker, double at_ns) {
    HostCall call;
    call.begin_ns = at_ns - 1, call.end_ns = call.post_ns = at_ns, call.function = &wait_;
    call.type = HostCallType::kWait, call.waker = static_cast<std::int32_t>(loop_of(worker));
    graph_.host.threads[loop_of(worker) + 1].calls.push_back(call);
  }
  // One step of 1000 in which the rank waits for a batch from 200 on.
  LoaderTime ask() {
    StepTimeMember member;
    for (const ProcessAnswer& answer : answers_) member.workers.push_back({&timeline_, &answer, {}});
    LoaderUse use(graph_, member);
    use.add_step({0, 1000},
                 {{{0, 200}, 200, Cause::kGpuBound, 0, {}}, {{200, 1000}, 800, Cause::kDataloaderWait, 0, {}}});
    return use.time();
  }

 private:
  void add_thread(const Track& track, std::uint32_t process) {
    HostThread& thread = graph_.host.threads.emplace_back();
    thread.track = &track, thread.process = process;
  }
  std::uint32_t frame(const char* text) {
    const std::size_t at = (trace_.strings.size() + 7) / 8;
    const StringHead head{static_cast<std::uint32_t>(std::strlen(text)), 0};
    trace_.strings.put(8 * at, reinterpret_cast<const std::byte*>(&head), sizeof(head));
    trace_.strings.put(8 * at + sizeof(head), reinterpret_cast<const std::byte*>(text), head.length);
    return static_cast<std::uint32_t>(at + 1);
  }
  Trace trace_;
  Symbols symbols_;
  Timeline timeline_{trace_, symbols_};
  Function wait_;
  Track main_, loop_, feeder_;
  std::deque<ProcessAnswer> answers_;
  PathGraph graph_;
};

TEST_F(LoaderUseOfARank, WorkersThatAreDoneAreHeldBackByTheOneThatIsNot) {
  add_worker({0, 1000}), add_worker({0, 1000});
  batch(0, 100), wait(0, 150, 1000, kForAnOrder), batch(0, 1000);
  batch(1, 0), wait(1, 300, 600, kForASample), batch(1, 1000);
  const LoaderTime time = ask();
  EXPECT_DOUBLE_EQ(time.waited_ns, 800);
  EXPECT_DOUBLE_EQ(time.held_ns, 800);
  EXPECT_DOUBLE_EQ(time.handing_ns, 0) << "a queue of the program's own is no order";
  EXPECT_DOUBLE_EQ(time.workers[0].loading_ns, 900);
  EXPECT_DOUBLE_EQ(time.workers[0].idle_ns, 850);
  EXPECT_DOUBLE_EQ(time.workers[1].idle_ns, 0);
}

TEST_F(LoaderUseOfARank, WhereNobodyHasAnythingToDoTheBatchIsOnItsWay) {
  add_worker({0, 1000}), add_worker({0, 1000});
  wait(0, 100, 1000, kForAnOrder), wait(1, 400, 1000, kForAnOrder);
  const LoaderTime time = ask();
  EXPECT_DOUBLE_EQ(time.handing_ns, 600);
  EXPECT_DOUBLE_EQ(time.held_ns, 200);
}

TEST_F(LoaderUseOfARank, WaitsWithoutAStackAreLikeThoseThatHaveOne) {
  add_worker({0, 1000}), add_worker({0, 1000});
  wait(0, 0, 100, kForAnOrder), wait(0, 200, 1000, 0);
  wait(1, 0, 100, kForASample), wait(1, 200, 1000, 0);
  EXPECT_DOUBLE_EQ(ask().held_ns, 800);
}

TEST_F(LoaderUseOfARank, AWorkerThatFollowsOthersRestarts) {
  add_worker({-500, 300}), add_worker({400, 2000});
  batch(0, -400), batch(0, 250);
  batch(1, 700), batch(1, 900);
  const LoaderTime time = ask();
  EXPECT_EQ(time.restarts, 1u);
  EXPECT_DOUBLE_EQ(time.restarting_ns, 50 + 300) << "the end of the first one, and the beginning of the second";
}

TEST_F(LoaderUseOfARank, WorkersThatWereThereFromTheBeginRestartNothing) {
  add_worker({300, 1000}), add_worker({310, 1000});
  batch(0, 700), batch(0, 900);
  batch(1, 800), batch(1, 950);
  EXPECT_EQ(ask().restarts, 0u);
  EXPECT_DOUBLE_EQ(ask().restarting_ns, 0);
}

TEST_F(LoaderUseOfARank, WithoutWorkersThereIsNothingToSay) {
  EXPECT_EQ(ask().workers.size(), 0u);
  EXPECT_DOUBLE_EQ(ask().waited_ns, 0);
}

class LoaderRemedy : public testing::Test {
 protected:
  LoaderRemedy() {
    ProcessAnswer& rank = run_.processes.emplace_back();
    rank.trace_path = "0", rank.pid = 1;
    for (std::uint32_t pid : {2u, 3u}) {
      ProcessAnswer& worker = run_.processes.emplace_back();
      worker.pid = pid, worker.parent_pid = 1, worker.task = ProcessTask::kDataLoader, worker.wall_ms = 100;
      worker.cpu_ms = 90;
    }
    run_.step_members.push_back("0");
    run_.step_time.emplace();
    finding_.cause = Cause::kDataloaderWait;
    finding_.gain_pct = finding_.gain_high_pct = 80;
    finding_.gain_low_pct = 40;
  }
  Fix choose(const LoaderTime& loader) {
    run_.step_time->loaders = {loader};
    analysis::add_workers(finding_, run_, run_.processes[0]);
    return finding_.fix;
  }
  RunAnswer run_;
  Finding finding_;
};

TEST_F(LoaderRemedy, IsMoreWorkersWhereAllAreBusy) {
  EXPECT_EQ(choose({.waited_ns = 100, .held_ns = 20, .workers = {{100, 10}, {100, 20}}}), Fix::kNumWorkers);
  EXPECT_DOUBLE_EQ(*finding_.gain_pct, 80);
}

TEST_F(LoaderRemedy, IsNotMoreWorkersWhereThoseThatAreThereHaveTimeLeft) {
  EXPECT_EQ(choose({.waited_ns = 100, .held_ns = 20, .workers = {{100, 80}, {100, 90}}}), Fix::kNone);
}

TEST_F(LoaderRemedy, IsToTakeBatchesAsTheyAreReadyWhereSomeAreHeldBack) {
  EXPECT_EQ(choose({.waited_ns = 100, .held_ns = 90, .workers = {{100, 75}, {100, 0}}}), Fix::kInOrder);
  EXPECT_DOUBLE_EQ(*finding_.gain_pct, 60) << "together they make five samples where they made two";
  EXPECT_DOUBLE_EQ(*finding_.gain_high_pct, 60);
  EXPECT_DOUBLE_EQ(*finding_.gain_low_pct, 36);
}

TEST_F(LoaderRemedy, IsToKeepWorkersThatBeginAgainAndAgain) {
  EXPECT_EQ(choose({.waited_ns = 100, .restarting_ns = 75, .restarts = 4, .workers = {{100, 0}}}),
            Fix::kPersistentWorkers);
  EXPECT_DOUBLE_EQ(*finding_.gain_pct, 60);
  EXPECT_EQ(finding_.evidence.of<LoaderWaitsEvidence>().loader_restarts, 4u);
}

TEST_F(LoaderRemedy, IsNoneOfThoseWhereTheBatchIsOnItsWay) {
  EXPECT_EQ(choose({.waited_ns = 100, .handing_ns = 90, .workers = {{100, 0}}}), Fix::kNone);
  EXPECT_DOUBLE_EQ(*finding_.gain_pct, 72);
}

TEST_F(LoaderRemedy, IsNotMoreWorkersWhereTheyWaitForTheDiskForMostOfIt) {
  run_.processes[1].threads.emplace_back().tid = 77;
  const auto lose = [this](Cause cause, double ns) {
    LostTime& lost = run_.step_time->lost.emplace_back();
    lost.cause = cause, lost.ns = ns, lost.site.tid = 77;
  };
  lose(Cause::kDataloaderWait, 20), lose(Cause::kPageFaults, 15);
  EXPECT_EQ(choose({.waited_ns = 100, .workers = {{100, 10}, {100, 20}}}), Fix::kNumWorkers);
  lose(Cause::kFileIo, 10);
  finding_.fix = Fix::kNone;
  EXPECT_EQ(choose({.waited_ns = 100, .workers = {{100, 10}, {100, 20}}}), Fix::kNone);
}

TEST_F(LoaderRemedy, IsAsBeforeWhereNothingIsKnownOfTheWait) { EXPECT_EQ(choose({}), Fix::kNumWorkers); }

}  // namespace
}  // namespace hostprobe::analysis
