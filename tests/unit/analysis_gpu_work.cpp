// What a process gave its GPU to do, from its calls: model/gpu_work.h
#include <gtest/gtest.h>

#include "model/gpu_work.h"
#include "model/timeline.h"
#include "support/counters.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint32_t kMain = 4242;

// One copy of so many bytes whose call takes so long.
GpuOp copied(double us, std::uint64_t bytes) {
  const test::TestFolder folder;
  test::TraceFile file;
  file.header.pid = kMain;
  file.hooks({{.name = "cuMemcpyAsync",
               .family = Family::kCuda,
               .labels = {"to:hex", "from:hex", "", "stream:hex", "bytes"},
               .blocking = false}});
  file.thread(test::thread_entry(kMain, "main"));
  file.calls(kMain, 0, {{.hook = 1, .begin_us = 10, .end_us = 10 + us, .e = bytes}});
  file.write(folder.file("h-1-1.hptrace"));
  const Trace trace = read_trace(folder.file("h-1-1.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  const GpuWork work = gpu_work(timeline);
  return work.ops.size() == 1 ? work.ops[0] : GpuOp{};
}

TEST(GpuWorks, ACopyOfPageableMemoryIsDoneWhenItsCallReturns) {
  EXPECT_EQ(copied(3300, 32 << 20).bytes, 32u << 20);
  EXPECT_TRUE(copied(3300, 32 << 20).blocks);
  EXPECT_FALSE(copied(8, 32 << 20).blocks) << "it returned at once";
}

// As where the stream is full: 160 us for 32 MiB on the device are no copy by a CPU, and say nothing of when it ends.
TEST(GpuWorks, ACallThatIsTooQuickForItsCopyWaitedForAPlace) { EXPECT_FALSE(copied(160, 32 << 20).blocks); }

}  // namespace
}  // namespace hostprobe::analysis
