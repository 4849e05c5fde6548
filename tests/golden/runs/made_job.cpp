// made_job.cpp: see made_job.h.
#include "made_job.h"

#include <algorithm>
#include <fstream>

#include "answer/step.h"
#include "format/activity_file.h"
#include "model/activity.h"
#include "support/counters.h"

namespace hostprobe::analysis {
namespace {

namespace fs = std::filesystem;
using test::at_us;
using test::HookLook;

constexpr char kProgram[] = "/no/such/bin/python3.11";
constexpr std::uint64_t kNccl = 0x400000;

test::HookLook python_hook(const std::string& name, std::vector<std::string> labels) {
  return {.name = name, .family = Family::kPython, .labels = std::move(labels), .blocking = false};
}

test::HookLook driver_hook(const std::string& name) {
  return {.name = name, .family = Family::kCuda, .labels = {"bytes"}, .blocking = false};
}

std::vector<HookLook> hooks_of(const JobLook& look) {
  HookLook graph = test::launch_hook("cuGraphLaunch");
  graph.labels = {"graph:hex", "stream:hex", "nodes", "kernels"};
  HookLook range{.name = "range", .family = Family::kRange, .labels = {"name:str", "category:str"}, .blocking = false};
  HookLook mark{.name = "mark", .family = Family::kRange, .labels = {"name:str", "value:real"}, .blocking = false};
  std::vector<HookLook> hooks = {
      test::launch_hook("cuLaunchKernel"),
      test::sync_hook("cuStreamSynchronize"),
      nccl_hook("ncclAllReduce"),
      nccl_hook("ncclSend"),
      nccl_hook("ncclRecv"),
      driver_hook("cuMemAlloc_v2"),
      test::launch_hook("cuLaunchHostFunc"),
      driver_hook("cuMemcpyDtoHAsync_v2"),
      test::wait_hook("sem_wait"),
      python_hook("hostprobe_step", {"number"}),
      python_hook("hostprobe_gc", {"generation", "collected", "uncollectable"}),
      test::wait_hook("pthread_cond_timedwait"),
      test::wait_hook("pthread_mutex_lock"),
      driver_hook("cuModuleLoadData"),
      test::wait_hook("read"),
      test::wait_hook("recv"),
      test::wait_hook("sched_yield"),
      test::wait_hook("clock_nanosleep"),
      graph,
      range,
      mark,
      {.name = "hostprobe_queue_sample", .family = Family::kCuda, .labels = {"stream:hex", "empty"}, .blocking = false},
      {.name = "hostprobe_gpu_time",
       .family = Family::kCuda,
       .labels = {"comm:hex", "gpu_ns", "slack_ns", "sequence", "stream:hex"},
       .blocking = false}};
  if (look.has_launches) return hooks;
  for (HookLook& hook : hooks)
    if (hook.family == Family::kCuda) hook.found = false;
  return hooks;
}

// Of hooks with types of their own.
std::string hook_rows(const JobLook& look) {
  std::string rows;
  std::uint16_t number = 0;
  for (const HookLook& hook : hooks_of(look)) {
    HookRow row = test::hook_row(hook);
    ++number;
    if (number == kStepMark) row.type = kRowStep;
    if (number == kRange) row.type = kRowRange;
    if (number == kMark) row.type = kRowMark;
    rows += test::bytes_of(row);
  }
  return rows;
}

bool is_own(std::uint32_t tid) { return tid >= kMainTid && tid <= kProgressTid; }

// Rows with the file's own thread ids.
template <typename Row>
std::string with_tids(const std::string& rows, std::uint32_t pid) {
  std::string result = rows;
  for (std::size_t at = 0; at + sizeof(Row) <= result.size(); at += sizeof(Row)) {
    Row row;
    std::memcpy(&row, &result[at], sizeof row);
    if (is_own(row.tid)) row.tid += pid - kMainTid;
    std::memcpy(&result[at], &row, sizeof row);
  }
  return result;
}

bool has_waker(std::uint16_t hook) {
  return hook == kSemaphore || hook == kLockWait || hook == kMutex || hook == kRead || hook == kReceive;
}

std::vector<test::Call> with_tids(std::vector<test::Call> calls, std::uint32_t pid) {
  for (test::Call& call : calls)
    if (has_waker(call.hook) && is_own(post_tid(call.b))) call.b += pid - kMainTid;
  return calls;
}

class RankFile {
 public:
  RankFile(const SimulatedRank& rank, const JobLook& look) : rank_(rank), look_(look) {
    pid_ = 100 + 10 * static_cast<std::uint32_t>(rank.rank);
    host_ = look.hosts < 2 ? "testhost" : "testhost" + std::to_string(rank.rank % look.hosts);
    for (const test::Call& call : rank.calls) end_us_ = std::max(end_us_, call.end_us);
    for (const test::Call& call : rank.helper_calls) end_us_ = std::max(end_us_, call.end_us);
    end_us_ += 100;
  }

  void write(const fs::path& run) {
    describe();
    file_.block(kBlockHooks, hook_rows(look_));
    add_code();
    add_threads();
    add_measured();
    file_.calls(pid_, 0, main_calls());
    if (!rank_.helper_calls.empty()) file_.calls(pid_ + 1, 0, with_tids(rank_.helper_calls, pid_));
    file_.write(run / (host_ + "-" + std::to_string(pid_) + "-1.hptrace"));
    if (look_.has_gpu_times) write_activities(run);
  }

 private:
  void describe() {
    FileHeader& header = file_.header;
    header.pid = pid_;
    header.rank = rank_.rank;
    header.local_rank = rank_.rank / look_.hosts;
    header.world_size = rank_.ranks;
    header.start = test::clock_at_us(rank_.clock_us);
    header.first = test::clock_at_us(rank_.clock_us + 10);
    header.last = test::clock_at_us(end_us_);
    header.records = rank_.calls.size() + rank_.helper_calls.size();
    header.record_cost_ticks = 60 * 1024;
    header.quiet_cost_ticks = 4 * 1024;
    header.writer_cpu_ns = 40'000;
    header.process_cpu_ns = static_cast<std::uint64_t>(700 * end_us_);
    header.cpus = 4;
    test::set_text(header.mode, look_.mode);
    test::set_text(header.host, host_);
    test::set_text(header.boot_id, "no-such-boot-of-" + host_);
    test::set_text(header.program, kProgram);
    test::set_text(header.command, look_.command);
    test::set_text(header.hostprobe_version, "0.1.0");
  }

  void add_code() {
    file_.module(kInterpreter, kInterpreter + 0x1000, kProgram);
    file_.module(kLibrary, kLibrary + 0x1000, "/no/such/libcrunch.so");
    file_.module(kSharedByAll, kSharedByAll + 0x1000, "/no/such/libc.so.6");
    file_.module(kNccl, kNccl + 0x1000, "/no/such/libnccl.so.2");
    const auto frames = [this](std::initializer_list<const char*> texts) {
      std::vector<std::uint32_t> ids;
      for (const char* text : texts) ids.push_back(strings_.add(text));
      return ids;
    };
    const auto train = frames({"augment (train.py:30)", "train (train.py:90)"});
    const auto loader =
        frames({"Queue.get (queue.py:171)", "_DataLoaderIter._next_data (dataloader.py:733)", "train (train.py:61)"});
    const auto lock = frames({"plant (train.py:44)", "train (train.py:90)"});
    const auto peer = frames({"all_reduce (torch/distributed/distributed_c10d.py:2501)", "train (train.py:70)"});
    const auto queue = frames({"Queue.get (queue.py:171)", "feed (train.py:52)", "train (train.py:90)"});
    kernel_ = strings_.add("gemm");
    file_.strings(strings_);
    file_.stack(kTrainStack - 1, {}, train);
    file_.stack(kLoaderStack - 1, {kInterpreter + 0x40}, loader);
    file_.stack(kLockStack - 1, {kInterpreter + 0x50}, lock);
    file_.stack(kPeerStack - 1, {kNccl + 0x50}, peer);
    file_.stack(kQueueStack - 1, {kInterpreter + 0x60}, queue);
  }

  void add_threads() {
    ThreadEntry main = test::thread_entry(pid_, "python3", rank_.calls.size());
    main.cpu_ns = static_cast<std::uint64_t>(600 * end_us_);
    main.run_delay_ns = static_cast<std::uint64_t>(10 * end_us_);
    main.skipped = rank_.skipped;
    file_.thread(main);
    file_.thread(test::thread_entry(pid_ + 1, "helper", rank_.helper_calls.size()));
    file_.thread(test::thread_entry(pid_ + 2, "pt_data_worker"));
    if (rank_.poll_us <= 0) return;
    ThreadEntry progress = test::thread_entry(pid_ + 3, "NCCL Progress");
    progress.creator_tid = pid_;
    progress.cpu_ns = 40'000'000;
    progress.run_delay_ns = 3'000'000;
    progress.migrations = 7;
    file_.thread(progress);
    const std::vector<std::uint64_t> polls(1000, at_us(rank_.poll_us) - at_us(0));
    file_.block(kBlockShortWaits, test::short_row(pid_ + 3, kNccl + 0x70, kYield, {polls, {}}, 0));
  }

  void add_measured() {
    if (!rank_.samples.empty()) file_.block(kBlockSamples, with_tids<SampleRow>(rank_.samples, pid_));
    if (!rank_.frequency.empty()) file_.block(kBlockFrequency, with_tids<FrequencyRow>(rank_.frequency, pid_));
    if (!rank_.switches.empty()) {
      const auto rows = static_cast<std::uint32_t>(rank_.switches.size() / sizeof(SwitchRow));
      const SwitchesHead head{at_us(rank_.clock_us), at_us(end_us_), 0, rows, 1};
      file_.block(kBlockSwitches, test::bytes_of(head) + with_tids<SwitchRow>(rank_.switches, pid_));
    }
    for (const EventRow& row : rank_.events) file_.block(kBlockEvents, test::bytes_of(row));
  }

  std::vector<test::Call> main_calls() const {
    std::vector<test::Call> calls = with_tids(rank_.calls, pid_);
    for (test::Call& call : calls)
      if (call.hook == kLaunch)
        call.a = kernel_, call.b = pack_dim(128, 2, 1), call.c = pack_dim(256, 1, 1), call.d = 7;
    if (look_.has_marks)
      for (const Step& step : rank_.steps.steps)
        calls.push_back(
            {.hook = kStepMark, .begin_us = 1e-3 * step.begin_ns, .end_us = 1e-3 * step.end_ns, .a = step.number});
    std::stable_sort(calls.begin(), calls.end(),
                     [](const test::Call& l, const test::Call& r) { return l.end_us < r.end_us; });
    return calls;
  }

  void write_activities(const fs::path& run) const {
    ActivityHead head{};
    head.magic = kActivityMagic;
    head.version = kActivityVersion;
    head.head_bytes = kActivityHeadBytes;
    head.pid = pid_;
    head.row_bytes = sizeof(ActivityRow);
    const ClockPair start = test::clock_at_us(rank_.clock_us), last = test::clock_at_us(end_us_);
    head.start_ns = start.monotonic_ns;
    head.start_ticks = start.ticks;
    head.last_ns = last.monotonic_ns;
    head.last_ticks = last.ticks;
    std::memcpy(head.boot_id, file_.header.boot_id, sizeof head.boot_id);
    std::memcpy(head.program, file_.header.program, sizeof head.program);
    std::string rows = activity_rows(head.rows);
    std::string bytes = test::bytes_of(head);
    bytes.resize(kActivityHeadBytes, '\0');
    test::TraceFile::write_bytes(run / (std::to_string(pid_) + "-0" + kActivitySuffix), bytes + rows);
  }

  std::string activity_rows(std::uint64_t& count) const {
    std::string rows;
    for (std::uint32_t name = 1; const char* text : {"gemm", "ncclDevKernel_AllReduce"}) {
      ActivityRow row{};
      row.type = kActivityName;
      row.name = name++;
      row.bytes = std::strlen(text);
      std::string padded(text);
      padded.resize(sizeof row, '\0');
      rows += test::bytes_of(row) + padded;
    }
    for (const Activity& one : rank_.device.activities) {
      ActivityRow row{};
      const auto at = [](double ns) { return test::kStartMonotonicNs + static_cast<std::uint64_t>(ns); };
      row.begin_ns = at(one.begin_ns);
      row.end_ns = at(one.end_ns);
      row.launch_ns = at(one.launch_ns + 100);
      row.launch_tid = one.launch_tid + pid_ - kMainTid;
      row.type = one.type == ActivityType::kCopy ? kActivityCopy : kActivityKernel;
      row.name = one.type == ActivityType::kCopy ? 0 : one.collective ? 2 : 1;
      row.flags = one.collective ? kActivityCollective : 0;
      row.bytes = one.type == ActivityType::kCopy ? 1 << 20 : 0;
      rows += test::bytes_of(row);
    }
    count = rows.size() / sizeof(ActivityRow);
    return rows;
  }

  const SimulatedRank& rank_;
  const JobLook& look_;
  std::uint32_t pid_;
  std::string host_;
  double end_us_ = 0;
  test::TraceFile file_;
  test::StringArea strings_;
  std::uint32_t kernel_ = 0;
};

}  // namespace

void MadeJob::write(const fs::path& run) const {
  fs::create_directories(run);
  for (const SimulatedRank& one : ranks_) RankFile(one, look_).write(run);
}

void wait(SimulatedRank& rank, const Waiting& waiting) {
  const double end_us = rank.host_us + waiting.us;
  const std::uint64_t post = waiting.waker == 0 ? 0 : pack_post(waiting.waker, at_us(end_us - 1 + rank.clock_us));
  rank.record({.hook = waiting.hook,
               .begin_us = rank.host_us,
               .end_us = end_us,
               .a = 0x5000,
               .b = post,
               .c = waiting.site,
               .flags = waiting.flags,
               .stack = waiting.stack});
  rank.host_us = end_us;
}

void collect_garbage(SimulatedRank& rank, double us, std::uint64_t generation) {
  rank.record({.hook = kGarbage, .begin_us = rank.host_us, .end_us = rank.host_us + us, .a = generation, .b = 7});
  rank.host_us += us;
}

void call_driver(SimulatedRank& rank, std::uint16_t hook, double us) {
  rank.record({.hook = hook, .begin_us = rank.host_us, .end_us = rank.host_us + us, .a = 1 << 20});
  rank.host_us += us;
}

}  // namespace hostprobe::analysis
