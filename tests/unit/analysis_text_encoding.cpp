// Marks and UTF-16: import/input/text_encoding.cpp, text_file.cpp
#include "import/input/text_encoding.h"

#include <gtest/gtest.h>

#include <fstream>

#include "import/input/text_file.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

std::string utf16(const std::u16string& text, bool is_big) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xff);
    bytes += is_big ? high : low;
    bytes += is_big ? low : high;
  }
  return bytes;
}

std::string read(const std::string& bytes) {
  const test::TestFolder folder;
  const std::string path = folder.file("text");
  std::ofstream(path, std::ios::binary) << bytes;
  TextFile file(path);
  std::string all;
  while (!file.at_end()) all += file.take();
  EXPECT_EQ(file.taken(), all.size());
  return all;
}

TEST(TextEncodings, AreSeenByTheFirstBytes) {
  EXPECT_EQ(encoding_of("\xef\xbb\xbf{"), TextEncoding::kMarkedUtf8);
  EXPECT_EQ(encoding_of("{\"a\":"), TextEncoding::kBytes);
  EXPECT_EQ(encoding_of(""), TextEncoding::kBytes);
  EXPECT_EQ(encoding_of(std::string("\0\0\0\0", 4)), TextEncoding::kBytes);
  for (const bool is_big : {false, true}) {
    const TextEncoding expected = is_big ? TextEncoding::kBigUtf16 : TextEncoding::kLittleUtf16;
    EXPECT_EQ(encoding_of(utf16(u"{\"a\"", is_big)), expected);
    EXPECT_EQ(encoding_of(utf16(u"\ufeff{", is_big)), expected);
  }
}

TEST(TextEncodings, OfAFileAreItsTextAsUtf8) {
  EXPECT_EQ(read("\xef\xbb\xbf{}"), "{}");
  EXPECT_EQ(read("\xef\xbb\xbf"), "");
  std::u16string long_text = u"\ufeff";
  std::string expected;
  for (int i = 0; i < 200'000; ++i) {
    long_text += u"a\u00e9\u20ac\U0001f600";
    expected += "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  }
  for (const bool is_big : {false, true}) EXPECT_TRUE(read(utf16(long_text, is_big)) == expected);
}

TEST(TextEncodings, HalvesOfCharactersAreNotRemoved) {
  EXPECT_EQ(read(utf16(u"\ufeffab", false) + "c"), "ab\xef\xbf\xbd");
  EXPECT_EQ(read(utf16({0xfeff, 'a', 0xd800, 'b', 0xdc00, 0xd801}, false)),
            "a\xed\xa0\x80"
            "b\xed\xb0\x80\xed\xa0\x81");
}

}  // namespace
}  // namespace hostprobe::analysis
