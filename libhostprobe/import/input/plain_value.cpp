// plain_value.cpp: see plain_value.h.
#include "plain_value.h"

#include <charconv>
#include <cmath>

namespace hostprobe::analysis {

const PlainValue* PlainValue::find(std::string_view name) const {
  for (auto member = members.rbegin(); member != members.rend(); ++member)
    if (member->first->is(Type::kText) && member->first->text == name) return member->second;
  return nullptr;
}

std::optional<std::int64_t> PlainValue::number() const {
  if (type == Type::kWhole || type == Type::kFlag) return whole;
  if (type == Type::kReal && std::abs(real) < 9e18) return static_cast<std::int64_t>(real);
  if (type != Type::kText) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

PlainValue* PlainDocument::make(PlainValue::Type type) {
  if (values_.size() >= kMostValues) return nullptr;
  values_.emplace_back().type = type;
  return &values_.back();
}

}  // namespace hostprobe::analysis
