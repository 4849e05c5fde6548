// Records of a thread by begin time: model/ordered_records.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

#include "model/ordered_records.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

class Ordered : public testing::Test {
 protected:
  void slice(std::uint64_t first_sequence, const std::vector<std::uint64_t>& begins, std::uint32_t slots = 0) {
    std::string& bytes = storage_.emplace_back();
    Slice slice{nullptr, first_sequence, UINT64_MAX, std::max(slots, static_cast<std::uint32_t>(begins.size())),
                static_cast<std::uint32_t>(begins.size())};
    for (const std::uint64_t begin : begins) {
      Record record{};
      record.begin_ticks = begin;
      bytes += test::bytes_of(record);
      slice.least_begin_ticks = std::min(slice.least_begin_ticks, begin);
      thread_.kept++;
    }
    slice.bytes = reinterpret_cast<const std::byte*>(bytes.data());
    thread_.slices.push_back(slice);
  }
  // Begins in the order they come, minus the count where records are lost, minus a thousand times that where aggregated.
  std::vector<long> walk() {
    std::vector<long> seen;
    OrderedRecords records(
        thread_, [&](const Record& r) { seen.push_back(static_cast<long>(r.begin_ticks)); },
        [&](std::uint64_t count) { seen.push_back(-static_cast<long>(count)); },
        [&](std::uint64_t count) { seen.push_back(-1000 * static_cast<long>(count)); });
    records.walk();
    return seen;
  }
  Thread thread_;
  std::list<std::string> storage_;
};

TEST_F(Ordered, OuterCallThatEndedManySlicesLaterComesFirst) {
  slice(0, {20, 30});
  slice(2, {40, 50});
  slice(4, {10, 60});
  EXPECT_EQ(walk(), (std::vector<long>{10, 20, 30, 40, 50, 60}));
}

TEST_F(Ordered, AnyOrderOfCallsIsSorted) {
  std::mt19937 random(5);
  std::vector<long> truth;
  for (std::uint64_t first = 0; first < 400; first += 4) {
    std::vector<std::uint64_t> begins;
    for (int i = 0; i < 4; ++i) begins.push_back(random() % 1'000'000);
    truth.insert(truth.end(), begins.begin(), begins.end());
    slice(first, begins);
  }
  std::sort(truth.begin(), truth.end());
  EXPECT_EQ(walk(), truth);
}

TEST_F(Ordered, ManyRecordsOfOneSliceAreSortedHoweverFarTheyStandFromTheirPlace) {
  std::mt19937 random(6);
  for (const std::uint64_t spread : {3u, 50u, 1'000'000u}) {
    thread_.slices.clear();
    std::vector<std::uint64_t> begins;
    for (std::uint64_t i = 0; i < 3000; ++i) begins.push_back(10 * i + random() % spread);
    slice(0, begins);
    std::vector<long> truth(begins.begin(), begins.end());
    std::sort(truth.begin(), truth.end());
    EXPECT_EQ(walk(), truth) << spread;
  }
}

TEST_F(Ordered, RecordsThatAreOnlyInSumsAreTheFirstOnesThatAreMissing) {
  slice(2, {10});
  slice(6, {20});
  thread_.summed_only = 4;
  thread_.lost = 2;
  EXPECT_EQ(walk(), (std::vector<long>{-2000, 10, -2000, -1, 20, -1}));
}

TEST_F(Ordered, ThreadOfWhichOnlySumsAreLeftHasNoRecords) {
  thread_.summed_only = 9;
  EXPECT_EQ(walk(), (std::vector<long>{-9000}));
}

TEST_F(Ordered, LostRecordsStandWhereTheyAreMissing) {
  slice(2, {10, 20});
  slice(4, {30}, 3);
  slice(9, {40});
  thread_.lost = 2 + 2 + 2 + 5;  // five more behind the last
  EXPECT_EQ(walk(), (std::vector<long>{-2, 10, 20, 30, -2, -2, 40, -5}));
}

TEST_F(Ordered, ThreadWithoutRecordsTellsOnlyItsLoss) {
  thread_.lost = 3;
  EXPECT_EQ(walk(), (std::vector<long>{-3}));
}

}  // namespace
}  // namespace hostprobe::analysis
