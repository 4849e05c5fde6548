// Every English sentence of the report, in one golden text: tests/golden/sentences.txt. Other tests ask for ids and numbers,
// so a better wording changes one file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "analysis/run_answer.h"
#include "report/advice_text.h"
#include "report/cpu_demand.h"
#include "report/diff/gate_text.h"
#include "report/finding_text.h"
#include "report/losses.h"
#include "report/news.h"
#include "report/stuck_text.h"
#include "report/text/action_sentences.h"
#include "report/verdict_text.h"

namespace hostprobe::analysis {
namespace {

std::string g_text;

void say(const std::string& what, const std::string& sentence) { g_text += what + ": " + sentence + "\n"; }

std::string text_of(const Finding& finding) { return finding_text(RunAnswer{}, finding); }

Finding finding(Symptom symptom, Cause cause, double share_pct, std::optional<int> rank = 3) {
  Finding one;
  one.cause = cause;
  one.symptom = symptom;
  one.share_pct = share_pct;
  one.rank = rank;
  one.pid = 4242;
  return one;
}

Finding wait(LongWaitEvidence evidence, Cause cause = Cause::kUnexplained) {
  Finding one = finding(Symptom::kLongWait, cause, 36.4);
  one.site = FindingSite{"sem_wait", "libx.so", Role::kMain, {}};
  one.evidence.add(std::move(evidence));
  return one;
}

WorkersEvidence workers(std::uint64_t count, double cpu_pct, double no_cpu_pct) {
  return {.workers = count, .workers_cpu_pct = cpu_pct, .workers_no_cpu_pct = no_cpu_pct};
}

void say_loader_waits() {
  Finding one =
      wait({.python = "Queue.get (queues.py:113)", .purpose = WaitedFor::kDataLoader}, Cause::kDataloaderWait);
  say("wait for the data loader", text_of(one));
  for (const double cpu_pct : {95.0, 12.0}) {
    for (const std::uint64_t count : {1, 4}) {
      Finding seen = one;
      if (cpu_pct > 60) seen.fix = Fix::kNumWorkers;
      WorkersEvidence evidence = workers(count, cpu_pct, 3);
      if (count == 4) evidence.workers_wait_in = "read (decode.py:7)";
      seen.evidence.add(evidence);
      say("wait for the data loader", text_of(seen));
      say("its fix", fix_text(seen));
    }
  }
  one.evidence.add(workers(4, 20, 60));
  say("wait for the data loader", text_of(one));
}

void say_waits() {
  say_loader_waits();
  for (const Cause cause : {Cause::kUnexplained, Cause::kDataloaderWait}) {
    LongWaitEvidence queue{.python = "Queue.get (queue.py:180)", .purpose = WaitedFor::kQueue};
    say("wait in a queue", text_of(wait(queue, cause)));
    queue.other_side_runs = "Prefetcher._fill";
    queue.other_side_tid = 77;
    say("wait in a queue whose other side is known", text_of(wait(queue, cause)));
  }
  const LongWaitEvidence peers{.code = "c10d::Reducer::finalize_backward(int) (libtorch_cpu.so)",
                               .purpose = WaitedFor::kPeers};
  say("wait for other ranks", text_of(wait(peers, Cause::kWaitsForRank)));
  say("wait in the driver", text_of(wait({.purpose = WaitedFor::kGpu}, Cause::kSyncCalls)));
  say("wait for the interpreter", text_of(wait({.purpose = WaitedFor::kGil}, Cause::kGilContention)));
  say("wait for nobody knows what", text_of(wait({})));
  say("sleep", text_of(wait({.purpose = WaitedFor::kSleep})));
  say("sleep", text_of(wait({.python = "main (train.py:12)", .purpose = WaitedFor::kSleep})));
  Finding one = wait({.woken_by = "pin_memory"});
  one.rank = std::nullopt;
  say("wait of a process", text_of(one));
  one.only_process = true;
  say("wait of the only process", text_of(one));
}

void say_pools() {
  Finding one = finding(Symptom::kNotRunning, Cause::kCpuContention, 20);
  PoolEvidence pool{.pool_library = "libgomp.so.1",
                    .pool_threads = 8,
                    .pool_processes = 1,
                    .pool_at_a_time = 7.61,
                    .pool_cpus = 2,
                    .pool_spins_pct = 75.3,
                    .pool_spins_in = "gomp_barrier_wait_end (libgomp.so.1)",
                    .pool_fits = 2};
  for (const char* library : {"libgomp.so.1", "libopenblas.so.0", "libc10.so", "libown.so"}) {
    Finding seen = one;
    pool.pool_library = library;
    seen.fix = Fix::kFewerThreads;
    seen.evidence.add(pool);
    say("pool", text_of(seen));
  }
  one = finding(Symptom::kThrottled, Cause::kCpuThrottle, 20);
  one.fix = Fix::kFewerThreads;
  pool.pool_library = pool.pool_spins_in = "libiomp5.so";
  pool.pool_cpus_by = "quota";
  pool.pool_cpus = 1.5;
  pool.pool_processes = 2;
  one.evidence.add(pool);
  say("pool under a quota", text_of(one));
}

void say_cpu_use() {
  RunAnswer run;
  run.wall_s = 2;
  ProcessAnswer& process = run.processes.emplace_back();
  process.cpus = 2;
  process.threads.resize(1);
  process.threads[0].time.cpu_ms = 1000;
  say("CPUs of one thread", cpu_use_text(run));
  process.threads.resize(8, process.threads[0]);
  process.threads[1].time.run_delay_ms = 3000;
  process.quota.emplace().cpus = 0.5;
  say("CPUs of several threads", cpu_use_text(run));
}

void say_masks() {
  Finding one = finding(Symptom::kNotRunning, Cause::kCpuContention, 20);
  one.fix = Fix::kWidenMask;
  MaskEvidence mask{.mask_cpus = 1, .mask_all_cpus = 2, .mask_cpus_used = 1.02};
  Finding seen = one;
  seen.evidence.add(mask);
  say("mask that nobody is known to have set", text_of(seen));
  mask.mask_set_by = "pin (libpinme.so)";
  mask.mask_set_from = "load_codec (train.py:12)";
  mask.mask_set_at_ms = 1234;
  mask.mask_list = "CPU 0";
  mask.mask_idle_cpus = 0.93;
  one.evidence.add(mask);
  say("mask", text_of(one));
  for (const std::uint64_t workers : {1, 4}) {
    Finding loader = finding(Symptom::kLostTime, Cause::kDataloaderWait, 20);
    loader.fix = Fix::kWidenMask;
    mask.mask_workers = workers;
    loader.evidence.add(mask);
    say("mask of workers", text_of(loader));
  }
}

void say_no_cpu() {
  Finding one = finding(Symptom::kNotRunning, Cause::kCpuContention, 20);
  say("no CPU", text_of(one));
  Finding taken = one;
  one.evidence.add(NoCpuEvidence{
      .cpus = 2, .cpus_used = 1.95, .cpus_wanted = 3.4, .taken_by = "job", .busiest = "loader", .busiest_cpus = 1.2});
  taken.evidence.add(NoCpuEvidence{.cpus = 2, .cpus_used = 0.75, .cpus_wanted = 1.1, .taken_by = "others"});
  say("no CPU", text_of(taken));
  one.fix = Fix::kMoreCpus;
  say("no CPU", text_of(one));
  say_pools();
  say_masks();
  say_cpu_use();
}

void say_python() {
  Finding one = finding(Symptom::kInterpreterLock, Cause::kGilContention, 4.26);
  one.fix = Fix::kProcesses;
  say("interpreter lock", text_of(one));
  one.evidence.add(HolderEvidence{.held_by = "dataloader", .held_by_tid = 4243});
  say("interpreter lock, its holder known", text_of(one));
  one.evidence = {};
  one.evidence.add(HolderEvidence{.held_by = "dataloader", .held_by_tid = 4243, .held_by_name = "Prefetcher._fill"});
  say("interpreter lock, its holder known by name", text_of(one));
  one = finding(Symptom::kGarbage, Cause::kGcPause, 8.31);
  one.fix = Fix::kGc;
  one.of_steps = true;
  one.evidence.add(GarbageEvidence{
      .count = 1234, .max_ms = 193.4, .oldest_generation = 2, .oldest_count = 7, .begins_in = "rows (data.py:9)"});
  say("garbage collection", text_of(one));
  Finding grows = one;
  grows.fix = Fix::kFreeze;
  grows.evidence.add(GarbageWorkEvidence{.collected = 3, .new_blocks_per_step = 15'004.2, .new_blocks_per_s = 1e6});
  say("garbage collection, what lives grows", text_of(grows));
  Finding asked = one;
  asked.fix = Fix::kNoCollect;
  asked.site = FindingSite{"gc.collect", "", Role::kMain, {"train_step (train.py:44)"}, CallKind::kOther};
  asked.evidence.add(GarbageWorkEvidence{
      .collected = 105, .requests = 39, .requests_pct = 100, .requests_collected = 105, .living_blocks = 2'675'598});
  say("garbage collection, asked for", text_of(asked));
  one.of_steps = false;
  one.with_start_up = true;
  one.fix = Fix::kNone;
  say("garbage collection, perhaps before the first step", text_of(one));
}

void say_ranks() {
  Finding one = finding(Symptom::kJobStandsStill, Cause::kSlowRank, 100);
  one.evidence.add(StandstillEvidence{.op = "AllReduce",
                                      .sequence = 196,
                                      .comm = "9d1ad525aaaa",
                                      .missing = 1,
                                      .arrived = 1,
                                      .ranks = 2,
                                      .since_ms = 8360});
  say("standstill", text_of(one));
  one = finding(Symptom::kRankIsLate, Cause::kSlowRank, 35, 1);
  one.evidence.add(LateRankEvidence{.waits_pct = 5, .waits_most_rank = 0, .waits_most_pct = 40});
  say("late rank", text_of(one));

  one = finding(Symptom::kChildStandsStill, Cause::kLockContention, 100);
  StuckChildEvidence stuck{
      .child_pid = 4250, .child_in = "gomp_team_barrier_wait_end (libgomp.so.1)", .waited_ms = 9000};
  one.evidence.add(stuck);
  say("child that waits for ever", text_of(one));
  stuck.child_line = "augment (train.py:30)";
  one = finding(Symptom::kChildStandsStill, Cause::kLockContention, 100);
  one.evidence.add(stuck);
  say("child that waits for ever, its line known", text_of(one));
}

void say_findings() {
  say_ranks();
  say_python();
  Finding one = finding(Symptom::kLateWakes, Cause::kUnexplained, 2.5);
  one.evidence.add(LateWakesEvidence{.wakes = 5000, .wake_p50_us = 12, .wake_p99_us = 480});
  say("late wakes", text_of(one));
  for (const Cause cause : {Cause::kAllocStall, Cause::kPageableCopy}) {
    one = finding(Symptom::kGpuStalls, cause, 7.25);
    one.fix = usual_fix(cause);
    one.evidence.add(GpuStallsEvidence{.count = 1200});
    say("GPU stalls", text_of(one));
  }
  say_no_cpu();
  one = finding(Symptom::kOwnCost, Cause::kOwnCost, 1.34);
  one.evidence.add(OwnCostEvidence{.total_ms = 40, .calls_ms = 10, .switches_ms = 22, .own_thread_ms = 8});
  say("own cost", text_of(one));
}

void say_transfers() {
  const auto moving = [](TransferEvidence moved) {
    Finding one = finding(Symptom::kLostTime, Cause::kCommBandwidth, 12.4);
    one.site = FindingSite{"ncclAllReduce", "", Role::kMain, {}};
    moved.bytes = 8 << 20;
    moved.transfer_us = 1300;
    moved.bus_gb_s = 6.234;
    one.evidence.add(moved);
    return text_of(one);
  };
  say("lost time in transfers", moving({}));
  say("lost time in transfers slower than PCIe", moving({.pcie_bus_gb_s = 11.4}));
  say("lost time in slow transfers", moving({.usual_bus_gb_s = 98.1}));
}

void say_own_work(Finding one) {
  one.cause = Cause::kHostWork;
  for (const Role role : {Role::kMain, Role::kOther}) {
    one.site = FindingSite{"clock_nanosleep", "python3.11", role, {"produce (train.py:61)"}, CallKind::kSleep};
    say("lost time asleep", text_of(one));
  }
  one.cause = Cause::kPythonOverhead;
  one.without_gpu = true;
  one.site->stack = {"encode (encoder.py:7)", "log (train.py:61)", "main (train.py:3)"};
  one.evidence.add(SamplesEvidence{.samples = 60, .site_pct = 81.2});
  say("lost time by samples", text_of(one));
  one.cause = Cause::kHostWork;
  one.site->function = "sort";
  one.site->kind = CallKind::kOther;
  say("lost time by samples", text_of(one));
}

void say_one_step(Finding one) {
  one.of_one_step = true;
  one.evidence = {};
  one.evidence.add(HolderEvidence{.held_by = "other", .held_by_tid = 77, .held_by_name = "Queue._feed"});
  say("lost time of one step, for a thread that has a name", text_of(one));
}

void say_waits_for_others(Finding& one) {
  one.cause = Cause::kUnexplained;
  for (const auto& [function, kind] : {std::pair{"recv", CallKind::kRead}, {"wait4", CallKind::kChild}}) {
    one.site =
        FindingSite{function, "python3.11", Role::kMain, {"socket.recv (socket.py:9)", "plant (train.py:61)"}, kind};
    one.evidence = {};
    say("lost time at a wait for others", text_of(one));
  }
}

// By their rows alone.
void say_causes() {
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    const bool is_in_totals = cause == Cause::kCpuThrottle || cause == Cause::kProcessStopped;  // with their numbers
    if (reported_cause(cause) == cause && least_share_pct(cause) > 0 && !is_in_totals)
      say("lost time", text_of(finding(Symptom::kLostTime, cause, 12.4)));
  }
  for (const Cause cause : {Cause::kLaunchBound, Cause::kProxyDelay, Cause::kIdleStateExit}) {
    Finding mendable = finding(Symptom::kLostTime, cause, 12.4);
    mendable.fix = usual_fix(cause);
    say("lost time with a fix", text_of(mendable));
  }
}

void say_seldom_lost_time() {
  Finding one = finding(Symptom::kLostTime, Cause::kGilContention, 36);
  one.of_steps = true;
  one.ms_per_step = 1;
  one.fix = Fix::kProcesses;
  one.site = FindingSite{"pthread_cond_timedwait", "python3.11", Role::kMain, {}};
  one.evidence.add(StepsEvidence{.steps = 3000, .pieces = 900, .steps_with_it = 10});
  one.evidence.add(
      HolderEvidence{.held_by = "other", .held_by_tid = 77, .held_by_name = "save", .held_in = "save (train.py:9)"});
  say("lost time in few steps, for a thread that is known", text_of(one));
  one = finding(Symptom::kLostTime, Cause::kFileIo, 12);
  one.site = FindingSite{"pread64 (file)", "python3.11", Role::kDataloader, {"load (data.py:9)"}};
  one.evidence.add(AwaitedEvidence{.awaited = "/data/train.bin"});
  say("lost time for files of loader workers", text_of(one));
  one = finding(Symptom::kLostTime, Cause::kFileIo, 12);
  one.site = FindingSite{"fsync (file)", "python3.11", Role::kOther, {"append (log.py:9)"}};
  one.evidence.add(StepsEvidence{.steps = 3000, .pieces = 900, .steps_with_it = 900, .held_up = "take (train.py:61)"});
  say("lost time for files of another thread", text_of(one));
  one.evidence.add(AwaitedEvidence{.awaited = "/data/log"});
  say("lost time for files of another thread", text_of(one));
  one = finding(Symptom::kLostTime, Cause::kUnexplained, 12);
  one.site = FindingSite{"read", "python3.11", Role::kMain, {}};
  one.site->kind = CallKind::kRead;
  one.evidence.add(AwaitedEvidence{.awaited = "unix /tmp/listener"});
  say("lost time for what is known by its other end alone", text_of(one));
}

void say_lost_time() {
  say_causes();
  Finding one = finding(Symptom::kLostTime, Cause::kLockContention, 12.4);
  one.of_steps = true;
  one.ms_per_step = 2.31;
  one.site = FindingSite{"sem_wait", "python3.11", Role::kMain, {}};
  say("lost time at a call", text_of(one));
  one.site->stack = {"plant (train.py:61)"};
  one.evidence.add(HolderEvidence{.held_by = "other", .held_by_tid = 77});
  say("lost time at a line, for a thread", text_of(one));
  one.cause = Cause::kDataloaderWait;
  say("lost time for a loader thread", text_of(one));
  one.cause = Cause::kHostWork;
  say("lost time for a thread that is asked", text_of(one));
  one.cause = Cause::kDataloaderWait;
  say_one_step(one);
  say_waits_for_others(one);
  say_own_work(one);
  one.evidence = {};
  one.site = FindingSite{"sem_wait", "python3.11", Role::kMain, {"plant (train.py:61)"}};
  one.evidence.add(HolderEvidence{.held_by = "other", .held_by_tid = 77});
  one.cause = Cause::kLockContention;
  one.without_gpu = false;
  one.rank.reset();
  one.pid = 0;
  one.gain_pct = 11.2;
  one.gain_low_pct = 9.6;
  one.gain_high_pct = 12.8;
  say("lost time of the job", text_of(one));
  for (const GainLimit limit : {GainLimit::kGpu, GainLimit::kTransfers, GainLimit::kHost}) {
    one.gain_limit = limit;
    say("lost time of which less is gained", text_of(one));
  }
  one = finding(Symptom::kLostTime, Cause::kRemoteWait, 12);
  one.site = FindingSite{"recv", "libc.so.6", Role::kMain, {"ask (train.py:61)"}};
  one.evidence.add(AwaitedEvidence{.awaited = "tcp 10.0.0.2:5000"});
  say("lost time for a peer", text_of(one));
  say_seldom_lost_time();
}

void say_headlines() {
  RunAnswer run;
  say("headline of nothing", headline(run).at(0));
  ProcessAnswer process;
  process.wall_ms = 1000;
  run.processes.push_back(process);
  say("headline where all is well", headline(run).at(0));
  run.step_time = StepTime{};
  run.step_time->length_ns = 1e6;
  run.step_time->lost.resize(2);
  run.step_time->lost[0].cause = Cause::kGpuBound;
  run.step_time->lost[0].ns = 983'000;
  run.step_time->lost[1].ns = 17'000;
  say("headline where all of the time is known and well", headline(run).at(0));
  run.step_time->lost[1].cause = Cause::kUnknown;
  say("headline where some of the time is unknown", headline(run).at(0));
  std::swap(run.step_time->lost[0].ns, run.step_time->lost[1].ns);
  say("headline where most of the time is unknown", headline(run).at(0));
  run.findings.assign(5, finding(Symptom::kOwnCost, Cause::kOwnCost, 1));
  say("headline of a run whose only finding is the probe's cost", headline(run).at(0));
  run.findings.assign(5, finding(Symptom::kLostTime, Cause::kFileIo, 12.4));
  say("headline of five findings has sentences", std::to_string(headline(run).size()));
}

void say_verdict(const RunAnswer& run) {
  const Verdict verdict = verdict_of(run);
  say("verdict",
      fmt::format("{} ({}): {}", verdict_id(verdict.word), severity_id(verdict.severity), verdict_why(run, verdict)));
}

// Of runs of two ranks.
void say_verdicts() {
  RunAnswer run;
  say_verdict(run);
  run.kernel.files.emplace_back();
  say_verdict(run);
  run.processes.resize(2);
  run.ranks = 2;
  for (const TimeUnknown why :
       {TimeUnknown::kNoSteps, TimeUnknown::kClocks, TimeUnknown::kNoRecords, TimeUnknown::kLostRecords,
        TimeUnknown::kLostActivities, TimeUnknown::kTooMany, TimeUnknown::kChanged}) {
    run.step_time_unknown = why;
    say_verdict(run);
  }
  run.findings = {finding(Symptom::kLostTime, Cause::kDataloaderWait, 40)};
  say_verdict(run);
  run.findings[0].rank.reset();
  run.findings[0].pid = 0;
  for (const Cause cause : {Cause::kDataloaderWait, Cause::kCommBandwidth, Cause::kGcPause, Cause::kUnexplained}) {
    run.findings[0].cause = cause;
    run.findings[0].gain_pct = 12;
    say_verdict(run);
  }
  run.processes[0].imported.emplace().in_part = true;
  run.findings.clear();
  say_verdict(run);
}

ProcessAnswer rank_of(int rank, int restart, double begin_s, double end_s) {
  ProcessAnswer process;
  process.kind = ProcessKind::kRank;
  process.rank = rank;
  process.restart = restart;
  process.start_realtime_ns = static_cast<std::uint64_t>(1e9 * begin_s);
  process.wall_ms = 1e3 * (end_s - begin_s);
  process.end_s = end_s;
  return process;
}

// In `python`, or unknown, for so long.
void waits(ProcessAnswer& process, const char* function, const char* python, double s) {
  ThreadAnswer& main = process.threads.emplace_back();
  main.tid = process.pid;
  main.open_wait = OpenWaitAnswer{function, "python3.11", 0, 1e3 * s, CallKind::kOther, python};
}

std::vector<std::string> told(RunAnswer run) {
  tell_of_the_whole(run);
  return news(run);
}

void say_unwritten_ranks() {
  RunAnswer run;
  run.ranks = 3;
  run.world = 8;
  run.unwritten_ranks = {1, 4, 5, 6, 7};
  say("news of ranks without a trace", news(run).at(0));
  run.world = 4;
  run.unwritten_ranks = {2};
  say("news of a rank without a trace", news(run).at(0));
}

void say_news() {
  say_unwritten_ranks();
  RunAnswer run;
  run.ranks = 2;
  run.processes.push_back(rank_of(1, 0, 0, 12.3));
  run.processes.back().end = EndState::kRecovered;
  say("news of a death that nobody saw", told(run).at(0));
  run.processes.back().end_signal = 9;
  say("news of a death", told(run).at(0));
  run.processes.push_back(rank_of(0, 0, 0, 12.9));
  run.processes.back().end = EndState::kKilled;
  run.processes.back().end_signal = 15;
  for (const int rank : {0, 1}) run.processes.push_back(rank_of(rank, 1, 30, 50));
  run.processes.back().end_status = 3;
  for (const int rank : {0, 1}) run.processes.push_back(rank_of(rank, 2, 64, 90));
  say("news of deaths", told(run).at(0));
  run.processes.clear();
  for (int rank = 0; rank < 6; ++rank) {
    run.processes.push_back(rank_of(rank, 0, 0, 220));
    run.processes.back().end = EndState::kRunning;
    waits(run.processes.back(), "pthread_cond_timedwait", "_create_gloo_process_group (distributed_c10d.py:9)", 206);
    if (rank == 0 || rank == 1 || rank == 5) say("news of a long wait", told(run).at(0));
  }
  run = {};
  ProcessAnswer& program = run.processes.emplace_back();
  program.wall_ms = 10'000;
  program.end = EndState::kRunning;
  waits(program, "sem_wait", "", 9);
  say("news of a program", told(run).at(0));
  program.end = EndState::kUnseen;
  say("news of a dead program's wait", told(run).at(1));
  program.threads[0].open_wait->function = "clock_nanosleep";
  program.threads[0].open_wait->kind = CallKind::kSleep;
  program.end = EndState::kRunning;
  say("news of a sleeper", told(run).at(0));
}

void say_stuck() {
  StuckCollective stuck{.communicator = "9d1ad525aaaa",
                        .ranks = 8,
                        .operation = "AllReduce",
                        .sequence = 196,
                        .arrived = 3,
                        .since_ms = 8360,
                        .missing = {}};
  stuck.missing.push_back({.rank = 1, .job_rank = 5, .sequence = 194, .has_main = true});
  stuck.missing.push_back({.rank = 2, .sequence = 0});
  stuck.missing.push_back({.rank = 4,
                           .job_rank = 9,
                           .sequence = 195,
                           .has_main = true,
                           .open_wait = OpenWaitAnswer{"sem_clockwait", "python3.11", 0, 3000}});
  for (const int rank : {6, 7}) stuck.missing.push_back({.rank = rank, .sequence = 1});
  say("stuck", stuck_text(stuck));
}

void say_losses() {
  RunAnswer run;
  run.unreadable.push_back({"/run/a.hptrace", "not a hostprobe trace", 0});
  ProcessAnswer process;
  process.kind = ProcessKind::kRank;
  process.rank = 1;
  process.pid = 4242;
  process.trace_path = "/run/b.hptrace";
  process.records = 99'000;
  process.lost = 1'000;
  process.lost_by[0] = 1'000;
  process.tail_gone = true;
  process.damages.assign(5, Damage{4096, 512, "the checksum of a block of records does not match"});
  run.processes.push_back(process);
  process = {};
  process.pid = 77;
  process.lost = 60;
  process.lost_by = {10, 10, 10, 10, 10, 5, 4};
  run.processes.push_back(process);
  for (const std::string& sentence : loss_sentences(run)) say("loss", sentence);
}

void say_imports() {
  RunAnswer run;
  ProcessAnswer process;
  process.pid = 77;
  process.imported.emplace();
  ImportAnswer& imported = *process.imported;
  imported.in_part = true;
  imported.read_bytes = 90'000;
  imported.all_bytes = 100'000;
  imported.why = "byte 4096: a string has no end, and 2 more places";
  imported.left_out = {{"clocks that cannot be those of a day, replaced", 1, {}},
                       {"events that are damaged", 3, 4000},
                       {"negative durations, taken for 0", 2, 123},
                       {"thread ids that are none, replaced", 1, {}}};
  process.actions.push_back({ActionKind::kGuessed, 0, 0.25, 1, 0, "rank 3 guessed from the name of the file"});
  run.processes.push_back(process);
  for (const std::string& sentence : loss_sentences(run)) say("import", sentence);
  for (const std::string& sentence : action_sentences(run, true)) say("import", sentence);
}

void say_actions() {
  RunAnswer run;
  ProcessAnswer process;
  process.pid = 77;
  process.skipped = 9'000;
  process.summed_only = 12'000;
  process.wall_ms = 60'000;
  process.whole_since_ms = 30'000;
  const auto act = [&process](ActionKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount,
                              const char* text) {
    process.actions.push_back({kind, reason, 0.25, number, amount, text});
  };
  act(ActionKind::kTrigger, static_cast<std::uint32_t>(TriggerCause::kSlowStep), 1, 1234, "step 7 took 31 ms");
  act(ActionKind::kTrigger, static_cast<std::uint32_t>(TriggerCause::kCommand), 0, 3, "");
  act(ActionKind::kStopped, 0, 0, 0, "");
  act(ActionKind::kStarted, 0, 0, 0, "");
  act(ActionKind::kSetting, 0, 0, 0, "HOSTPROBE_STACK_US=5");
  act(ActionKind::kDetail, 0, 2, 730, "");
  act(ActionKind::kDetail, 0, 0, 120, "");
  act(ActionKind::kDumpGone, 0, 1, 3 << 20, "");
  act(ActionKind{99}, 0, 0, 0, "of a newer version");
  run.processes.push_back(process);
  for (const std::string& sentence : action_sentences(run, true)) say("action", sentence);
  say("action, short", action_sentences(run, false).at(6));
  say("what can be seen", visible_part(process));
  process.whole_since_ms.reset();
  say("what can be seen in sums", visible_part(process));
}

void say_gates() {
  StepGate gate;
  gate.limit_pct = 2.5;
  gate.change_pct = 4.2;
  gate.low_pct = 3.9;
  gate.high_pct = 4.6;
  gate.noise_pct = 3.1;
  gate.a_count = 7;
  gate.b_count = 9;
  gate.differing = {{"ranks", "2", "4"}, {"mode", "trace", "monitor"}};
  for (const GateReason reason : {GateReason::kNoSteps, GateReason::kSettingsDiffer, GateReason::kReadInPart,
                                  GateReason::kFewSteps, GateReason::kNoise, GateReason::kLimitInInterval}) {
    gate.reason = reason;
    say("gate", gate_text(gate));
  }
  gate.reason = GateReason::kMeasured;
  gate.result = GateResult::kSlower;
  say("gate", gate_text(gate));
  gate.result = GateResult::kNotSlower;
  gate.change_pct = -1.2;
  gate.low_pct = -1.9;
  gate.high_pct = 0.4;
  say("gate", gate_text(gate));
}

TEST(Sentences, AreThoseOfTheGoldenText) {
  g_text.clear();
  say_waits();
  say_findings();
  say_lost_time();
  say_transfers();
  say_headlines();
  say_verdicts();
  say_news();
  say_stuck();
  say_losses();
  say_imports();
  say_actions();
  say_gates();
  std::ifstream file(std::string(HOSTPROBE_TEST_GOLDEN) + "/sentences.txt");
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(g_text, expected.str()) << "what is said now:\n" << g_text;
}

}  // namespace
}  // namespace hostprobe::analysis
