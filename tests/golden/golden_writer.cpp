// golden_writer.cpp: wrote version1.hptrace and, with all but one block of records packed, version2.hptrace. Every kind of
// block, every form of a label, every flag, a loss, a call inside another. A golden file is never written again once its
// version is released; a new version gets a new one.
#include <memory>

#include "probe/compress.h"
#include "probe/pack.h"
#include "support/trace_file.h"

namespace hostprobe::test {
namespace {

constexpr std::uint64_t kPython = 0x400000, kTorch = 0x7f0000000000;

void describe(TraceFile& file) {
  file.header.rank = 1;
  file.header.local_rank = 1;
  file.header.world_size = 2;
  file.header.cookie = 0x0123456789abcdef;
  file.header.record_cost_ticks = 60 * 1024;
  file.header.quiet_cost_ticks = 4 * 1024;
  file.header.writer_cpu_ns = 250'000;
  file.header.records = 209;
  file.header.lost = 2;
  file.header.quiet_calls = 1000;
  file.header.own_ticks = 50'000;
  file.header.invariant_ticks = 1;
  set_text(file.header.hostprobe_version, "0.1.0");
}

HookLook create_hook() {
  return {.name = "pthread_create",
          .family = Family::kThread,
          .labels = {"start:code", "", "site:code", "type:str", "result:i"},
          .blocking = false};
}

HookLook every_form() {
  return {.name = "every_form",
          .family = Family::kIo,
          .labels = {"plain", "signed:i", "hex:hex", "time:us", "future:what"},
          .blocking = false};
}

void packed_calls(TraceFile& file, std::uint32_t tid, const std::vector<Call>& calls, PackedCodec codec) {
  std::vector<Record> records;
  for (const Call& call : calls) records.push_back(record_of(call));
  const auto packer = std::make_unique<probe::Packer>();
  packer->begin();
  for (const Record& record : records) packer->add(record);
  const probe::PackedRows rows = packer->finish();
  std::string stored(rows.bytes, rows.size);
  if (codec == kCodecZstd) {
    const auto memory = std::make_unique<probe::CompressMemory>();
    stored.resize(hostprobe_compress(memory.get(), rows.bytes, rows.size, stored.data(), stored.size()));
    if (stored.empty()) std::abort();
  }
  const auto count = static_cast<std::uint32_t>(calls.size());
  const RecordsHead head{at_us(0), 0, tid, count, count, 0};
  const PackedHead packed{rows.times_bytes, rows.rest_bytes, static_cast<std::uint32_t>(stored.size()), codec, 0};
  file.block(kBlockPackedRecords, bytes_of(head) + bytes_of(packed) + stored);
}

void main_thread(TraceFile& file, std::uint32_t kernel, std::uint32_t type) {
  ThreadEntry main = thread_entry(4242, "python3", 8);
  main.cpu_ns = 300'000'000;
  main.run_delay_ns = 1'500'000;
  main.quiet_calls = 900;
  main.own_ticks = 40'000;
  main.lost = 2;
  file.thread(main);
  packed_calls(file, 4242,
               {{.hook = 4, .begin_us = 100, .end_us = 130, .a = kTorch + 0x2000, .c = kTorch + 0x1500, .d = type},
                {.hook = 1,
                 .begin_us = 210,
                 .end_us = 290,
                 .a = 0x5000,
                 .b = pack_post(4250, at_us(288)),
                 .c = kPython + 0x123,
                 .stack = 1},
                {.hook = 3, .begin_us = 200, .end_us = 300, .a = 0x77, .c = kTorch + 0x1600}},
               kCodecNone);
  file.calls(4242, 5,
             {{.hook = 2,
               .begin_us = 400,
               .end_us = 402,
               .a = kernel,
               .b = pack_dim(70'000, 2, 3),
               .c = pack_dim(256, 1, 1),
               .d = 0x77,
               .e = 4096},
              {.hook = 2,
               .begin_us = 410,
               .end_us = 412,
               .a = kernel,
               .b = pack_dim(1, 1, 1),
               .c = pack_dim(32, 1, 1),
               .d = 0x77,
               .flags = kRecordFailed},
              {.hook = 5,
               .begin_us = 420,
               .end_us = 421,
               .a = 7,
               .b = static_cast<std::uint64_t>(-7),
               .c = 255,
               .d = 1500,
               .e = 9}});
}

void other_thread(TraceFile& file, std::uint32_t type) {
  ThreadEntry loop = thread_entry(4250, "pt_gloo_runloop", 3);
  loop.start_routine = kTorch + 0x2000;
  loop.creator_site = kTorch + 0x1500;
  loop.creator_tid = 4242;
  loop.type_name = type;
  loop.end_ticks = at_us(900'000);
  loop.state = kThreadEnded;
  loop.cpu_ns = 20'000'000;
  file.thread(loop);
  std::vector<Call> calls = {
      {.hook = 1,
       .begin_us = 500,
       .end_us = 700,
       .a = 0x5000,
       .c = kTorch + 0x1700,
       .d = static_cast<std::uint64_t>(-1),
       .flags = kRecordFailed | kRecordTimedOut},
      {.hook = 1, .begin_us = 710, .end_us = 711, .a = 0x5000, .c = kTorch + 0x1700, .flags = kRecordAtOnce},
      {.hook = 1, .begin_us = 720, .end_us = 900'000, .a = 0x5000, .c = kTorch + 0x1700, .flags = kRecordCancelled}};
  packed_calls(file, 4250, calls, kCodecNone);
  // Enough alike to be compressed.
  ThreadEntry busy = thread_entry(4260, "worker", 200);
  file.thread(busy);
  calls.clear();
  for (int i = 0; i < 200; ++i)
    calls.push_back({.hook = 1, .begin_us = 1000.0 + 10 * i, .end_us = 1002.0 + 10 * i + i % 3, .a = 0x6000});
  packed_calls(file, 4260, calls, kCodecZstd);
}

void write(const std::filesystem::path& folder) {
  TraceFile file;
  describe(file);
  StringArea strings;
  const auto kernel = strings.add("vectorized_elementwise_kernel<4>");
  const auto type =
      strings.add("NSt6thread11_State_implINS_8_InvokerISt5tupleIJMN4c10d16ProcessGroupGlooEFviEPS4_iEEEEEE");
  const auto inner = strings.add("Condition.wait (threading.py:324)");
  const auto outer = strings.add("Queue.get (queue.py:180)");
  file.hooks({wait_hook("sem_clockwait"), launch_hook("cuLaunchKernel"), sync_hook("cuStreamSynchronize"),
              create_hook(), every_form()});
  file.module(kPython, kPython + 0x100000, "/no/such/bin/python3.11");
  file.module(kTorch, kTorch + 0x100000, "/no/such/lib/libtorch_cpu.so");
  file.strings(strings);
  file.stack(0, {kPython + 0x123, kPython + 0x456}, {inner, outer});
  file.clock(clock_at_us(250));
  file.block(static_cast<BlockKind>(200), "a block of a kind that came later");
  main_thread(file, kernel, type);
  other_thread(file, type);
  file.clock(clock_at_us(500'000));
  file.write(folder / "version2.hptrace");
}

}  // namespace
}  // namespace hostprobe::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  hostprobe::test::write(argv[1]);
  return 0;
}
