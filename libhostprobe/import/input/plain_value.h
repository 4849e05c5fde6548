// plain_value.h: a value of plain types, as pickle and JSON have them: nothing, numbers, texts, lists and maps.
//
// Room 3. Values belong to their document and name each other by pointers: a pickle may have one in several places, or in itself.
// Who looks into them goes down by names that it expects, and so never round in a circle.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hostprobe::analysis {

struct PlainValue {
  enum class Type : std::uint8_t { kNothing, kFlag, kWhole, kReal, kText, kList, kMap };

  Type type = Type::kNothing;
  std::int64_t whole = 0;  // of a flag 0 or 1
  double real = 0;
  std::string text;
  std::vector<const PlainValue*> items;                                  // of a list; a tuple is one
  std::vector<std::pair<const PlainValue*, const PlainValue*>> members;  // of a map, in their order

  bool is(Type one) const { return type == one; }
  // Of a map, by a text; nullptr: it is no map, or has none. Of several the last counts.
  const PlainValue* find(std::string_view name) const;
  // A number, a flag, or a text of digits.
  std::optional<std::int64_t> number() const;
};

class PlainDocument {
 public:
  static constexpr std::size_t kMostValues = 4'000'000;  // about 500 bytes each with what is around them

  // nullptr: there are too many.
  PlainValue* make(PlainValue::Type type);

 private:
  std::deque<PlainValue> values_;
};

// What was read of a text, whole or as far as it goes.
struct PlainReading {
  const PlainValue* value = nullptr;  // nullptr: nothing
  std::string problem;                // why no more was read; "" = it is whole
  std::uint64_t read_bytes = 0;
};

}  // namespace hostprobe::analysis
