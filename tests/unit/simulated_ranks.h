// simulated_ranks.h: ranks of a job whose every moment is the latest of what it waits for, with what their GPUs did.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analysis/ranks/collective_kernels.h"
#include "analysis/run_path.h"
#include "answer/process.h"
#include "format/frequency.h"
#include "format/samples.h"
#include "format/switches.h"
#include "model/activity.h"
#include "model/timeline.h"
#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

inline constexpr std::uint16_t kLaunch = 1, kSync = 2, kAllReduce = 3, kSend = 4, kRecv = 5, kAlloc = 6, kCallBack = 7,
                               kCopy = 8, kSemaphore = 9, kAllGather = 10, kReduceScatter = 11;
inline constexpr std::uint64_t kComm = 0xc0ffee;
inline constexpr std::uint64_t kInterpreter = 0x100000, kLibrary = 0x200000, kSharedByAll = 0x300000,
                               kCompiler = 0x400000;  // code

inline test::HookLook nccl_hook(const std::string& name) {
  return {.name = name,
          .family = Family::kNccl,
          .labels = {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"},
          .blocking = false};
}

// A communicator, and who one is in it; no ranks: that of all.
struct Group {
  std::uint64_t communicator = kComm;
  std::int32_t rank = 0, ranks = 0;
};

// One rank whose every moment is the latest of what it waits for.
struct SimulatedRank {
  std::int32_t rank = 0, ranks = 1;
  double clock_us = 0;  // what its clock is ahead by
  double host_us = 1, tail_us = 0;
  double poll_us = 0;                                  // between two rounds of its progress thread; 0: it has none
  std::map<std::uint64_t, std::uint32_t> collectives;  // of each communicator
  std::uint32_t messages = 0;
  double helper_us = 0;
  std::vector<test::Call> calls, helper_calls;
  std::uint64_t skipped = 0;     // launches that were left out of them
  std::string switches;          // SwitchRows
  double ready_us = 0;           // as the kernel counts it: ready to run, and not running
  double progress_ready_us = 0;  // of its progress thread the same; 0: it has none
  std::string samples;           // rows
  std::string frequency;         // FrequencyRows
  std::uint64_t cpus = 0;        // that it may use; 0: not known
  DeviceTimeline device;
  StepAnswer steps;
  std::vector<EventRow> events;

  void record(test::Call call) {
    call.begin_us += clock_us;
    call.end_us += clock_us;
    if (leaves_out_) call.flags |= kRecordAfterSkipped;
    leaves_out_ = false;
    calls.push_back(call);
  }
  void kernel(double launch_us, double begin_us, double end_us, bool collective) {
    Activity one;
    one.begin_ns = 1000 * (begin_us + clock_us);
    one.end_ns = 1000 * (end_us + clock_us);
    one.launch_ns = 1000 * (launch_us + clock_us);
    one.launch_tid = 100;
    one.collective = collective;
    device.activities.push_back(one);
    tail_us = end_us;
  }
  // As if to keep to the budget: it is missing, and the next record says so.
  void leave_out_last_call() {
    calls.pop_back();
    leaves_out_ = true;
    ++skipped;
  }
  void switch_at(double us, SwitchWhat what) {
    switches += test::bytes_of(SwitchRow{test::at_us(us + clock_us), 100, 0, what});
  }
  // It has work, and somebody else has the CPU.
  void lose_cpu(double us) {
    switch_at(host_us, kSwitchedOutRunnable);
    host_us += us;
    ready_us += us;
    switch_at(host_us, kSwitchedIn);
  }
  // A page is not there, or a system call that has no hook waits.
  void block(double us) {
    switch_at(host_us, kSwitchedOut);
    host_us += us;
    switch_at(host_us, kSwitchedIn);
  }
  // Somebody stops it. hostprobe's thread looked a while before that, and wakes up at its end.
  void halt(double us, double late_us) {
    EventRow row{};
    row.ticks = test::at_us(host_us + us + clock_us);
    row.kind = kEventHalted;
    row.number = test::at_us(host_us + clock_us - 1);
    row.amount = static_cast<std::uint64_t>(1000 * late_us);
    events.push_back(row);
  }
  // What its thread is found doing `us` from now: in the code at `address`, or in Python (0), by stack 1.
  void sample(double us, std::uint64_t address) {
    const std::uint64_t ticks = test::at_us(host_us + clock_us + us);
    const std::uint16_t kind = address == 0 ? kSamplePython : kSampleCode;
    samples += test::bytes_of(SampleRow{ticks, 100, kind, 0, address, address == 0 ? 1u : 0u, 100});
  }
  // The code at `address` comes back from the kernel, and so many pages were handed to it since last time, which it was in the kernel for
  // so much of its time. `in_calls_us`: of its CPU time, in calls that no sample was taken in.
  void sample_faults(double us, std::uint64_t address, std::uint32_t kernel_us, std::uint32_t cpu_us,
                     std::uint32_t faults, std::uint32_t of_disk = 0, std::uint32_t in_calls_us = 0) {
    const std::uint64_t ticks = test::at_us(host_us + clock_us + us);
    samples += test::bytes_of(SampleRow{ticks, 100, kSampleCode, 0, address, 0, cpu_us - kernel_us - in_calls_us});
    samples += test::bytes_of(SampleRow{ticks, 100, kSampleCode, 0, 0, 0, kernel_us});
    samples += test::bytes_of(
        SampleRow{ticks, 100, kSampleFaults, 0, std::uint64_t{cpu_us} << 32 | faults, of_disk, kernel_us});
  }
  // A page was not there that the code at `address` touched.
  void sample_fault_place(double us, std::uint64_t address) {
    samples +=
        test::bytes_of(SampleRow{test::at_us(host_us + clock_us + us), 100, kSampleFaultPlace, 0, address, 0, 1000});
  }
  // For so long from now on: on a CPU, ready to run, and how often it was put on one.
  void sample_supply(double us, std::uint32_t cpu_us, std::uint32_t delay_us, std::uint32_t runs) {
    samples += test::bytes_of(SampleRow{test::at_us(host_us + clock_us + us), 100, kSampleSupply, 0,
                                        std::uint64_t{cpu_us} << 32 | delay_us, runs, static_cast<std::uint32_t>(us)});
  }
  // It is found blocked `us` from now: in that system call, -1 in none, called by stack 1.
  void sample_blocked(double us, int call) {
    const std::uint64_t ticks = test::at_us(host_us + clock_us + us);
    samples += test::bytes_of(
        SampleRow{ticks, 100, kSampleBlocked, static_cast<std::uint16_t>(call + 1), kSharedByAll + 8, 1, 0});
  }
  // Its CPU is found to run at so much, now.
  void run_at(double ghz) {
    constexpr std::uint32_t kAdditions = 8192;
    const auto chain = static_cast<std::uint32_t>(kAdditions / ghz * static_cast<double>(test::kTicksPerNs));
    frequency += test::bytes_of(FrequencyRow{test::at_us(host_us + clock_us), kAdditions, chain, 100, 0, 0});
  }
  void allocate(double us) {
    record({.hook = kAlloc, .begin_us = host_us, .end_us = host_us + us});
    host_us += us;
  }
  void compute(double us) {
    record({.hook = kLaunch, .begin_us = host_us, .end_us = host_us + 2});
    const double begin_us = std::max(host_us + 2, tail_us);
    kernel(host_us, begin_us, begin_us + us, false);
    host_us += 2;
  }
  // To a helper's thread, which works and hands back: either is on a CPU `wake_us` after the post. Who has woken the other waits `post_us` later.
  void hand_over(double post_us, double wake_us, double work_us) {
    const double posted_us = host_us, done_us = posted_us + wake_us + work_us;
    const auto post = [this](std::uint32_t tid, double us) { return pack_post(tid, test::at_us(us + clock_us)); };
    helper_calls.push_back({.hook = kSemaphore,
                            .begin_us = helper_us + clock_us,
                            .end_us = posted_us + wake_us + clock_us,
                            .b = post(100, posted_us),
                            .c = kLibrary + 1});
    helper_us = done_us + post_us;
    host_us = done_us + wake_us;
    record({.hook = kSemaphore,
            .begin_us = posted_us + post_us,
            .end_us = host_us,
            .b = post(101, done_us),
            .c = kLibrary + 1});
  }
  // For a thread that had woken it, as it seems, when it began to wait; for the last `queue_us` it was ready to run.
  void wait_on(double us, double queue_us) {
    switch_at(host_us, kSwitchedOut);
    helper_calls.push_back(
        {.hook = kSemaphore, .begin_us = helper_us + clock_us, .end_us = host_us + clock_us, .c = kLibrary + 1});
    record({.hook = kSemaphore,
            .begin_us = host_us,
            .end_us = host_us + us,
            .b = pack_post(101, test::at_us(host_us + 1 + clock_us)),
            .c = kLibrary + 1});
    helper_us = host_us + 1;
    host_us += us;
    ready_us += queue_us;
    switch_at(host_us, kSwitchedIn);
  }
  // A function of the program's, for which the stream stands still.
  void call_back(double us) {
    record({.hook = kCallBack, .begin_us = host_us, .end_us = host_us + 2});
    tail_us = std::max(host_us + 2, tail_us) + us;
    host_us += 2;
  }
  // Out of pageable memory: the call returns when it is done.
  void copy(double us) {
    const double begin_us = std::max(host_us + 2, tail_us), launch_us = host_us;
    record({.hook = kCopy, .begin_us = host_us, .end_us = begin_us + us});
    kernel(launch_us, begin_us, begin_us + us, false);
    device.activities.back().type = ActivityType::kCopy;
    host_us = begin_us + us;
  }
  // The call, and the begin of its kernel.
  double enter(std::uint16_t hook, std::int32_t peer, const Group& group = {}) {
    std::uint32_t& last = hook == kSend || hook == kRecv ? messages : collectives[group.communicator];
    record(
        {.hook = hook,
         .begin_us = host_us,
         .end_us = host_us + 3,
         .a = group.communicator,
         .b = 16,
         .c = pack_nccl_call(++last, 0, 7, 0),
         .e = group.ranks == 0 ? pack_nccl_ranks(rank, ranks, peer) : pack_nccl_ranks(group.rank, group.ranks, peer)});
    record({.hook = kLaunch, .begin_us = host_us + 0.5, .end_us = host_us + 2.5});
    return std::max(host_us + 2.5, tail_us);
  }
  void enter_until(double begin_us, double end_us) {
    kernel(host_us + 0.5, begin_us, end_us, true);
    host_us += 3;
  }
  void synchronise() {
    const double end_us = std::max(host_us + 1, tail_us + 1);
    record({.hook = kSync, .begin_us = host_us, .end_us = end_us});
    host_us = end_us;
  }
  void add_step(std::uint64_t number, double begin_us) {
    steps.steps.push_back({number, 1000 * (begin_us + clock_us), 1000 * (host_us + clock_us), 0});
  }

 private:
  bool leaves_out_ = false;
};

class SimulatedRanks : public testing::Test {
 protected:
  void ranks(std::int32_t count) {
    ranks_.assign(static_cast<std::size_t>(count), {});
    for (std::int32_t i = 0; i < count; ++i) {
      ranks_[static_cast<std::size_t>(i)].rank = i;
      ranks_[static_cast<std::size_t>(i)].ranks = count;
    }
  }
  void all_reduce(double transfer_us) { move_data(kAllReduce, transfer_us); }
  void move_data(std::uint16_t hook, double transfer_us) {
    std::vector<double> begins;
    for (SimulatedRank& one : ranks_) begins.push_back(one.enter(hook, -1));
    const double last_us = *std::max_element(begins.begin(), begins.end());
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].enter_until(begins[i], last_us + transfer_us);
  }
  // Of some.
  void all_reduce(std::uint64_t communicator, const std::vector<std::size_t>& members, double transfer_us) {
    std::vector<double> begins;
    std::int32_t number = 0;
    for (const std::size_t one : members)
      begins.push_back(
          ranks_[one].enter(kAllReduce, -1, {communicator, number++, static_cast<std::int32_t>(members.size())}));
    const double last_us = *std::max_element(begins.begin(), begins.end());
    for (std::size_t i = 0; i < members.size(); ++i) ranks_[members[i]].enter_until(begins[i], last_us + transfer_us);
  }
  void message(SimulatedRank& from, SimulatedRank& to, double transfer_us, bool waits) {
    const double sent_us = from.enter(kSend, to.rank), taken_us = to.enter(kRecv, from.rank);
    from.enter_until(sent_us, (waits ? std::max(sent_us, taken_us) : sent_us) + transfer_us);
    to.enter_until(taken_us, std::max(sent_us, taken_us) + transfer_us);
  }
  template <typename Work>
  void step(std::uint64_t number, Work work) {
    std::vector<double> begins;
    for (const SimulatedRank& one : ranks_) begins.push_back(one.host_us);
    work();
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].add_step(number, begins[i]);
  }
  void synchronise() {
    for (SimulatedRank& one : ranks_) one.synchronise();
  }
  void work(std::mt19937& random) {
    for (int i = 0; i < 12; ++i) {
      for (SimulatedRank& one : ranks_) {
        one.host_us += random() % 20;
        if (random() % 3 != 0) one.compute(1 + random() % 50);
        if (random() % 8 == 0) one.synchronise();
      }
      if (random() % 3 == 0) all_reduce(1 + random() % 10);
      if (random() % 3 != 0) continue;
      const std::size_t from = random() % ranks_.size(), to = (from + 1) % ranks_.size();
      const bool waits = random() % 2 == 0;  // in this order: that of arguments differs between architectures
      const double transfer_us = 1 + random() % 10;
      message(ranks_[from], ranks_[to], transfer_us, waits);
    }
    synchronise();
  }

  std::optional<RunPath> ask(std::vector<std::size_t> order = {}, std::size_t most_events = kMostPathEvents) {
    if (order.empty()) {
      order.resize(ranks_.size());
      std::iota(order.begin(), order.end(), 0);
    }
    std::vector<std::unique_ptr<Trace>> traces;
    std::vector<std::unique_ptr<Timeline>> timelines;
    std::vector<std::unique_ptr<ProcessAnswer>> answers;
    std::vector<RunPathMember> members;
    for (const std::size_t i : order) {
      traces.push_back(std::make_unique<Trace>(written(ranks_[i])));
      timelines.push_back(std::make_unique<Timeline>(*traces.back(), symbols_));
      answers.push_back(std::make_unique<ProcessAnswer>());
      ProcessAnswer& answer = *answers.back();
      answer.rank = ranks_[i].rank;
      answer.records = ranks_[i].calls.size();
      answer.skipped = ranks_[i].skipped;
      answer.cpus = ranks_[i].cpus;
      if (ranks_[i].poll_us > 0) answer.progress.emplace_back().poll.add(1000 * ranks_[i].poll_us);
      answer.steps = ranks_[i].steps;
      if (!answer.steps.steps.empty()) answer.steps.source = source_;
      answer.steps.thread = timelines.back()->tracks()[0].key();
      answer.threads.push_back(described(ranks_[i], answer.steps.thread));
      answer.wall_ms = answer.threads[0].time.wall_ms;
      if (ranks_[i].progress_ready_us > 0) answer.threads.push_back(progress_of(ranks_[i]));
      const auto device = std::make_shared<const DeviceTimeline>(ranks_[i].device);
      members.push_back({timelines.back().get(), &answer, [device] { return device; },
                         std::make_shared<const CollectiveKernels>(*device), clock_of(ranks_[i])});
    }
    JobAnswer answer = answer_job(members, symbols_, 2, most_events);
    time_ = std::move(answer.time);
    return std::move(answer.path);
  }

  std::vector<SimulatedRank> ranks_;
  std::optional<StepTime> time_;  // of the last ask()
  StepSource source_ = StepSource::kMarks;

 private:
  Trace written(SimulatedRank& rank) {
    test::TraceFile file;
    file.header.pid = 100;
    file.hooks({test::launch_hook("cuLaunchKernel"),
                test::sync_hook("cuStreamSynchronize"),
                nccl_hook("ncclAllReduce"),
                nccl_hook("ncclSend"),
                nccl_hook("ncclRecv"),
                {.name = "cuMemAlloc_v2", .family = Family::kCuda, .blocking = false},
                test::launch_hook("cuLaunchHostFunc"),
                {.name = "cuMemcpyDtoHAsync_v2", .family = Family::kCuda, .blocking = false},
                test::wait_hook("sem_wait"),
                nccl_hook("ncclAllGather"),
                nccl_hook("ncclReduceScatter")});
    file.thread(counted_by_kernel(rank));
    if (!rank.helper_calls.empty()) file.thread(test::thread_entry(101, "helper"));
    file.module(kInterpreter, kInterpreter + 0x1000, "/usr/bin/python3.11");
    file.module(kLibrary, kLibrary + 0x1000, "/x/libcrunch.so");
    file.module(kCompiler, kCompiler + 0x1000, "/x/libnvrtc.so.13");
    file.module(kSharedByAll, kSharedByAll + 0x1000, "/lib/libc.so.6");
    test::StringArea names;
    const std::vector<std::uint32_t> frames = {names.add("augment (train.py:30)"), names.add("train (train.py:90)")};
    file.strings(names);
    file.stack(0, {}, frames);
    if (!rank.samples.empty()) file.block(kBlockSamples, rank.samples);
    if (!rank.frequency.empty()) file.block(kBlockFrequency, rank.frequency);
    file.calls(100, 0, rank.calls);
    if (!rank.helper_calls.empty()) file.calls(101, 0, rank.helper_calls);
    if (!rank.switches.empty()) {
      const auto rows = static_cast<std::uint32_t>(rank.switches.size() / sizeof(SwitchRow));
      file.block(kBlockSwitches,
                 test::bytes_of(SwitchesHead{test::at_us(0), test::at_us(1'000'000), 0, rows, 1}) + rank.switches);
    }
    for (const EventRow& row : rank.events) file.block(kBlockEvents, test::bytes_of(row));
    file.write(folder_.file("t.hptrace"));
    rank.device.source = ActivitySource::kAccount;
    rank.device.names = {"k"};
    rank.device.streams = {{0, 1}};
    return read_trace(folder_.file("t.hptrace"));
  }
  static ThreadAnswer described(const SimulatedRank& rank, const ThreadKey& thread) {
    ThreadAnswer answer;
    answer.tid = thread.tid;
    answer.start_ticks = thread.start_ticks;
    answer.role = Role::kMain;
    answer.time.wall_ms = 1e-3 * rank.host_us;
    answer.time.cpu_ms = 1e-3 * std::max(1.0, rank.host_us - rank.ready_us);
    answer.time.run_delay_ms = 1e-3 * rank.ready_us;
    return answer;
  }
  static ThreadAnswer progress_of(const SimulatedRank& rank) {
    ThreadAnswer answer;
    answer.tid = 102;
    answer.role = Role::kNcclProgress;
    answer.time.run_delay_ms = 1e-3 * rank.progress_ready_us;
    return answer;
  }
  static ThreadEntry counted_by_kernel(const SimulatedRank& rank) {
    ThreadEntry entry = test::thread_entry(100, "main");
    entry.cpu_ns = static_cast<std::uint64_t>(1000 * std::max(1.0, rank.host_us - rank.ready_us));
    entry.run_delay_ns = static_cast<std::uint64_t>(1000 * rank.ready_us);
    return entry;
  }
  static HostClock clock_of(const SimulatedRank& rank) {
    HostClock clock;
    clock.offset_ns = 1000 * rank.clock_us;
    return clock;
  }
  test::TestFolder folder_;
  Symbols symbols_;
};

}  // namespace hostprobe::analysis
