// json_value.h: a JSON document while it is made, as a tree of values; json_text.h makes text of it.
//
// Room 3. Std alone, and nothing but declarations: every part of a report includes it, so it has to compile fast. The members of
// an object keep the order in which they were added, because people read these documents too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hostprobe::analysis {

struct JsonMember;

class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;  // no name twice
  using Content = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>;

  JsonValue(std::nullptr_t = nullptr);
  JsonValue(bool flag);
  JsonValue(int number);
  JsonValue(unsigned number);
  JsonValue(long number);
  JsonValue(unsigned long number);
  JsonValue(long long number);
  JsonValue(unsigned long long number);
  JsonValue(double number);  // null when it is infinite or none: JSON has no word for these
  JsonValue(const char* text);
  JsonValue(std::string_view text);
  JsonValue(std::string text);
  JsonValue(std::initializer_list<JsonMember> members);  // {{"name", value}, …}
  template <typename T>
  JsonValue(const std::vector<T>& list) : JsonValue(array()) {
    for (const T& one : list) push_back(one);
  }
  template <typename T>
  JsonValue(const std::map<std::string, T>& members) : JsonValue(object()) {
    for (const auto& [name, value] : members) (*this)[name] = value;
  }
  JsonValue(const JsonValue&);
  JsonValue(JsonValue&&) noexcept;
  JsonValue& operator=(const JsonValue&);
  JsonValue& operator=(JsonValue&&) noexcept;
  ~JsonValue();

  static JsonValue array();
  static JsonValue object();

  // A null value becomes an object with its first member, and an array with its first element.
  JsonValue& operator[](std::string_view name);
  void push_back(JsonValue value);

  JsonValue& operator[](std::size_t index) { return std::get<Array>(content_).at(index); }
  JsonValue& back() { return std::get<Array>(content_).back(); }

  const Content& content() const { return content_; }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(content_); }
  std::size_t size() const;                            // of an array or object, else 0
  const Array& elements() const;                       // throws std::bad_variant_access: it is no array
  const JsonValue* find(std::string_view name) const;  // null: no such member, or no object
  const JsonValue& at(std::string_view name) const;    // throws std::out_of_range
  const JsonValue& at(std::size_t index) const { return elements().at(index); }

  // A number of any kind as the one that is asked for; throws std::bad_variant_access: it is none.
  double real() const;
  std::int64_t whole() const;
  std::uint64_t count() const;
  bool flag() const { return std::get<bool>(content_); }

 private:
  Content content_;
};

// Mutable, because values are moved out of a list in braces, whose elements are constant.
struct JsonMember {
  JsonMember(std::string_view member, JsonValue one) : name(member), value(std::move(one)) {}

  std::string_view name;
  mutable JsonValue value;
};

}  // namespace hostprobe::analysis
