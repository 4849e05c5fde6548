// Totals that the kernel kept of threads: what a report makes of them, and blocks that are damaged or of a later version:
// trace/kernel_totals.cpp, questions/kernel_share.cpp
#include "trace/kernel_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "analysis/ranks/neighbours.h"
#include "export/dump/dump.h"
#include "import/ftrace/kernel_table.h"
#include "model/kernel_file.h"
#include "support/trace_file.h"
#include "trace/block_head.h"
#include "trace/reader.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {
namespace {

using test::TestFolder;
using testing::HasSubstr;

KernelTotalsHead head_of(double begin_us, double end_us) {
  KernelTotalsHead head{};
  head.begin_ticks = test::at_us(begin_us);
  head.end_ticks = test::at_us(end_us);
  head.cost_ns = 2000;
  return head;
}

// The process 100 with its threads 100 and 101, and 7, which nobody recorded.
class Totals : public testing::Test {
 protected:
  Totals() {
    FileHeader header{};
    header.source = kFromKernel;
    header.start = test::clock_at_us(0);
    header.last = test::clock_at_us(1e6);
    set_field(header.host, "h");
    out_ = std::make_unique<TraceWriter>(folder_.path().string(), header);
    KernelNameTable names;
    names.add_task(100, 0, "train", 100);
    names.add_task(7, 0, "stress", 7);
    names.add_task(8, test::at_us(900), "fio", 8);
    names.add_irq(27, "eth0");
    out_->add_kernel_names(names.take());
  }
  KernelShare ask(const Trace& trace) {
    answer_ = {};
    add_kernel_trace(trace,
                     {{"t", "h", 100, {100, 101}, test::kStartMonotonicNs, test::kStartMonotonicNs + 1'000'000'000}},
                     answer_);
    return answer_.shares["t"];
  }
  Trace read() { return read_trace_file_only(out_->finish()); }

  TestFolder folder_;
  std::unique_ptr<TraceWriter> out_;
  KernelAnswer answer_;
};

TEST_F(Totals, BlocksAreAddedUpPerProcess) {
  out_->add_kernel_totals(head_of(0, 1000), {{100, 100, 5, 1'000'000, 2'000'000, 500'000, 0}, {7, 7, 9, 1, 1, 1, 1}},
                          {{100, 7, 2'000'000}, {7, 100, 77}}, {{100, 27, 3, 30'000, 0}, {100, 3, 2, 10'000, 1}});
  out_->add_kernel_totals(head_of(1000, 2000), {{101, 100, 1, 0, 1'000'000, 0, 250'000}},
                          {{101, 7, 500'000}, {101, 8, 9000}}, {{101, 27, 1, 5000, 0}});
  const KernelShare share = ask(read());
  EXPECT_EQ(share.switches, 6u);
  EXPECT_DOUBLE_EQ(share.waited_ms, 4);
  EXPECT_DOUBLE_EQ(share.preempted_ms.value(), 3);
  EXPECT_DOUBLE_EQ(share.own_ms, 0.5);
  EXPECT_DOUBLE_EQ(share.unknown_ms, 0.25);
  ASSERT_EQ(share.neighbours.size(), 2u);
  EXPECT_EQ(share.neighbours[0].comm, "stress");
  EXPECT_EQ(share.neighbours[0].pid, 7u);
  EXPECT_DOUBLE_EQ(share.neighbours[0].took_ms, 2.5);
  EXPECT_EQ(share.neighbours[1].comm, "fio");
  ASSERT_EQ(share.irqs.size(), 2u);
  EXPECT_EQ(share.irqs[0].name, "eth0");
  EXPECT_EQ(share.irqs[0].count, 4u);
  EXPECT_EQ(share.irqs[1].name, "NET_RX");
  EXPECT_TRUE(share.irqs[1].soft);
  EXPECT_EQ(share.hard, 4u);
  EXPECT_NEAR(share.seen_ms, 2, 1e-6);
  ASSERT_EQ(answer_.files.size(), 1u);
  EXPECT_TRUE(answer_.files[0].has_totals);
  EXPECT_EQ(answer_.files[0].rows, 15u);
  EXPECT_DOUBLE_EQ(answer_.files[0].cost_ms, 0.004);
}

TEST_F(Totals, OfAnotherProcessThatHadTheIdBeforeAreNotItsOwn) {
  out_->add_kernel_totals(head_of(2e6, 3e6), {{100, 100, 5, 1, 1, 0, 0}}, {}, {});
  EXPECT_EQ(ask(read()).switches, 0u);
}

TEST_F(Totals, LossesAreCountedWithoutRowsToo) {
  KernelTotalsHead head = head_of(10, 10);
  head.lost = 12;
  out_->add_kernel_totals(head, {}, {}, {});
  EXPECT_EQ(kernel_file(read()).lost, 12u);
}

TEST_F(Totals, DumpTellsEachThread) {
  out_->add_kernel_totals(head_of(0, 1000), {{101, 100, 5, 11, 22, 33, 44}}, {}, {});
  const Trace trace = read();
  std::string json, text;
  EXPECT_TRUE(dump_run(trace.path, DumpForm::kJson, [&](std::string_view part) { json += part; }).empty());
  EXPECT_THAT(json, HasSubstr("\"function\":\"kernel_totals\""));
  EXPECT_THAT(json, HasSubstr("\"woken_ns\":11,\"preempted_ns\":22,\"own_took_ns\":33,\"unknown_ns\":44"));
  EXPECT_TRUE(dump_run(trace.path, DumpForm::kText, [&](std::string_view part) { text += part; }).empty());
  EXPECT_THAT(text, HasSubstr("kernel_totals(comm=train, switches=5"));
}

// Changes the head of the only block of totals, whose checksums are made anew.
void rewrite(const std::string& path, const std::function<void(KernelTotalsHead&)>& change) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t at = kFileHeaderBytes; at + sizeof(BlockHead) <= bytes.size();) {
    BlockHead block;
    std::memcpy(&block, &bytes[at], sizeof(block));
    if (block.kind == kBlockKernelTotals) {
      KernelTotalsHead head;
      std::memcpy(&head, &bytes[at + sizeof(block)], sizeof(head));
      change(head);
      std::memcpy(&bytes[at + sizeof(block)], &head, sizeof(head));
      block = block_head(kBlockKernelTotals, &bytes[at + sizeof(block)], block.payload_bytes);
      std::memcpy(&bytes[at], &block, sizeof(block));
    }
    at += sizeof(block) + block.payload_bytes;
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_F(Totals, OfALaterVersionAreRefusedWithWords) {
  out_->add_kernel_totals(head_of(0, 1000), {{100, 100, 5, 1, 1, 0, 0}}, {}, {});
  const std::string path = out_->finish();
  rewrite(path, [](KernelTotalsHead& head) { head.version = 2; });
  const Trace trace = read_trace_file_only(path);
  EXPECT_TRUE(trace.damages.empty());
  EXPECT_TRUE(has_later_totals(trace));
  ASSERT_EQ(kernel_totals(trace).size(), 1u);
  EXPECT_EQ(kernel_totals(trace)[0].head.threads, 0u);
  EXPECT_EQ(ask(trace).switches, 0u);
}

TEST_F(Totals, BlockWhoseCountsAreWrongIsDamage) {
  out_->add_kernel_totals(head_of(0, 1000), {{100, 100, 5, 1, 1, 0, 0}}, {{100, 7, 1}}, {{100, 27, 3, 30, 0}});
  const std::string path = out_->finish();
  for (const auto& change : std::vector<std::function<void(KernelTotalsHead&)>>{
           [](KernelTotalsHead& head) { head.threads = UINT32_MAX; }, [](KernelTotalsHead& head) { head.took = 0; },
           [](KernelTotalsHead& head) { head.irqs = 2; },
           [](KernelTotalsHead& head) { head.begin_ticks = UINT64_MAX; }}) {
    KernelTotalsHead before{};
    rewrite(path, [&](KernelTotalsHead& head) { before = head, change(head); });
    const Trace trace = read_trace_file_only(path);
    EXPECT_EQ(trace.damages.size(), 1u);
    EXPECT_TRUE(kernel_totals(trace).empty());
    rewrite(path, [&](KernelTotalsHead& head) { head = before; });
  }
}

}  // namespace
}  // namespace hostprobe::analysis
