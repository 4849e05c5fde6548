// process_runs.cpp: see runs.h.
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "format/switches.h"
#include "runs.h"
#include "support/counters.h"

namespace hostprobe::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPython = 0x100000, kLib = 0x200000, kNccl = 0x300000, kDriver = 0x400000, kGomp = 0x500000;
constexpr std::uint32_t kMain = 4242;

enum Rows : std::uint16_t {
  kSem = 1,
  kCond,
  kMutex,
  kPoll,
  kSleep,
  kRead,
  kPost,
  kLaunch,
  kSync,
  kReduce,
  kGc,
  kStep,
  kRange,
  kMark,
  kYield,
  kGraph,
  kOptimizer,
  kAlloc,
  kCopy
};

std::string hook_rows() {
  const auto plain = [](const char* name, Family family, std::vector<std::string> labels) {
    return HookLook{.name = name, .family = family, .labels = std::move(labels), .blocking = false};
  };
  HookLook graph = launch_hook("cuGraphLaunch");
  graph.labels = {"graph:hex", "stream:hex", "nodes", "kernels"};
  std::string rows;
  for (const HookLook& look :
       {wait_hook("sem_clockwait"), wait_hook("pthread_cond_timedwait"), wait_hook("pthread_mutex_lock"),
        wait_hook("poll"), wait_hook("clock_nanosleep"), wait_hook("read"),
        plain("sem_post", Family::kWake, {"object:hex", "waiters", "site:code"}), launch_hook("cuLaunchKernel"),
        sync_hook("cuStreamSynchronize"),
        plain("ncclAllReduce", Family::kNccl, {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"}),
        plain("hostprobe_gc", Family::kPython, {"generation", "collected", "uncollectable"}),
        plain("hostprobe_step", Family::kPython, {"number"}),
        plain("range", Family::kRange, {"name:str", "category:str"}),
        plain("mark", Family::kRange, {"name:str", "value:real"}), wait_hook("sched_yield"), graph,
        plain("hostprobe_optimizer_step", Family::kPython, {"number"}),
        plain("cuMemAlloc_v2", Family::kCuda, {"bytes"}), plain("cuMemcpyHtoDAsync_v2", Family::kCuda, {"bytes"})}) {
    HookRow row = hook_row(look);
    if (look.name == "hostprobe_step") row.type = kRowStep;
    if (look.name == "range") row.type = kRowRange;
    if (look.name == "mark") row.type = kRowMark;
    rows += bytes_of(row);
  }
  return rows;
}

TraceFile process(std::uint32_t pid, std::int32_t rank, std::int32_t ranks, const char* mode = "trace") {
  TraceFile file;
  file.header.pid = pid;
  file.header.rank = file.header.local_rank = rank;
  file.header.world_size = ranks;
  file.header.record_cost_ticks = 60 * 1024;
  file.header.quiet_cost_ticks = 4 * 1024;
  file.header.writer_cpu_ns = 250'000;
  set_text(file.header.mode, mode);
  set_text(file.header.program, "/no/such/bin/python3.11");
  file.block(kBlockHooks, hook_rows());
  file.module(kPython, kPython + 0x1000, "/no/such/bin/python3.11");
  file.module(kLib, kLib + 0x1000, "/no/such/libcrunch.so");
  file.module(kNccl, kNccl + 0x1000, "/no/such/libnccl.so.2");
  file.module(kDriver, kDriver + 0x1000, "/no/such/libcuda.so.1");
  file.module(kGomp, kGomp + 0x1000, "/no/such/libgomp.so.1");
  return file;
}

void keep(const TraceFile& file, const fs::path& folder, int number = 1) {
  file.write(folder / ("testhost-" + std::to_string(file.header.pid) + "-" + std::to_string(number) + ".hptrace"));
}

Call waits(std::uint16_t hook, double begin_us, double end_us, std::uint64_t site, std::uint32_t waker = 0,
           double post_us = 0) {
  const std::uint64_t post = waker == 0 ? 0 : pack_post(waker, at_us(post_us));
  return {.hook = hook, .begin_us = begin_us, .end_us = end_us, .a = 0x7000, .b = post, .c = site};
}

std::string event_row(double us, EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount,
                      std::string_view text = "") {
  EventRow row{at_us(us), kind, reason, number, amount, {}};
  set_text(row.text, text);
  return bytes_of(row);
}

// The main thread waits for a relay, which waits for a worker; threads of every role; ranges, values and a stack of C.
std::vector<Call> main_calls(std::uint32_t gemm, std::uint32_t forward, std::uint32_t loss) {
  std::vector<Call> calls;
  for (int i = 0; i < 30; ++i) {
    const double at = 20'000.0 * i;
    Call get = waits(kSem, at + 1000, at + 5000 + 100 * (i % 5), kPython + 0x40, 4244, at + 4990 + 100 * (i % 5));
    get.stack = 1;
    calls.push_back(get);
    Call lock = waits(kMutex, at + 6000, at + 6400, kLib + 0x10, 4245, at + 6390);
    lock.stack = 2;
    calls.push_back(lock);
    calls.push_back(
        {.hook = kGc, .begin_us = at + 6500, .end_us = at + 6700 + 40 * (i % 3), .a = std::uint64_t(i % 3)});
    calls.push_back({.hook = kLaunch,
                     .begin_us = at + 7000,
                     .end_us = at + 7004,
                     .a = gemm,
                     .b = pack_dim(64, 2, 1),
                     .c = pack_dim(128, 1, 1),
                     .d = 7,
                     .e = 4096});
    calls.push_back({.hook = kGraph, .begin_us = at + 7100, .end_us = at + 7130, .a = 0x77, .b = 7, .c = 12, .d = 9});
    calls.push_back({.hook = kRange, .begin_us = at + 7000, .end_us = at + 7200, .a = forward});
    calls.push_back({.hook = kMark,
                     .begin_us = at + 7300,
                     .end_us = at + 7300,
                     .a = loss,
                     .b = std::bit_cast<std::uint64_t>(2.5 - 0.0625 * i)});
    Call sleep = waits(kSleep, at + 8000, at + 9000, kPython + 0x80);
    sleep.flags = kRecordTimedOut;
    calls.push_back(sleep);
    calls.push_back({.hook = kSync, .begin_us = at + 10'000, .end_us = at + 16'000, .a = 7, .c = kPython + 0x90});
  }
  return calls;
}

void add_threads(TraceFile& file, std::uint32_t type) {
  const auto add = [&file](std::uint32_t tid, const char* name, std::uint64_t start, std::uint64_t creator,
                           std::uint32_t type_name = 0) {
    ThreadEntry entry = thread_entry(tid, name);
    entry.start_routine = start;
    entry.creator_site = creator;
    entry.creator_tid = kMain;
    entry.type_name = type_name;
    entry.cpu_ns = 1'000'000ull * (tid - 4240);
    entry.run_delay_ns = 50'000ull * (tid - 4240);
    file.thread(entry);
  };
  ThreadEntry main = thread_entry(kMain, "python3", 400);
  main.cpu_ns = 300'000'000;
  main.run_delay_ns = 20'000'000;
  main.lost = 12;
  main.quiet_calls = 5000;
  file.thread(main);
  add(4244, "relay", 0, kLib + 0x20);
  add(4245, "worker", 0, kLib + 0x20);
  add(4246, "NCCL Progress", kNccl + 0x30, kNccl + 0x30);
  add(4247, "cuda-EvtHandlr", kDriver + 0x10, kDriver + 0x10);
  add(4248, "python3", kGomp + 0x10, kGomp + 0x10);
  add(4249, "pt_autograd_0", 0, 0, type);
  add(4250, "pt_data_pin", 0, 0);
  ThreadEntry ended = thread_entry(4251, "short-lived", 3);
  ended.state = kThreadEnded;
  ended.end_ticks = at_us(400'000);
  file.thread(ended);
  ThreadEntry merged{};
  merged.state = kThreadMerged;
  merged.start_ticks = at_us(1000);
  merged.stands_for = 40;
  merged.lived_ticks = at_us(80'000) - at_us(0);
  merged.cpu_ns = 9'000'000;
  file.thread(merged);
}

void make_threads(const fs::path& folder) {
  TraceFile file = process(kMain, 0, 1);
  StringArea strings;
  const std::uint32_t get = strings.add("Queue.get (queue.py:171)"), fetch = strings.add("fetch (train.py:40)"),
                      train = strings.add("train (train.py:90)"), type = strings.add("N5torch8autograd6EngineE"),
                      gemm = strings.add("gemm"), forward = strings.add("forward"), loss = strings.add("loss");
  file.strings(strings);
  file.stack(0, {kPython + 0x41, kLib + 0x99}, {get, fetch, train});
  file.stack(1, {kLib + 0x11, kLib + 0x22, kPython + 0x33}, {});
  add_threads(file, type);
  std::vector<Call> relay, worker;
  for (int i = 0; i < 30; ++i) {
    const double at = 20'000.0 * i;
    relay.push_back(waits(kCond, at + 500, at + 4900, kLib + 0x30, 4245, at + 4700));
    worker.push_back(waits(kPoll, at + 1000, at + 3000, kLib + 0x40));
    worker.push_back(waits(kRead, at + 3100, at + 4200, kLib + 0x50));
    worker.back().flags = kRecordFile;
  }
  file.calls(kMain, 0, main_calls(gemm, forward, loss), 300);
  file.calls(4244, 0, relay);
  file.calls(4245, 0, worker);
  std::string switches;
  for (int i = 0; i < 30; ++i)
    for (const auto& [us, what] :
         {std::pair{1010, kSwitchedOut}, {4995, kSwitchedIn}, {7050, kSwitchedOutRunnable}, {7090, kSwitchedIn}})
      switches += bytes_of(SwitchRow{at_us(20'000.0 * i + us), kMain, static_cast<std::uint16_t>(i % 2),
                                     static_cast<std::uint16_t>(what)});
  file.block(kBlockSwitches, bytes_of(SwitchesHead{at_us(0), at_us(600'000), 3, 120, 1}) + switches);
  const std::vector<std::uint64_t> polls(500, 4000);
  file.block(kBlockShortWaits, short_row(4246, kNccl + 0x70, kYield, {polls, {}}, 0) +
                                   short_row(kMain, kLib + 0x12, kMutex, {{300, 400, 500}, {}}, 4245));
  file.header.records = 400;
  file.header.lost = 12;
  file.header.lost_by[kLostNoChunk] = 10;
  file.header.lost_by[kLostJumpedOut] = 2;
  keep(file, folder);
}

// Counters alone are left; steps are marks of the optimizer.
void make_monitor(const fs::path& folder) {
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    TraceFile file = process(4300 + rank, static_cast<std::int32_t>(rank), 2, "monitor");
    const std::uint32_t pid = file.header.pid;
    file.thread(thread_entry(pid, "python3", 900));
    file.thread(thread_entry(pid + 10, "pt_data_worker", 50));
    const std::vector<std::uint64_t> waits(400, 900'000 + 100'000 * rank), wakes(400, 60'000), calls(300, 9000),
        gaps(299, 40'000), syncs(60, 2'000'000);
    std::string rows;
    rows += sums_row(
        {.tid = pid, .hook = kSem, .site = kPython + 0x40, .counters = {waits, wakes}, .amount = 3, .waker = pid + 10});
    rows += sums_row({.tid = pid, .hook = kLaunch, .counters = {calls, gaps}});
    rows += sums_row({.tid = pid, .hook = kGraph, .counters = {calls, gaps}, .amount = 900});
    rows += sums_row({.tid = pid, .hook = kSync, .site = kPython + 0x90, .counters = {syncs, {}}});
    rows += sums_row({.tid = pid,
                      .hook = kReduce,
                      .counters = {std::vector<std::uint64_t>(50, 30'000), {}},
                      .object = 0xc,
                      .amount = 50 << 20});
    rows += sums_row({.tid = pid, .hook = kGc, .counters = {{800'000, 900'000, 7'000'000}, {}}, .object = 2});
    rows += sums_row(
        {.tid = pid, .hook = kRead, .site = kLib + 9, .counters = {{500'000, 600'000}, {}}, .object = kRecordFile});
    file.block(kBlockCounters, rows);
    std::vector<Call> marks;
    for (std::uint64_t i = 0; i < 20; ++i)
      marks.push_back({.hook = kOptimizer,
                       .begin_us = 40'000.0 * static_cast<double>(i),
                       .end_us = 40'000.0 * static_cast<double>(i) + 50,
                       .a = i});
    file.calls(pid, 800, marks);
    keep(file, folder);
  }
}

// Everything that hostprobe says of itself, and a dump beside the trace.
void make_flight(const fs::path& folder) {
  TraceFile file = process(4400, 0, 1, "flight"), dump;
  file.header.cookie = dump.header.cookie = 0xc00c1e;
  dump.header.pid = 4400;
  ThreadEntry main = thread_entry(4400, "python3", 60);
  main.skipped = 5000;
  file.thread(main);
  std::vector<Call> dumped, kept;
  for (int i = 0; i < 40; ++i) {
    Call call = waits(kSem, 10'000.0 * i, 10'000.0 * i + 6000, kPython + 0x40);
    if (i < 20) call.flags = kRecordAggregated;
    (i < 20 ? dumped : kept).push_back(call);
  }
  dump.calls(4400, 20, dumped);
  file.calls(4400, 40, kept);
  file.block(kBlockCounters, sums_row({.tid = 4400,
                                       .hook = kSem,
                                       .site = kPython + 0x40,
                                       .counters = {std::vector<std::uint64_t>(40, 12'000'000), {}}}));
  std::string events;
  for (std::uint32_t reason = kBySlowStep; reason <= kByHang; ++reason)
    events += event_row(100'000.0 * reason, kEventTrigger, reason, reason, 20, "step 7 took 31 ms, the median is 9 ms");
  events += event_row(510'000, kEventTrigger, kBySignal, 0, 3);
  events += event_row(520'000, kEventDumpGone, 0, 1, 3 << 20);
  events += event_row(530'000, kEventStopped, 0, 0, 0) + event_row(560'000, kEventStarted, 0, 0, 0);
  events += event_row(570'000, kEventSetting, 0, 0, 0, "HOSTPROBE_STACK_US=5");
  events += event_row(580'000, kEventDetail, 0, 2, 730) + event_row(590'000, kEventDetail, 0, 0, 120);
  events += event_row(600'000, kEventFix, 0, 1, 0, "pin: main thread to CPUs 0-3");
  events += event_row(610'000, kEventFix, 0, 1, 0,
                      "auto: gc kept: 8+8 windows, 12.3456 -> 11.9001 ms, 3.61 % (2.10 to 4.50)");
  events += event_row(620'000, kEventFix, 0, 0, 0,
                      "auto: pin undecided: 3+3 windows, 12 -> 12.5 ms, -4.17 % (-9.00 to 1.00)");
  events += event_row(630'000, kEventSource, 13, 0, 0, "switches: the kernel refuses, set perf_event_paranoid to 1");
  events += event_row(800'000, kEventHalted, 0, at_us(650'000) - 1, 140'000'000);
  file.block(kBlockEvents, events);
  file.write(folder / "testhost-4400-1.hptrace");
  dump.write(folder / "testhost-4400-1-0001.hpdump");
}

// A file that ends early, one with damaged bytes, an empty one and one of somebody else's.
void make_damaged(const fs::path& folder) {
  for (const std::uint32_t pid : {4500u, 4501u, 4502u}) {
    TraceFile file = process(pid, static_cast<std::int32_t>(pid - 4500), 3);
    file.thread(thread_entry(pid, "python3", 40));
    for (std::uint64_t part = 0; part < 4; ++part) {
      std::vector<Call> calls;
      for (std::uint64_t i = 0; i < 10; ++i) {
        const double at = 9000.0 * static_cast<double>(10 * part + i);
        calls.push_back(waits(kSem, at, at + 4000, kPython + 0x40));
      }
      file.calls(pid, 10 * part, calls);
    }
    std::string bytes = file.bytes();
    if (pid == 4500) bytes.resize(bytes.size() - 700);
    if (pid == 4501) bytes[bytes.size() - 1000] ^= 0x55;
    if (pid == 4502) bytes[100] ^= 0x55;
    TraceFile::write_bytes(folder / ("testhost-" + std::to_string(pid) + "-1.hptrace"), bytes);
  }
  TraceFile::write_bytes(folder / "testhost-4503-1.hptrace", "");
  TraceFile::write_bytes(folder / "testhost-4505-1.hptrace", process(4505, 0, 0).bytes().substr(0, 1000));
  TraceFile::write_bytes(folder / "testhost-4504-1.hptrace", std::string(5000, 'x'));
}

ThreadEntry waiting(std::uint32_t tid, std::uint16_t hook, double since_us) {
  ThreadEntry entry = thread_entry(tid, "python3");
  entry.open = {pack_place(kPython + 1, hook), at_us(since_us), 0};
  return entry;
}

// A launcher sees one rank killed and one exit; both are started again, and wait until their end.
void make_endings(const fs::path& folder) {
  TraceFile parent = process(4600, -1, 0);
  set_text(parent.header.command, "python3 -m torch.distributed.run train.py");
  parent.thread(thread_entry(4600, "python3"));
  parent.block(kBlockEvents, event_row(900'000, kEventChildEnded, 0, 4601, SIGKILL) +
                                 event_row(950'000, kEventChildEnded, 0, 4602, W_EXITCODE(3, 0)));
  keep(parent, folder);
  for (const std::uint32_t pid : {4601u, 4602u, 4603u, 4604u}) {
    TraceFile file = process(pid, static_cast<std::int32_t>((pid - 4601) % 2), 2);
    file.header.parent_pid = 4600;
    file.header.incarnation = pid < 4603 ? 1 : 2;
    file.header.state = kFileOpen;
    const double start_us = pid < 4603 ? 0 : 3'000'000;
    file.header.start = clock_at_us(start_us);
    file.header.first = clock_at_us(start_us + 10);
    file.header.last = clock_at_us(start_us + 900'000 + (pid < 4603 ? 0 : 8'000'000));
    file.thread(waiting(pid, kSem, start_us + 400'000));
    file.calls(pid, 0, {waits(kSem, start_us + 1000, start_us + 5000, kPython + 0x40)});
    keep(file, folder);
  }
  std::ofstream(folder / "testhost-4600-1.job.json")
      << R"({"host": "testhost", "pid": 4600, "status": 137, "wall_s": 12.5})";
}

// Rank 2 never entered the last AllReduce, and all were killed 8 s later.
void make_stuck(const fs::path& folder) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    TraceFile file = process(4700 + rank, static_cast<std::int32_t>(rank), 3);
    file.header.state = kFileOpen;
    file.header.last = clock_at_us(9'000'000);
    file.thread(waiting(file.header.pid, rank == 2 ? kPoll : kSync, 1'000'000));
    std::vector<Call> calls;
    for (std::uint32_t number = 1; number <= (rank == 2 ? 8u : 9u); ++number)
      calls.push_back({.hook = kReduce,
                       .begin_us = 100'000.0 * number,
                       .end_us = 100'000.0 * number + 20,
                       .a = 0xc,
                       .b = 1 << 20,
                       .c = pack_nccl_call(number, 0, 7, 0),
                       .d = 7,
                       .e = pack_nccl_ranks(static_cast<int>(rank), 3, -1)});
    file.calls(file.header.pid, 0, calls);
    keep(file, folder);
  }
}

// A rank, and the workers that it forks to load data.
void make_workers(const fs::path& folder) {
  for (const std::uint32_t pid : {4800u, 4801u, 4802u}) {
    TraceFile file = process(pid, 0, 1);
    const bool is_worker = pid != 4800;
    file.header.parent_pid = is_worker ? 4800 : 4000;
    file.header.forked_from = is_worker ? 4800 : 0;
    file.header.process_cpu_ns = is_worker ? 950'000'000 : 200'000'000;
    StringArea strings;
    const auto loop = strings.add("_worker_loop (worker.py:309)"), get = strings.add("_next_data (dataloader.py:733)"),
               read = strings.add("Images.__getitem__ (train.py:20)");
    file.strings(strings);
    file.stack(0, {kPython + 0x44}, {get});
    file.stack(1, {kPython + 0x44}, {read, loop});
    ThreadEntry main = thread_entry(pid, is_worker ? "pt_data_worker" : "python3", 60);
    main.cpu_ns = file.header.process_cpu_ns;
    main.run_delay_ns = is_worker ? 30'000'000 : 100'000;
    file.thread(main);
    std::vector<Call> calls;
    for (int i = 0; i < 40; ++i) {
      const double at = 20'000.0 * i + (is_worker ? 500 : 0);
      Call call = waits(is_worker ? kRead : kSem, at + 1000, at + (is_worker ? 4000 : 16'000), kPython + 0x40);
      call.stack = is_worker ? 2 : 1;
      if (is_worker) call.flags = kRecordFile;
      calls.push_back(call);
      if (is_worker) continue;
      calls.push_back({.hook = kStep, .begin_us = at, .end_us = at + 20'000, .a = std::uint64_t(i)});
    }
    file.calls(pid, 0, calls);
    keep(file, folder);
  }
}

// Waits for peers and for the interpreter lock, calls that stall, collectives of which one failed, launches that a capture took.
std::vector<Call> stepless_calls(std::uint32_t rank, std::uint32_t pid) {
  std::vector<Call> calls;
  for (int i = 0; i < 14; ++i) {
    const double at = 100'000.0 * i + 7000.0 * (i % 3);
    Call peer = waits(kSem, at, at + (rank == 0 ? 40'000 : 5000), kPython + 3);
    peer.stack = 1;
    calls.push_back(peer);
    Call lock = waits(kCond, at + 41'000, at + 46'000, kPython + 7, pid + 20, at + 45'990);
    calls.push_back(lock);
    calls.push_back({.hook = kAlloc, .begin_us = at + 47'000, .end_us = at + 52'000, .a = 1 << 20});
    calls.push_back({.hook = kCopy, .begin_us = at + 53'000, .end_us = at + 57'000, .a = 1 << 20});
    calls.push_back({.hook = kGc, .begin_us = at + 58'000, .end_us = at + 63'000, .a = 2});
    calls.push_back({.hook = kReduce,
                     .begin_us = at + 63'500,
                     .end_us = at + 63'520,
                     .a = 0xc,
                     .b = 1 << 18,
                     .c = pack_nccl_call(i == 5 ? 0 : static_cast<std::uint32_t>(i < 5 ? i + 1 : i), 0, 7, 0),
                     .e = pack_nccl_ranks(static_cast<int>(rank), 2, -1),
                     .flags = i == 5 ? kRecordFailed : std::uint16_t{0}});
    for (int n = 0; n < 6; ++n)
      calls.push_back({.hook = kLaunch,
                       .begin_us = at + 64'000 + 3000 * n,
                       .end_us = at + 64'900 + 3000 * n,
                       .b = pack_dim(8, 1, 1),
                       .c = pack_dim(32, 1, 1),
                       .flags = n == 3 ? kRecordCaptured : std::uint16_t{0}});
  }
  return calls;
}

// No steps: two ranks of which one is waited for, starved of CPU by its group's quota, with calls that stall and a dear probe.
void make_stepless(const fs::path& folder) {
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    TraceFile file = process(4900 + rank, static_cast<std::int32_t>(rank), 2);
    const std::uint32_t pid = file.header.pid;
    StringArea strings;
    const auto reduce = strings.add("all_reduce (torch/distributed/distributed_c10d.py:2501)");
    file.strings(strings);
    file.stack(0, {kNccl + 0x50}, {reduce});
    file.header.cpus = 1;
    file.header.last = clock_at_us(1'500'000);
    file.header.process_cpu_ns = 700'000'000;
    file.header.own_ticks = 2 * 40'000'000;
    ThreadEntry main = thread_entry(pid, "python3", 168);
    main.cpu_ns = 700'000'000;
    main.run_delay_ns = rank == 1 ? 320'000'000 : 4'000'000;
    main.own_ticks = 2 * 40'000'000;
    file.thread(main);
    ThreadEntry helper = thread_entry(pid + 20, "helper");
    helper.cpu_ns = 650'000'000;
    helper.run_delay_ns = rank == 1 ? 250'000'000 : 0;
    file.thread(helper);
    file.calls(pid, 0, stepless_calls(rank, pid));
    if (rank == 1)
      file.block(kBlockEvents, event_row(900'000, kEventThrottled, 800, 8, 150'000'000, "1.5 /kubepods/train") +
                                   event_row(950'000, kEventFix, 0, 1, 0,
                                             "auto: pin kept: 8+8 windows, 12 -> 11 ms, 8.33 % (7.00 to 9.00)"));
    keep(file, folder);
  }
}

// Two ranks that wait for each other as long, so that neither is late.
void make_even_ranks(const fs::path& folder) {
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    TraceFile file = process(5100 + rank, static_cast<std::int32_t>(rank), 2);
    StringArea strings;
    const auto reduce = strings.add("all_reduce (torch/distributed/distributed_c10d.py:2501)");
    file.strings(strings);
    file.stack(0, {kNccl + 0x50}, {reduce});
    file.thread(thread_entry(file.header.pid, "python3", 9));
    std::vector<Call> calls;
    for (int i = 0; i < 9; ++i) {
      const double at = 100'000.0 * i + 9000.0 * (i % 4);
      calls.push_back(waits(kSem, at, at + 40'000, kPython + 3));
      calls.back().stack = 1;
    }
    file.calls(file.header.pid, 0, calls);
    keep(file, folder);
  }
}

// A progress thread that stalls, and waits behind more threads than are told one by one.
void make_many_threads(const fs::path& folder) {
  TraceFile file = process(5000, 0, 1);
  ThreadEntry progress = thread_entry(5001, "NCCL Progress");
  progress.start_ticks = at_us(500);
  progress.creator_tid = 5000;
  progress.created_ticks = at_us(400);
  progress.start_routine = progress.creator_site = kNccl + 0x30;
  progress.migrations = 3;
  file.thread(progress);
  file.thread(thread_entry(5000, "python3"));
  std::vector<Call> main = {{.hook = kReduce,
                             .begin_us = 300,
                             .end_us = 450,
                             .a = 0xc,
                             .b = 16,
                             .c = pack_nccl_call(1, 0, 7, 0),
                             .e = pack_nccl_ranks(0, 1, -1)}};
  for (std::uint32_t i = 0; i < 24; ++i) {
    const std::uint32_t tid = 5010 + i;
    file.thread(thread_entry(tid, "stage-" + std::to_string(i)));
    const double at = 10'000.0 * (i + 1);
    main.push_back(waits(kSem, at, at + 3000 + 10 * i, kLib + 0x30, tid, at + 2900 + 10 * i));
    file.calls(tid, 0, {waits(i % 2 == 0 ? kPoll : kRead, at + 100, at + 900 + 50 * i, kLib + 0x40 + i)});
  }
  file.calls(5000, 0, main);
  std::vector<Call> stalls;
  for (int i = 0; i < 5; ++i) stalls.push_back(waits(kYield, 5000.0 * i + 1000, 5000.0 * i + 1900, kNccl + 0x70));
  RecordsHead head{};
  head.thread_start_ticks = at_us(500);
  head.tid = 5001;
  head.count = head.slots = static_cast<std::uint32_t>(stalls.size());
  std::string payload = bytes_of(head);
  for (const Call& call : stalls) payload += bytes_of(record_of(call));
  file.block(kBlockRecords, payload);
  keep(file, folder);
}

}  // namespace

std::vector<MadeRun> process_runs() {
  return {{"threads", make_threads},      {"monitor", make_monitor},   {"flight", make_flight},
          {"damaged", make_damaged},      {"endings", make_endings},   {"stuck", make_stuck},
          {"workers", make_workers},      {"stepless", make_stepless}, {"many_threads", make_many_threads},
          {"even_ranks", make_even_ranks}};
}

}  // namespace hostprobe::test
