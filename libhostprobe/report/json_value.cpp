// json_value.cpp: see json_value.h.
#include "json_value.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace hostprobe::analysis {
namespace {

template <typename Number>
Number number_of(const JsonValue::Content& content) {
  return std::visit(
      [](const auto& one) -> Number {
        using One = std::decay_t<decltype(one)>;
        if constexpr (std::is_arithmetic_v<One> && !std::is_same_v<One, bool>) return static_cast<Number>(one);
        throw std::bad_variant_access();
      },
      content);
}

template <typename Object>
auto place_of(Object& object, std::string_view name) {
  return std::find_if(object.begin(), object.end(), [name](const auto& member) { return member.first == name; });
}

}  // namespace

JsonValue::JsonValue(std::nullptr_t) {}
JsonValue::JsonValue(bool flag) : content_(flag) {}
JsonValue::JsonValue(int number) : content_(std::int64_t{number}) {}
JsonValue::JsonValue(unsigned number) : content_(std::uint64_t{number}) {}
JsonValue::JsonValue(long number) : content_(std::int64_t{number}) {}
JsonValue::JsonValue(unsigned long number) : content_(std::uint64_t{number}) {}
JsonValue::JsonValue(long long number) : content_(std::int64_t{number}) {}
JsonValue::JsonValue(unsigned long long number) : content_(std::uint64_t{number}) {}
JsonValue::JsonValue(double number) {
  if (std::isfinite(number)) content_ = number;
}
JsonValue::JsonValue(const char* text) : content_(std::string(text)) {}
JsonValue::JsonValue(std::string_view text) : content_(std::string(text)) {}
JsonValue::JsonValue(std::string text) : content_(std::move(text)) {}
JsonValue::JsonValue(std::initializer_list<JsonMember> members) : content_(Object()) {
  std::get<Object>(content_).reserve(members.size());
  for (const JsonMember& member : members) (*this)[member.name] = std::move(member.value);
}
JsonValue::JsonValue(const JsonValue&) = default;
JsonValue::JsonValue(JsonValue&&) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue&) = default;
JsonValue& JsonValue::operator=(JsonValue&&) noexcept = default;
JsonValue::~JsonValue() = default;

JsonValue JsonValue::array() {
  JsonValue value;
  value.content_ = Array();
  return value;
}

JsonValue JsonValue::object() {
  JsonValue value;
  value.content_ = Object();
  return value;
}

JsonValue& JsonValue::operator[](std::string_view name) {
  if (is_null()) content_ = Object();
  auto& object = std::get<Object>(content_);
  const auto found = place_of(object, name);
  return found != object.end() ? found->second : object.emplace_back(name, JsonValue()).second;
}

void JsonValue::push_back(JsonValue value) {
  if (is_null()) content_ = Array();
  std::get<Array>(content_).push_back(std::move(value));
}

std::size_t JsonValue::size() const {
  if (const auto* list = std::get_if<Array>(&content_)) return list->size();
  const auto* object = std::get_if<Object>(&content_);
  return object == nullptr ? 0 : object->size();
}

const JsonValue::Array& JsonValue::elements() const { return std::get<Array>(content_); }

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto* object = std::get_if<Object>(&content_);
  if (object == nullptr) return nullptr;
  const auto found = place_of(*object, name);
  return found == object->end() ? nullptr : &found->second;
}

const JsonValue& JsonValue::at(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) throw std::out_of_range("no member " + std::string(name));
  return *found;
}

double JsonValue::real() const { return number_of<double>(content_); }
std::int64_t JsonValue::whole() const { return number_of<std::int64_t>(content_); }
std::uint64_t JsonValue::count() const { return number_of<std::uint64_t>(content_); }

}  // namespace hostprobe::analysis
