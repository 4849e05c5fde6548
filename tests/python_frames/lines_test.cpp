// The line tables, decoded from bytes written down here and from damaged ones.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "probe/stacks/python_lines.h"

namespace hostprobe::probe {
namespace {

struct Bytes {
  std::vector<unsigned char> bytes;
  std::size_t used = 0;
  bool next(unsigned char& byte) {
    if (used == bytes.size()) return false;
    byte = bytes[used++];
    return true;
  }
};

int line(LineTable kind, std::vector<unsigned char> bytes, int first, std::int64_t offset) {
  Bytes table{std::move(bytes)};
  return line_of(kind, table, first, offset);
}

TEST(PythonLines, AnInstructionBeforeTheFirstIsOnTheFirstLine) {
  for (LineTable kind : {LineTable::kSteps, LineTable::kRanges, LineTable::kLocations}) {
    EXPECT_EQ(line(kind, {4, 1}, 7, -2), 7);
  }
}

TEST(PythonLines, StepsGoForwardAndBack) {
  const std::vector<unsigned char> table = {0, 1, 6, 1, 8, 0xfe, 250, 100};  // line 8 at 0, 9 at 6, 7 at 14, 107 at 264
  EXPECT_EQ(line(LineTable::kSteps, table, 7, 0), 8);
  EXPECT_EQ(line(LineTable::kSteps, table, 7, 13), 9);
  EXPECT_EQ(line(LineTable::kSteps, table, 7, 14), 7);
  EXPECT_EQ(line(LineTable::kSteps, table, 7, 300), 107);
}

TEST(PythonLines, RangesMayHaveNoLine) {
  const std::vector<unsigned char> table = {4, 1, 2, 0x80, 6, 0xff};  // 0-3: 8, 4-5: none, 6-11: 7
  EXPECT_EQ(line(LineTable::kRanges, table, 7, 3), 8);
  EXPECT_EQ(line(LineTable::kRanges, table, 7, 4), 0);
  EXPECT_EQ(line(LineTable::kRanges, table, 7, 6), 7);
}

TEST(PythonLines, LocationsAsDrawnInTheHeader) {
  const std::vector<unsigned char> table = {0xd8, 0x04, 0x09, 0x81, 0x2c, 0xf8};
  EXPECT_EQ(line(LineTable::kLocations, table, 7, 0), 8);
  EXPECT_EQ(line(LineTable::kLocations, table, 7, 2), 8);
  EXPECT_EQ(line(LineTable::kLocations, table, 7, 4), 8);
  EXPECT_EQ(line(LineTable::kLocations, table, 7, 6), 0);
}

TEST(PythonLines, LocationsTakeLongStepsBothWays) {
  // Form 13, +500 lines: 1000 = 0x28 | 0x0f << 6, so 68 0f; form 14, -3 lines: 7, then end line and columns.
  const std::vector<unsigned char> table = {0xe8, 0x68, 0x0f, 0xf1, 0x07, 0x00, 0x01, 0x02};
  EXPECT_EQ(line(LineTable::kLocations, table, 10, 0), 510);
  EXPECT_EQ(line(LineTable::kLocations, table, 10, 2), 507);
}

TEST(PythonLines, ATableThatEndsEarlyGivesTheLineReachedSoFar) {
  EXPECT_EQ(line(LineTable::kSteps, {0, 3, 4}, 7, 90), 10);
  EXPECT_EQ(line(LineTable::kRanges, {2, 3}, 7, 90), 10);
  EXPECT_EQ(line(LineTable::kLocations, {0xd8}, 7, 90), 8);
  EXPECT_EQ(line(LineTable::kLocations, {}, 7, 90), 7);
}

TEST(PythonLines, AnEntryWithoutItsMarkEndsTheSearch) {
  EXPECT_EQ(line(LineTable::kLocations, {0x04, 0xd8}, 7, 90), 7);
}

TEST(PythonLines, NoBytesMakeTheDecodersRunOn) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    Bytes table;
    for (unsigned n = random() % 40; n > 0; --n) table.bytes.push_back(static_cast<unsigned char>(random()));
    for (LineTable kind : {LineTable::kSteps, LineTable::kRanges, LineTable::kLocations}) {
      table.used = 0;
      line_of(kind, table, 1, static_cast<std::int64_t>(random() % 4000));
      EXPECT_LE(table.used, table.bytes.size());
    }
  }
}

}  // namespace
}  // namespace hostprobe::probe
