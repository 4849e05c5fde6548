// The same records in several places: analysis/slice_order.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

#include "support/trace_file.h"
#include "trace/slice_order.h"

namespace hostprobe::analysis {
namespace {

using testing::ElementsAre;

class SliceOrder : public testing::Test {
 protected:
  // `count` records; `holes`: so many of the running numbers have none.
  void slice(std::uint64_t first, std::uint32_t count, bool aggregated, std::uint32_t holes = 0) {
    std::string& bytes = storage_.emplace_back();
    Slice slice{nullptr, first, 0, count + holes, count};
    for (std::uint32_t i = 0; i < count; ++i) {
      Record record{};
      record.a = first + i;
      record.flags = aggregated ? kRecordAggregated : 0;
      bytes += test::bytes_of(record);
    }
    slice.bytes = reinterpret_cast<const std::byte*>(bytes.data());
    slice.aggregated = aggregated ? count : 0;
    slices_.push_back(slice);
  }
  // Numbers of the records in order, negative where they are aggregated.
  std::vector<long> order() {
    order_slices(slices_);
    std::vector<long> numbers;
    for (const Slice& slice : slices_) {
      EXPECT_EQ(slice.aggregated, count_summed(slice.records()));
      for (const Record& record : slice.records())
        numbers.push_back(static_cast<long>(record.a) * (is_aggregated(record) ? -1 : 1));
    }
    return numbers;
  }
  std::vector<Slice> slices_;
  std::list<std::string> storage_;
};

TEST_F(SliceOrder, RecordThatIsSummedInOnePlaceOnlyIsTakenFromTheOther) {
  slice(1, 6, true);
  slice(3, 2, false);
  EXPECT_THAT(order(), ElementsAre(-1, -2, 3, 4, -5, -6));
}

TEST_F(SliceOrder, SummedSliceInsideAnotherOneGoes) {
  slice(2, 2, true);
  slice(1, 5, false);
  EXPECT_THAT(order(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(SliceOrder, SeveralHolesOfOneSummedSliceAreFilled) {
  slice(3, 1, false);
  slice(1, 9, true);
  slice(6, 2, false);
  slice(9, 3, false);
  EXPECT_THAT(order(), ElementsAre(-1, -2, 3, -4, -5, 6, 7, -8, 9, 10, 11));
}

TEST_F(SliceOrder, SummedTwiceCountsOnce) {
  slice(1, 4, true);
  slice(3, 4, true);
  EXPECT_THAT(order(), ElementsAre(-1, -2, -3, -4, -5, -6));
}

TEST_F(SliceOrder, SummedSliceWithMissingRecordsIsNotCutBecauseNobodyKnowsWhichTheyAre) {
  slice(1, 4, true, 2);
  slice(3, 1, false);
  EXPECT_THAT(order(), ElementsAre(3));
}

TEST_F(SliceOrder, NothingStaysNothing) { EXPECT_TRUE(order().empty()); }

}  // namespace
}  // namespace hostprobe::analysis
