// Text that is longer than what is held of it: import/input/text_file.cpp
#include "import/input/text_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kHeld = 1 << 18;  // of the text at a time

// Lines of different lengths, so that some lie on both sides of where one buffer ends.
std::string lines(std::size_t bytes) {
  std::string text;
  for (std::size_t number = 0; text.size() < bytes; ++number)
    text += std::to_string(number) + std::string(number % 91, 'x') + (number % 3 == 0 ? "\r\n" : "\n");
  text.resize(bytes);
  return text;
}

class TextFileOf : public testing::Test {
 protected:
  std::string write(const std::string& text, bool compressed, std::size_t cut = 0) {
    const std::string path = folder_.file("text");
    gzFile file = gzopen(path.c_str(), compressed ? "wb" : "wbT");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    gzclose(file);
    if (cut != 0) std::filesystem::resize_file(path, std::filesystem::file_size(path) - cut);
    return path;
  }
  static std::string all_of(TextFile& file) {
    std::string text;
    while (!file.at_end()) text += file.take();
    EXPECT_EQ(file.taken(), text.size());
    EXPECT_EQ(file.take(), '\0');
    EXPECT_EQ(file.taken(), text.size()) << "the end is no byte";
    return text;
  }
  test::TestFolder folder_;
};

TEST_F(TextFileOf, AnyLengthIsReadWhole) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, kHeld - 1, kHeld, kHeld + 1, 2 * kHeld, 5 * kHeld + 77})
    for (const bool compressed : {false, true}) {
      const std::string text = lines(bytes);
      TextFile file(write(text, compressed));
      EXPECT_TRUE(all_of(file) == text) << bytes;
      EXPECT_EQ(file.problem(), "");
    }
}

TEST_F(TextFileOf, LinesGoOverWhereABufferEnds) {
  const std::string text = lines(3 * kHeld);
  TextFile file(write(text, true));
  std::string line, again;
  while (file.line(line)) again += line + "\n";
  std::string expected = text;
  std::erase(expected, '\r');
  if (expected.back() != '\n') expected += '\n';
  EXPECT_TRUE(again == expected);
}

TEST_F(TextFileOf, CompressedTextThatEndsTooEarlyIsReadAsFarAsItGoes) {
  const std::string text = lines(5 * kHeld);
  TextFile file(write(text, true, 1000));
  const std::string read = all_of(file);
  EXPECT_LT(read.size(), text.size());
  EXPECT_GT(read.size(), kHeld);
  EXPECT_TRUE(text.starts_with(read));
  EXPECT_NE(file.problem(), "");
}

// zlib's own reader of files forgets what it expanded before the damage.
TEST_F(TextFileOf, CompressedTextIsReadUpToItsDamage) {
  const std::string text = lines(kHeld);
  const std::string path = write(text, true);
  const auto bytes = std::filesystem::file_size(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(bytes - 6)).put('?');  // of its checksum
  file.close();
  TextFile damaged(path);
  EXPECT_TRUE(all_of(damaged) == text);
  EXPECT_NE(damaged.problem(), "");
}

TEST_F(TextFileOf, SeveralMembersAreOneText) {
  const std::string text = lines(kHeld + 77);
  const std::string path = write(text, true);
  std::ifstream in(path, std::ios::binary);
  const std::string member{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& between : {std::string(), std::string(1000, '\0')}) {
    std::ofstream(path, std::ios::binary) << member << between << member << between;
    TextFile file(path);
    EXPECT_TRUE(all_of(file) == text + text);
    EXPECT_EQ(file.problem(), "");
  }
}

TEST_F(TextFileOf, NoFileIsAnError) { EXPECT_THROW(TextFile(folder_.file("none")), std::system_error); }

// Nobody has read it to its end, and the next part is under way.
TEST_F(TextFileOf, MayBeLeftInTheMiddle) {
  TextFile file(write(lines(5 * kHeld), true));
  EXPECT_EQ(file.take(), '0');
}

}  // namespace
}  // namespace hostprobe::analysis
