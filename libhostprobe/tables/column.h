// column.h: one column of a batch while its rows are added, and the batch that is made of some.
//
// Room 3. A batch has kBatchRows rows at most, so a column's memory is taken once for each and never grows while rows come. Words
// are numbered by the column itself for as long as it lives: a number means the same word in all batches of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arrow_abi.h"
#include "table.h"

namespace hostprobe::tables {

inline constexpr std::size_t kBatchRows = 64 * 1024;

struct Free {
  void operator()(void* bytes) const { std::free(bytes); }
};
using Buffer = std::unique_ptr<std::byte[], Free>;

// Texts one after the other, as Arrow lays them out.
struct Texts {
  std::vector<std::int32_t> ends{0};
  std::string bytes;
  std::int64_t count() const { return static_cast<std::int64_t>(ends.size()) - 1; }
  void add(std::string_view text);
};

class Column {
 public:
  explicit Column(const ColumnName& name);

  // Before the first row of each batch.
  void begin();
  void add_null() {
    if (nulls_++ == 0) make_validity();
    validity_[rows_ >> 3] &= static_cast<std::byte>(~(1u << (rows_ & 7)));
    add_zero();
  }
  void add(std::int64_t value) { store(value); }
  void add(std::uint64_t value) { store(static_cast<std::int64_t>(value)); }
  void add(std::int32_t value) { store(std::int64_t{value}); }
  void add(std::uint32_t value) { store(std::int64_t{value}); }
  void add(bool value) {
    if (value) values_[rows_ >> 3] |= static_cast<std::byte>(1u << (rows_ & 7));
    next_row();
  }
  void add(double value) {
    std::memcpy(&values_[rows_ * sizeof(value)], &value, sizeof(value));
    next_row();
  }
  // Of a kText or kWord column; "" is a null of the latter.
  void add_text(std::string_view text);
  // Of a kWord column: the word that `text()` gives for `key`, which is asked once until forget_keys(). "" is null.
  template <typename Text>
  void add_word(std::uint64_t key, Text text) {
    if (key != last_key_ || !has_last_) {
      const auto [found, fresh] = numbers_of_keys_.try_emplace(key, kNoWord);
      if (fresh) found->second = number_of_word(text());
      last_key_ = key;
      last_number_ = found->second;
      has_last_ = true;
    }
    if (last_number_ == kNoWord)
      add_null();
    else
      store(std::int64_t{last_number_});
  }
  // Keys mean something else from here on: another trace.
  void forget_keys() {
    numbers_of_keys_.clear();
    has_last_ = false;
  }

  Type type() const { return type_; }
  // Hands over what was added, and begins anew.
  void publish(ArrowArray* out);

 private:
  static constexpr std::int32_t kNoWord = -1;

  // Little-endian: the low bytes come first.
  void store(std::int64_t value) {
    if (width_ == 8)
      std::memcpy(&values_[rows_ * 8], &value, 8);
    else
      std::memcpy(&values_[rows_ * 4], &value, 4);
    next_row();
  }
  void next_row() { ++rows_; }
  void add_zero();
  void make_validity();
  std::int32_t number_of_word(std::string_view text);

  Type type_;
  std::size_t width_ = 0;
  std::size_t rows_ = 0;
  std::int64_t nulls_ = 0;
  Buffer values_, validity_;
  Texts texts_;  // of a kText column
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::unordered_map<std::uint64_t, std::int32_t> numbers_of_keys_;
  std::uint64_t last_key_ = 0;
  std::int32_t last_number_ = 0;
  bool has_last_ = false;
  Texts words_;
  std::shared_ptr<const Texts> published_words_;
};

// All columns must have so many rows.
void publish_batch(std::vector<Column>& columns, std::int64_t rows, ArrowArray* out);

}  // namespace hostprobe::tables
