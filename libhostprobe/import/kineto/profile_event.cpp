// profile_event.cpp: see profile_event.h.
#include "profile_event.h"

#include <charconv>
#include <cmath>

namespace hostprobe::analysis {
namespace {

constexpr double kMostWhole = 9.2e18;  // what 64 bits hold

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && end == text.data() + text.size()) return whole;
  const std::optional<double> value = number(text);
  if (!value || std::abs(*value) > kMostWhole || *value != std::floor(*value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

// Today's microseconds and their fraction are more than a double holds.
std::optional<std::int64_t> nanoseconds(std::string_view microseconds) {
  const std::size_t point = std::min(microseconds.find('.'), microseconds.size());
  std::int64_t whole = 0;
  const char* const begin = microseconds.data();
  const auto [end, error] = std::from_chars(begin, begin + point, whole);
  std::string_view rest = microseconds.substr(std::min(point + 1, microseconds.size()));
  if (error != std::errc() || end != begin + point || rest.find_first_not_of("0123456789") != rest.npos) {
    const std::optional<double> value = number(microseconds);
    if (!value || std::abs(*value) > kMostWhole / 1000) return std::nullopt;
    return std::llround(*value * 1000);
  }
  if (std::abs(static_cast<double>(whole)) > kMostWhole / 1000) return std::nullopt;
  std::int64_t fraction = 0;
  for (std::size_t i = 0; i < 3; ++i) fraction = fraction * 10 + (i < rest.size() ? rest[i] - '0' : 0);
  if (rest.size() > 3 && rest[3] >= '5') ++fraction;
  return whole * 1000 + (microseconds[0] == '-' ? -fraction : fraction);
}

}  // namespace hostprobe::analysis
