// job_runs.cpp: see runs.h.
#include "answer/step.h"
#include "made_job.h"
#include "model/activity.h"
#include "runs.h"

namespace hostprobe::test {
namespace {

namespace fs = std::filesystem;
using namespace analysis;

constexpr std::uint64_t kSteps = 12;
constexpr int kKernels = 6;
constexpr int kNewfstatat = 262;  // of x86-64, as the runs are

void make_healthy(const fs::path& folder) {
  MadeJob job(2);
  std::mt19937 random(7);
  for (std::uint64_t i = 0; i < kSteps; ++i) job.step(i, [&] { job.work(random); });
  job.write(folder);
}

// Rank 0 runs Python and a library before it launches, rank 1 has slow CPUs and is taken off them.
void make_own_work(const fs::path& folder) {
  MadeJob job(3);
  job.steps(20, kKernels, [&](std::uint64_t) {
    for (std::size_t r = 0; r < job.size(); ++r) job.rank(r).run_at(r == 1 ? 1.9 : 3.8);
    SimulatedRank& first = job.rank(0);
    for (int n = 0; n < 3; ++n) first.sample(60 + 10 * n, 0);
    for (int n = 0; n < 3; ++n) first.sample(100 + 10 * n, kInterpreter + 8);
    for (int n = 0; n < 2; ++n) first.sample(150 + 10 * n, kLibrary + 8);
    first.host_us += 500;
    job.rank(1).lose_cpu(300);
    job.rank(1).host_us += 400;
  });
  job.write(folder);
}

// Somebody stops rank 1 now and then.
void make_stopped(const fs::path& folder) {
  MadeJob job(2);
  job.steps(10, kKernels, [&](std::uint64_t i) {
    if (i % 5 != 2) return;
    job.rank(1).halt(50'000, 40'000);
    job.rank(1).host_us += 50'000;
  });
  job.write(folder);
}

void make_python(const fs::path& folder) {
  MadeJob job(2);
  job.steps(kSteps, kKernels, [&](std::uint64_t i) {
    SimulatedRank &first = job.rank(0), &second = job.rank(1);
    collect_garbage(first, 300, i % 3);
    wait(second, {.hook = kLockWait, .us = 150, .site = kInterpreter + 7, .flags = kRecordFailed | kRecordTimedOut});
    wait(second, {.hook = kLockWait, .us = 100, .site = kInterpreter + 7, .waker = kHelperTid});
    wait(first, {.hook = kMutex, .us = 120, .waker = kHelperTid});
    wait(first, {.us = 90, .site = kInterpreter + 9, .stack = kLockStack, .waker = kHelperTid});
  });
  job.write(folder);
}

void make_driver_calls(const fs::path& folder) {
  MadeJob job(2);
  job.steps(kSteps, kKernels, [&](std::uint64_t i) {
    SimulatedRank& one = job.rank(1);
    one.allocate(200);
    one.compute(30);
    one.copy(150);
    if (i % 4 == 1) call_driver(one, kModuleLoad, 900);
    one.compute(20);
    one.call_back(120);
    for (int n = 0; n < 4; ++n) {
      one.compute(5);
      one.synchronise();
      one.host_us += 4;
    }
    if (i == 5) one.leave_out_last_call();
  });
  job.write(folder);
}

// Many kernels that are shorter than their launches.
void make_launches(const fs::path& folder) {
  MadeJob job(1);
  for (std::uint64_t i = 0; i < kSteps; ++i)
    job.step(i, [&] {
      for (int kernel = 0; kernel < 60; ++kernel) {
        job.rank(0).host_us += kernel % 9 == 0 ? 25 : 5;
        if (kernel == 30 && i % 2 == 0) job.rank(0).lose_cpu(200);
        job.rank(0).compute(1);
      }
      job.synchronise();
    });
  job.write(folder);
}

void make_input(const fs::path& folder) {
  MadeJob job(2);
  job.steps(20, kKernels, [&](std::uint64_t) {
    SimulatedRank &first = job.rank(0), &second = job.rank(1);
    wait(first, {.us = 400, .site = kInterpreter + 0x40, .stack = kLoaderStack, .waker = kLoaderTid});
    wait(first, {.hook = kRead, .us = 180, .site = kLibrary + 5, .flags = kRecordFile});
    first.sample_blocked(60, kNewfstatat);
    first.block(150);
    wait(second, {.hook = kReceive, .us = 350, .site = kLibrary + 6, .stack = kLockStack});
    wait(second, {.us = 200, .site = kInterpreter + 0x60, .stack = kQueueStack, .waker = kHelperTid});
    wait(second, {.hook = kSleep, .us = 90, .site = kLibrary + 8, .stack = kTrainStack});
    second.sample_blocked(30, -1);
    second.block(80);
  });
  job.write(folder);
}

// Threads that hand work to each other, and a group whose quota is used up.
void make_wakes(const fs::path& folder) {
  MadeJob job(2);
  job.steps(20, kKernels, [&](std::uint64_t i) {
    job.rank(1).hand_over(5, 40, 10);
    SimulatedRank& first = job.rank(0);
    const double begin_us = first.host_us;
    first.lose_cpu(i % 2 == 0 ? 300 : 60);
    if (i % 2 != 0) return;
    EventRow row{};
    row.kind = kEventThrottled;
    row.reason = 1;
    row.ticks = at_us(begin_us + 500);
    row.number = 1;
    row.amount = 280'000;
    set_text(row.text, "2.5 /kubepods/train");
    first.events.push_back(row);
  });
  job.write(folder);
}

// Two by two ranks, in rows and in columns: rank 1 has a slow link, rank 3 a slow GPU.
void make_transfers(const fs::path& folder) {
  MadeJob job(4);
  for (std::uint64_t i = 0; i < kSteps; ++i)
    job.step(i, [&] {
      for (std::size_t r = 0; r < job.size(); ++r)
        for (int kernel = 0; kernel < 5; ++kernel) job.rank(r).compute(r == 3 ? 60 : 40);
      job.all_reduce(kComm + 1, {0, 1}, 110);
      job.all_reduce(kComm + 2, {2, 3}, 10);
      job.all_reduce(kComm + 3, {0, 2}, 10);
      job.all_reduce(kComm + 4, {1, 3}, 110);
      job.synchronise();
    });
  job.write(folder);
}

void make_slow_links(const fs::path& folder) {
  MadeJob job(2);
  for (std::uint64_t i = 0; i < kSteps; ++i)
    job.step(i, [&] {
      for (std::size_t r = 0; r < job.size(); ++r) job.rank(r).compute(200);
      job.all_reduce(100);
    });
  job.write(folder);
}

void make_progress(const fs::path& folder) {
  MadeJob job(3);
  job.rank(0).poll_us = 1;
  job.rank(1).poll_us = 2;
  job.rank(2).poll_us = 20;
  job.steps(kSteps, kKernels, [](std::uint64_t) {});
  job.write(folder);
}

// Its clock is not only ahead.
void run_fast(SimulatedRank& rank, double factor) {
  for (Call& call : rank.calls) call.begin_us *= factor, call.end_us *= factor;
  for (Activity& one : rank.device.activities) one.begin_ns *= factor, one.end_ns *= factor, one.launch_ns *= factor;
  for (Step& step : rank.steps.steps) step.begin_ns *= factor, step.end_ns *= factor;
}

// Clocks of two hosts that differ, and messages between the ranks.
void make_hosts(const fs::path& folder) {
  MadeJob job(4, {.hosts = 2});
  for (const std::size_t r : {1, 3}) job.rank(r).clock_us = 1500;
  job.steps(kSteps, kKernels, [&](std::uint64_t i) {
    job.rank(2).host_us += 100 + 10 * static_cast<double>(i % 3);
    job.message(job.rank(0), job.rank(1), 12, i % 2 == 0);
    job.message(job.rank(2), job.rank(3), 15, true);
  });
  for (const std::size_t r : {1, 3}) run_fast(job.rank(r), 1.0002);
  job.write(folder);
}

// Nobody saw the GPU: the calls alone, times of a few collectives, and samples of the queues.
void make_unseen(const fs::path& folder) {
  MadeJob job(3, {.has_gpu_times = false});
  std::uint64_t number = 0;
  job.steps(20, kKernels, [&](std::uint64_t i) {
    ++number;
    job.rank(1).host_us += i % 4 == 3 ? 900 : 250;
    for (std::size_t r = 0; r < job.size(); ++r) {
      SimulatedRank& one = job.rank(r);
      one.record({.hook = kQueueSample, .begin_us = one.host_us, .end_us = one.host_us, .a = 7, .b = i % 3 == 0});
      if (i % 2 == 0) continue;
      one.record({.hook = kGpuTime,
                  .begin_us = one.host_us,
                  .end_us = one.host_us,
                  .a = kComm,
                  .b = 30'000 + 10'000 * r,
                  .c = 500,
                  .d = number,
                  .e = 7});
    }
  });
  job.write(folder);
}

// No GPU at all: the ranks compute on the CPU and wait for each other.
void make_cpu_job(const fs::path& folder) {
  MadeJob job(2, {.has_gpu_times = false, .has_launches = false, .command = "python3 train_cpu.py"});
  for (std::uint64_t i = 0; i < 20; ++i)
    job.step(i, [&] {
      SimulatedRank &first = job.rank(0), &second = job.rank(1);
      first.host_us += 400;
      second.host_us += 700;
      wait(first, {.us = second.host_us - first.host_us + 20, .site = kInterpreter + 3, .stack = kPeerStack});
      wait(second, {.us = 20, .site = kInterpreter + 3, .stack = kPeerStack, .waker = kHelperTid});
    });
  job.write(folder);
}

// Steps that nobody marked.
void make_unmarked(const fs::path& folder) {
  MadeJob job(2, {.has_marks = false});
  job.steps(40, kKernels, [&](std::uint64_t i) { job.rank(0).host_us += i % 10 == 9 ? 800 : 100; });
  job.write(folder);
}

// Steps that differ by chance; the later run has other lengths of everything.
void make_noisy(const fs::path& folder, std::uint32_t seed, std::uint32_t more) {
  MadeJob job(2);
  std::mt19937 random(seed);
  const auto any = [&random](std::uint32_t below) { return static_cast<double>(random() % below); };
  for (std::size_t r = 0; r < job.size(); ++r) job.rank(r).poll_us = 2 + more / 20;
  for (std::uint64_t i = 0; i < 60; ++i)
    job.step(i, [&] {
      for (std::size_t r = 0; r < job.size(); ++r) {
        job.rank(r).host_us += more + any(60);
        job.rank(r).hand_over(5, 10 + more / 4 + any(8), 10);
        for (int kernel = 0; kernel < 4; ++kernel) {
          job.rank(r).compute(20 + more / 10 + any(5));
          job.rank(r).host_us += more / 20 + any(4);
        }
      }
      job.all_reduce(20 + more / 3 + any(6));
      job.synchronise();
    });
  job.write(folder);
}
void make_before(const fs::path& folder) { make_noisy(folder, 3, 0); }
void make_after(const fs::path& folder) { make_noisy(folder, 4, 120); }

}  // namespace

std::vector<MadeRun> job_runs() {
  return {{"healthy", make_healthy},       {"own_work", make_own_work},   {"stopped", make_stopped},
          {"python", make_python},         {"driver", make_driver_calls}, {"launches", make_launches},
          {"input", make_input},           {"wakes", make_wakes},         {"transfers", make_transfers},
          {"slow_links", make_slow_links}, {"progress", make_progress},   {"hosts", make_hosts},
          {"unseen", make_unseen},         {"cpu_job", make_cpu_job},     {"unmarked", make_unmarked},
          {"before", make_before},         {"after", make_after}};
}

}  // namespace hostprobe::test
