// golden_writer.cpp: wrote version4.hptrace: three steps of calls whose names say nothing, so that roles alone tell what they are.
// A golden file is never written again once its version is released; a new version gets a new one, and what wrote the earlier
// ones is in the history of this file (version 2: every kind of block and form of a label, packed; version 3: mode flight, with sums,
// a dump and events).
#include <filesystem>

#include "support/trace_file.h"

namespace hostprobe::test {
namespace {

constexpr std::uint64_t kTorch = 0x7f0000000000;
constexpr std::uint32_t kMain = 4242;
constexpr std::uint64_t kCommunicator = 0xc0ffee, kStream = 0x7700;

enum Row : std::uint16_t { kWait = 1, kSleep, kLaunch, kCopy, kSync, kCollective, kStep, kGarbage };

void describe(TraceFile& file) {
  file.header.rank = 1;
  file.header.local_rank = 1;
  file.header.world_size = 2;
  file.header.record_cost_ticks = 60 * 1024;
  file.header.quiet_cost_ticks = 4 * 1024;
  file.header.records = 25;
  set_text(file.header.hostprobe_version, "0.1.0");
}

void add_hooks(TraceFile& file) {
  HookLook wait = wait_hook("first"), sleep = wait_hook("second"), launch = launch_hook("third");
  HookLook sync = sync_hook("fifth");
  wait.role = HookRole::kSemaphore;
  sleep.role = HookRole::kSleep;
  launch.role = HookRole::kLaunch;
  launch.traits = kTraitPerThread;
  sync.role = HookRole::kSyncStream;
  file.hooks(
      {wait,
       sleep,
       launch,
       {.name = "fourth",
        .family = Family::kCuda,
        .labels = {"to:hex", "from:hex", "stream:hex", "bytes"},
        .blocking = false,
        .role = HookRole::kCopyToDevice},
       sync,
       {.name = "sixth",
        .family = Family::kNccl,
        .labels = {"comm:hex", "count", "call:nccl", "stream:hex", "place:ranks"},
        .blocking = false,
        .role = HookRole::kCollective},
       {.name = "seventh", .family = Family::kPython, .labels = {"number"}, .blocking = false, .role = HookRole::kStep},
       {.name = "eighth",
        .family = Family::kPython,
        .labels = {"generation", "collected", "uncollectable"},
        .blocking = false,
        .role = HookRole::kGarbage}});
}

// 8 ms each.
std::vector<Call> step(std::uint64_t number, std::uint64_t kernel) {
  const double at_us = 1000 + 8000 * static_cast<double>(number);
  const auto call = [at_us](Row row, double from_us, double to_us) {
    return Call{.hook = row, .begin_us = at_us + from_us, .end_us = at_us + to_us, .c = kTorch + 0x1600};
  };
  Call mark = call(kStep, 0, 0), copy = call(kCopy, 10, 20), launch = call(kLaunch, 30, 40);
  Call collective = call(kCollective, 50, 70);
  mark.a = number;
  mark.c = 0;
  copy.c = kStream, copy.d = 4096;
  launch.a = kernel, launch.b = pack_dim(8, 1, 1), launch.c = pack_dim(128, 1, 1), launch.d = kStream;
  collective.a = kCommunicator, collective.b = 1000, collective.d = kStream;
  collective.c = pack_nccl_call(static_cast<std::uint32_t>(number + 1), 0, 7, 0);
  collective.e = pack_nccl_ranks(1, 2, -1);
  Call wait = call(kWait, 3000, 4500);
  wait.b = pack_post(kMain + 1, test::at_us(at_us + 4490));
  return {mark, copy, launch, collective, call(kSync, 100, 2900), wait, call(kSleep, 5000, 7000)};
}

void write(const std::filesystem::path& folder) {
  TraceFile file;
  StringArea names;
  describe(file);
  add_hooks(file);
  const std::uint32_t kernel = names.add("gemm");
  file.strings(names);
  file.module(kTorch, kTorch + 0x100000, "/no/such/lib/libtorch_cpu.so");
  file.thread(thread_entry(kMain, "python3", 24));
  file.thread(thread_entry(kMain + 1, "loader", 1));
  std::vector<Call> calls;
  for (std::uint64_t number = 0; number < 3; ++number)
    for (const Call& call : step(number, kernel)) calls.push_back(call);
  for (std::uint64_t number = 3; number < 6; ++number)
    calls.push_back({.hook = kStep, .begin_us = 1000 + 8000.0 * static_cast<double>(number), .a = number});
  for (Call& call : calls)
    if (call.end_us == 0) call.end_us = call.begin_us;
  file.calls(kMain, 0, calls);
  file.calls(kMain + 1, 0, {{.hook = kGarbage, .begin_us = 2000, .end_us = 2800, .a = 2, .b = 17}});
  file.write(folder / "version4.hptrace");
}

}  // namespace
}  // namespace hostprobe::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  hostprobe::test::write(argv[1]);
  return 0;
}
