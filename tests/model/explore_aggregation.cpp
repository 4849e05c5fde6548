// explore_aggregation.cpp: every order of all steps of the model in aggregation.h; see every_order.h.
#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>

#include "aggregation.h"
#include "every_order.h"

namespace hostprobe::model::aggregation {

// For gtest.
static void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

namespace {

std::string name_of(const testing::TestParamInfo<Setup>& each) { return each.param.name; }

class Aggregation : public testing::TestWithParam<Setup> {};

TEST_P(Aggregation, CountsEveryReturnedCallOnceInEveryOrderOfSteps) {
  const Answer answer = explore<Next>(GetParam());
  EXPECT_EQ(answer.wrong, "") << answer.steps;
  EXPECT_GT(answer.states, 10000u);
  std::printf("%zu states\n", answer.states);
}
INSTANTIATE_TEST_SUITE_P(
    Model, Aggregation,
    testing::Values(
        Setup{.name = "monitor", .mode = kMonitor, .exits = true},
        Setup{.name = "monitor_with_one_row", .mode = kMonitor, .rows = 1, .exits = true},
        Setup{.name = "flight", .chunks = 3, .exits = true},
        Setup{.name = "flight_with_a_dump", .calls = {3, 2}, .triggers = 1, .exits = true},
        Setup{.name = "flight_with_two_dumps", .calls = {4, 0}, .triggers = 2, .exits = true},
        Setup{.name = "dump_with_one_row", .calls = {3, 1}, .rows = 1, .triggers = 1, .exits = true},
        Setup{.name = "trace_read_meanwhile", .mode = kTrace, .calls = {3, 1}, .reader = true},
        Setup{.name = "monitor_read_meanwhile", .mode = kMonitor, .calls = {3, 0}, .reader = true, .exits = true},
        Setup{.name = "one_row_read_meanwhile",
              .mode = kMonitor,
              .calls = {2, 1},
              .chunks = 1,
              .rows = 1,
              .reader = true},
        Setup{.name = "killed_while_read",
              .mode = kMonitor,
              .calls = {3, 0},
              .chunks = 1,
              .reader = true,
              .killed = true},
        Setup{.name = "flight_read_meanwhile", .calls = {3, 0}, .rows = 1, .reader = true, .exits = true},
        Setup{.name = "dump_read_meanwhile", .calls = {3, 0}, .rows = 1, .triggers = 1, .reader = true}),
    name_of);

// A checker that finds nothing anywhere is none.
class BrokenAggregation : public testing::TestWithParam<Setup> {};

TEST_P(BrokenAggregation, IsFound) {
  const Answer answer = explore<Next>(GetParam());
  EXPECT_NE(answer.wrong, "") << "in " << answer.states << " states";
  std::printf("%s, found in state %zu\n", answer.wrong.c_str(), answer.states);
}
INSTANTIATE_TEST_SUITE_P(
    Model, BrokenAggregation,
    testing::Values(
        Setup{.name = "folded_before_undo", .fault = Fault::kAggregatedBeforeUndo},
        Setup{.name = "no_undo", .fault = Fault::kNoUndo},
        Setup{.name = "undo_filled_last", .fault = Fault::kUndoFilledLast},
        Setup{.name = "undo_not_taken_back", .fault = Fault::kUndoNotTakenBack},
        Setup{.name = "recycled_before_folded", .fault = Fault::kRecycledBeforeAggregated},
        Setup{.name = "row_freed_before_written", .fault = Fault::kRowFreedBeforeWritten, .rows = 1},
        Setup{.name = "row_cleared_before_freed", .fault = Fault::kRowClearedBeforeFreed, .rows = 1},
        Setup{.name = "row_evicted_too_early", .fault = Fault::kRowEvictedTooEarly, .rows = 1},
        Setup{.name = "row_into_dump", .fault = Fault::kRowIntoDump, .rows = 1, .triggers = 1},
        Setup{
            .name = "rows_before_last_fold", .fault = Fault::kRowsBeforeLastAggregate, .mode = kMonitor, .exits = true},
        Setup{.name = "folded_into_file", .fault = Fault::kAggregatedIntoFile, .triggers = 1, .exits = true},
        Setup{.name = "dumped_before_folded", .fault = Fault::kDumpedBeforeAggregated, .triggers = 1},
        Setup{.name = "dump_not_flagged", .fault = Fault::kDumpNotFlagged, .triggers = 1},
        Setup{.name = "recycled_before_dumped", .fault = Fault::kRecycledBeforeDumped, .triggers = 1},
        Setup{.name = "reader_ignores_serial",
              .fault = Fault::kReaderIgnoresSerial,
              .calls = {3, 0},
              .chunks = 1,
              .reader = true},
        Setup{.name = "reader_ignores_undo",
              .fault = Fault::kReaderIgnoresUndo,
              .mode = kMonitor,
              .reader = true,
              .killed = true},
        Setup{.name = "reader_takes_first_folded",
              .fault = Fault::kReaderTakesFirstAggregated,
              .calls = {3, 0},
              .chunks = 1,
              .reader = true},
        Setup{.name = "reader_looks_owner_first",
              .fault = Fault::kReaderLooksOwnerFirst,
              .calls = {3, 0},
              .chunks = 1,
              .reader = true},
        Setup{.name = "reader_takes_later_rows",
              .fault = Fault::kReaderTakesLaterRows,
              .mode = kMonitor,
              .calls = {2, 0},
              .reader = true,
              .exits = true}),
    name_of);

}  // namespace
}  // namespace hostprobe::model::aggregation
