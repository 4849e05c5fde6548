// Searches in sorted lists, and lists that are nearly sorted: model/search_hint.h, nearly_sorted.h
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "model/nearly_sorted.h"
#include "model/search_hint.h"

namespace hostprobe::analysis {
namespace {

TEST(SearchHints, FindWhatAPlainSearchFinds) {
  std::mt19937 random(1);
  for (const std::size_t count : {0u, 1u, 2u, 7u, 1000u}) {
    std::vector<unsigned> list(count);
    for (unsigned& one : list) one = random() % 500;
    std::sort(list.begin(), list.end());
    SearchHint hint;
    for (int i = 0; i < 2000; ++i) {
      const auto wanted = static_cast<unsigned>(i % 3 == 0 ? random() % 520 : i / 4);
      const auto plain = std::lower_bound(list.begin(), list.end(), wanted) - list.begin();
      const std::size_t found = hint.find(count, [&](std::size_t at) { return list[at] < wanted; });
      ASSERT_EQ(found, static_cast<std::size_t>(plain)) << count << ' ' << wanted;
    }
  }
}

TEST(SearchHints, LookAtTwoPlacesWhereNothingHasMoved) {
  SearchHint hint;
  int looks = 0;
  const auto find = [&](std::size_t wanted) {
    looks = 0;
    return hint.find(1'000'000, [&](std::size_t at) { return ++looks, at < wanted; });
  };
  find(500'000);
  EXPECT_EQ(find(500'000), 500'000u);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(find(500'003), 500'003u);
  EXPECT_LE(looks, 8);
}

TEST(SearchHints, ForgetWhereAListHasBecomeShorter) {
  SearchHint hint;
  hint.find(100, [](std::size_t at) { return at < 90; });
  EXPECT_EQ(hint.find(10, [](std::size_t at) { return at < 4; }), 4u);
  const SearchHint copy = hint;
  EXPECT_EQ(copy.find(10, [](std::size_t at) { return at < 5; }), 5u);
}

struct Item {
  int key, place;
  bool operator==(const Item&) const = default;
};
bool is_before(const Item& l, const Item& r) { return l.key < r.key; }

std::vector<Item> items(int count, unsigned displaced, std::mt19937& random) {
  std::vector<Item> all;
  for (int i = 0; i < count; ++i) all.push_back({i / 3 - static_cast<int>(random() % displaced), i});
  return all;
}

TEST(NearlySorted, IsSortedAndStable) {
  std::mt19937 random(2);
  for (const int count : {0, 1, 2, 300}) {
    std::vector<Item> all = items(count, 4, random), sorted = all;
    std::stable_sort(sorted.begin(), sorted.end(), is_before);
    EXPECT_TRUE(move_into_order(all.begin(), all.end(), is_before)) << count;
    EXPECT_EQ(all, sorted);
  }
}

TEST(NearlySorted, IsSortedByOtherMeansWhereItIsNot) {
  std::mt19937 random(3);
  std::vector<Item> all = items(3000, 1000, random), sorted = all;
  std::stable_sort(sorted.begin(), sorted.end(), is_before);
  EXPECT_FALSE(move_into_order(all.begin(), all.end(), is_before));
  std::stable_sort(all.begin(), all.end(), is_before);
  EXPECT_EQ(all, sorted) << "what was moved has kept the order of equal ones";
}

}  // namespace
}  // namespace hostprobe::analysis
