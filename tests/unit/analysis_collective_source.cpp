// The collective calls of a trace, one after the other: analysis/ranks/collective_source.cpp
#include "analysis/ranks/collective_source.h"

#include <gtest/gtest.h>

#include "support/trace_file.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

using test::Call;
using test::HookLook;
using test::TraceFile;

TEST(CollectiveSource, GivesWhatAllRanksMakeInOrderAndNothingElse) {
  TraceFile file;
  const HookLook reduce{.name = "ncclAllReduce",
                        .family = Family::kNccl,
                        .labels = {"comm:hex", "count", "call:nccl", "place:ranks"},
                        .blocking = false};
  HookLook send = reduce;
  send.name = "ncclSend";
  file.hooks({test::launch_hook("cuLaunchKernel"), reduce, send});
  const auto call = [](std::uint16_t hook, double us, std::uint32_t sequence) {
    return Call{.hook = hook,
                .begin_us = us,
                .end_us = us + 1,
                .a = 0xc,
                .b = 16,
                .c = pack_nccl_call(sequence, 0, 7, 0),
                .d = pack_nccl_ranks(2, 4, -1)};
  };
  file.calls(7, 0, {call(2, 10, 1), call(1, 12, 0), call(3, 14, 1), call(2, 16, 0)});
  file.calls(7, 4, {call(1, 20, 0), call(1, 22, 0)});
  file.calls(7, 6, {call(2, 30, 2)});
  file.calls(8, 0, {call(1, 40, 0)});
  const test::TestFolder folder;
  file.write(folder.file("t.hptrace"));
  const Trace trace = read_trace(folder.file("t.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  std::vector<CollectiveSource> sources = collective_sources(timeline);
  ASSERT_EQ(sources.size(), 1u) << "thread 8 made none";
  CollectiveCall got;
  for (const std::uint32_t sequence : {1u, 2u}) {
    ASSERT_TRUE(sources[0](got));
    EXPECT_EQ(got.sequence, sequence);
    EXPECT_EQ(got.rank, 2);
    EXPECT_EQ(got.size, 4);
    EXPECT_EQ(got.bytes, 64u);
    EXPECT_EQ(*got.operation, "AllReduce");
  }
  EXPECT_EQ(got.begin_ns, test::kStartMonotonicNs + 30'000);
  EXPECT_FALSE(sources[0](got)) << "failed calls, messages and launches are none";
}

TEST(CollectiveSource, ThreadsThatAreReadInTurnsGiveTheirOwnCalls) {
  TraceFile file;
  file.hooks({{.name = "ncclAllReduce",
               .family = Family::kNccl,
               .labels = {"comm:hex", "count", "call:nccl", "place:ranks"},
               .blocking = false}});
  for (std::uint32_t tid = 7; tid < 9; ++tid)
    for (std::uint32_t i = 0; i < 3; ++i)
      file.calls(tid, i,
                 {Call{.hook = 1,
                       .begin_us = 10.0 * i + tid,
                       .end_us = 10.0 * i + tid + 1,
                       .a = tid,
                       .b = 16,
                       .c = pack_nccl_call(i + 1, 0, 7, 0),
                       .d = pack_nccl_ranks(0, 2, -1)}});
  const test::TestFolder folder;
  file.write(folder.file("t.hptrace"));
  const Trace trace = read_trace(folder.file("t.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  std::vector<CollectiveSource> sources = collective_sources(timeline);
  ASSERT_EQ(sources.size(), 2u);
  CollectiveCall got;
  for (std::uint32_t sequence = 1; sequence <= 3; ++sequence)
    for (std::size_t source = 0; source < 2; ++source) {
      ASSERT_TRUE(sources[source](got));
      EXPECT_EQ(got.communicator, 7 + source);
      EXPECT_EQ(got.sequence, sequence);
    }
}

// Its id is the process's own, and its numbers begin with the first call that was seen.
TEST(CollectiveSource, GivesNothingOfACommunicatorWhoseMakingWasNotSeen) {
  TraceFile file;
  file.hooks({{.name = "ncclAllReduce",
               .family = Family::kNccl,
               .labels = {"comm:hex", "count", "call:nccl", "place:ranks"},
               .blocking = false}});
  Call unseen{
      .hook = 1, .begin_us = 1, .end_us = 2, .a = 0xc, .c = pack_nccl_call(1, 0, 7, 0), .d = pack_nccl_ranks(0, 2, -1)};
  unseen.flags = kRecordRelative;
  Call seen = unseen;
  seen.a = 0xd;
  seen.flags = 0;
  file.calls(7, 0, {unseen, seen});
  const test::TestFolder folder;
  file.write(folder.file("t.hptrace"));
  const Trace trace = read_trace(folder.file("t.hptrace"));
  Symbols symbols;
  const Timeline timeline(trace, symbols);
  std::vector<CollectiveSource> sources = collective_sources(timeline);
  ASSERT_EQ(sources.size(), 1u);
  CollectiveCall got;
  ASSERT_TRUE(sources[0](got));
  EXPECT_EQ(got.communicator, 0xdu);
  EXPECT_FALSE(sources[0](got));
}

}  // namespace
}  // namespace hostprobe::analysis
