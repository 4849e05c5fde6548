// A file's text in one piece, and profiles that are read so: import/input/whole_text.cpp, import/kineto/profile_reader.cpp
#include "import/input/whole_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "import/kineto/profile_reader.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMost = 1 << 20;

class WholeTextOf : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  std::string write_compressed(const std::string& text, const char* mode = "wb") {
    gzFile file = gzopen(path_.c_str(), mode);
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    gzclose(file);
    return path_;
  }
  void cut(std::size_t bytes) { std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - bytes); }
  test::TestFolder folder_;
  const std::string path_ = folder_.file("text");
};

std::string repeated(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i * i) + ' ';
  text.resize(bytes);
  return text;
}

TEST_F(WholeTextOf, AFileIsAllOfItWithZerosBehind) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{17}, std::size_t{4096}, std::size_t{100'001}, kMost})
    for (const bool compressed : {false, true}) {
      const std::string text = repeated(bytes);
      const auto whole = whole_text(compressed ? write_compressed(text) : write(text), kMost);
      ASSERT_TRUE(whole) << bytes;
      EXPECT_TRUE(std::string(whole->text.get(), whole->bytes) == text) << bytes;
      const char* const behind = whole->text.get() + whole->bytes;
      EXPECT_EQ(std::count(behind, behind + kZerosBehind, '\0'), static_cast<std::ptrdiff_t>(kZerosBehind));
    }
}

TEST_F(WholeTextOf, MoreThanIsAllowedIsNone) {
  EXPECT_FALSE(whole_text(write(repeated(kMost + 1)), kMost));
  EXPECT_FALSE(whole_text(write_compressed(repeated(kMost + 1)), kMost)) << "what it says it expands to";
}

TEST_F(WholeTextOf, WhatIsNoWholePieceOfGzipIsNone) {
  const std::string text = repeated(10'000);
  write_compressed(text);
  write_compressed(text, "ab");
  EXPECT_FALSE(whole_text(path_, kMost)) << "two pieces";
  for (const std::size_t bytes : {1, 4, 8, 100}) {
    write_compressed(text);
    cut(bytes);
    EXPECT_FALSE(whole_text(path_, kMost)) << bytes;
  }
  write_compressed(text);
  std::fstream damaged(path_, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(-6, std::ios::end).put('?');  // of its checksum
  damaged.close();
  EXPECT_FALSE(whole_text(path_, kMost));
  EXPECT_FALSE(whole_text(write("\x1f\x8b"), kMost));
}

// Claims to expand to nearly a gigabyte, which nobody makes room for.
TEST_F(WholeTextOf, MoreThanGzipCanExpandToIsNone) {
  write_compressed("short");
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end).put('\x3f');
  file.close();
  EXPECT_FALSE(whole_text(path_, std::size_t{2} << 30));
}

TEST_F(WholeTextOf, WhatIsNoFileIsNone) {
  EXPECT_FALSE(whole_text(folder_.file("missing"), kMost));
  EXPECT_FALSE(whole_text(write(""), kMost));
  EXPECT_FALSE(whole_text("/proc/self/status", kMost)) << "says that it has no bytes";
  EXPECT_FALSE(whole_text(std::filesystem::path(path_).parent_path().string(), kMost));
  ASSERT_EQ(mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(whole_text(folder_.file("pipe"), kMost));
}

// Everything that a reading tells.
std::string told(const std::string& path, std::size_t most_whole_bytes) {
  LeftOut left_out;
  std::string all;
  const ProfileReading reading = read_profile(
      path,
      [&all](const ProfileEvent& event) {
        for (const std::string& text : event.texts) all += text + '|';
        all += std::to_string(event.at) + '\n';
      },
      left_out, {}, most_whole_bytes);
  all += reading.head.rank + reading.head.base_time_ns + ' ' + reading.problem;
  for (const auto& [what, kind] : left_out.kinds()) all += what + std::to_string(kind.count);
  return all;
}

const std::string kProfile = R"({"schemaVersion": 1, "distributedInfo": {"rank": 3}, "baseTimeNanoseconds": 1712,
  "traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "caf\u00e9 \"void\"\n<float, \\ 4>", "pid": 0, "tid": 7, "ts": 1695835543008415.123, "dur": 4.5,
   "args": {"grid": [12, 1, 1], "block": [256,1,1], "stream": 7, "correlation": 99, "shared memory": 0, "est. achieved occupancy %": 12}},
  17, "no event",
  {"ph": "X", "cat": "cpu_op", "name": "aten::add_", "ts": -1.5e3, "dur": NaN, "pid": "Spans", "tid": "PyTorch Profiler",
   "args": {"Input Dims": [[2, 3], [4], []], "Input type": ["float", ""], "nested": {"name": "inner", "list": [[[1]]]}, "name": "outer"}},
  {"ph": "M", "name": "process_name", "args": {"name": "python", "labels": null}, "ok": true, "empty": {}}
  ], "traceName": "a.json"})";

TEST_F(WholeTextOf, AProfileTellsTheSameWhereItIsReadInPieces) {
  for (std::size_t bytes = 0; bytes <= kProfile.size(); ++bytes) {
    write(kProfile.substr(0, bytes));
    EXPECT_EQ(told(path_, kMost), told(path_, 0)) << bytes;
  }
  write_compressed(kProfile);
  EXPECT_EQ(told(path_, kMost), told(path_, 0));
  EXPECT_NE(told(path_, kMost).find("caf\xc3\xa9 \"void\"\n<float, \\ 4>"), std::string::npos);
}

TEST_F(WholeTextOf, AProfileOfCutGzipIsReadAsFarAsItGoes) {
  write_compressed(kProfile);
  cut(12);
  EXPECT_NE(told(path_, kMost).find("the compressed data ends too early"), std::string::npos);
  EXPECT_THROW(told(folder_.file("missing"), kMost), std::system_error);
}

}  // namespace
}  // namespace hostprobe::analysis
