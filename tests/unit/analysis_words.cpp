// Numbers and names as people read them: words/words.cpp
#include <gtest/gtest.h>

#include "words/words.h"

namespace hostprobe::analysis {
namespace {

TEST(Text, DurationsTakeTheUnitThatFits) {
  const std::pair<double, const char*> kTruth[] = {{0, "0 ns"},         {842, "842 ns"},      {7310, "7.31 µs"},
                                                   {12400, "12.4 µs"},  {123456, "123 µs"},   {999'600, "1.00 ms"},
                                                   {4.321e9, "4.32 s"}, {1.2345e12, "1234 s"}};
  for (const auto& [ns, text] : kTruth) EXPECT_EQ(duration_text(ns), text);
}

TEST(Text, NumbersAreGroupedByThree) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(12'345'678), "12 345 678");
}

TEST(Text, NothingThatSteersATerminalIsPrinted) {
  EXPECT_EQ(printable("a\x1b[31mb\n\x7f"), "a?[31mb??");
  EXPECT_EQ(printable("\xc2\x9b"
                      "x"),
            "?x");  // the same as ESC [, in two bytes
  EXPECT_EQ(printable("\xff\xc3"), "??");
  EXPECT_EQ(printable("µs …"), "µs …");
  EXPECT_EQ(printable("\u202e"
                      "gpj"),
            "?gpj");
  EXPECT_EQ(printable("\xc0\x9b"
                      "x"),
            "??x");  // ESC, longer than it need be
}

TEST(Text, WholeOutputKeepsItsLinesAndSteersNothing) {
  EXPECT_EQ(for_terminal("a\tb\n\r\x1b]0;x\a\b"), "a\tb\n??]0;x??");
  EXPECT_EQ(json_for_terminal("{\"a\": \"\u009b\u202e\x7f\"}\n"), "{\"a\": \"\\u009b\\u202e\\u007f\"}\n");
}

TEST(Text, LongNamesLoseTheirMiddle) {
  EXPECT_EQ(shortened("libpython3.11.so.1.0", 16), "libpyth…1.so.1.0");
  EXPECT_EQ(shortened("short", 16), "short");
  EXPECT_EQ(shortened("ääääääääää", 5), "ää…ää");
  EXPECT_EQ(columns("ää…ää"), 5u);
}

}  // namespace
}  // namespace hostprobe::analysis
