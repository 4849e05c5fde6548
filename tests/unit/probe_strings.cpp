// Texts that records name by number.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "probe/record/chunk.h"
#include "probe/record/strings.h"
#include "probe_fakes.h"

namespace hostprobe::probe {
namespace {

class Strings : public testing::Test {
 protected:
  Folder folder_;
  Recording recording_{folder_.path.c_str()};
};

std::string text_of(std::uint32_t id) {
  auto* head = reinterpret_cast<StringHead*>(g_segment.strings + std::size_t{id - 1} * 8);
  return {reinterpret_cast<char*>(head + 1), head->length};
}

TEST_F(Strings, TheSameTextHasOneNumber) {
  std::uint32_t id = string_id("gemm", 4);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(string_id("gemm", 4), id);
  EXPECT_NE(string_id("gemv", 4), id);
  EXPECT_EQ(text_of(id), "gemm");
}

TEST_F(Strings, NoTextHasNoNumber) { EXPECT_EQ(string_id("", 0), 0u); }

TEST_F(Strings, AFullAreaAnswersZeroAndKeepsWhatItHas) {
  std::uint32_t first = string_id("first", 5), id = 0;
  for (unsigned i = 0; i < 100000; ++i) {
    std::string text = "a rather long kernel name that fills the area sooner or later " + std::to_string(i);
    id = string_id(text.data(), text.size());
    if (id == 0) break;
    ASSERT_LE(id, 65535u);
  }
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(string_id("first", 5), first);
}

TEST_F(Strings, ThreadsThatAddTheSameTextsAgree) {
  constexpr unsigned kTexts = 200;
  std::vector<std::vector<std::uint32_t>> ids(4, std::vector<std::uint32_t>(kTexts));
  std::vector<std::thread> threads;
  for (auto& mine : ids)
    threads.emplace_back([&mine] {
      for (unsigned i = 0; i < kTexts; ++i) {
        std::string text = "text " + std::to_string(i);
        mine[i] = string_id(text.data(), text.size());
      }
    });
  for (std::thread& t : threads) t.join();
  for (unsigned i = 0; i < kTexts; ++i) {
    EXPECT_EQ(text_of(ids[0][i]), "text " + std::to_string(i));
    for (auto& mine : ids) EXPECT_EQ(mine[i], ids[0][i]);
  }
}

}  // namespace
}  // namespace hostprobe::probe
