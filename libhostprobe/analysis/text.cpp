// text.cpp: see text.h.
#include "text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace hostprobe::analysis {
namespace {

// Bytes of the UTF-8 character at the front of `text`; 0 when it is broken.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80         ? 1
                            : (first >> 5) == 6  ? 2
                            : (first >> 4) == 14 ? 3
                            : (first >> 3) == 30 ? 4
                                                 : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[i]) >> 6) != 2) return 0;
  }
  // 0x80 … 0x9f are control characters too, written in two bytes.
  if (bytes == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) return 0;
  return bytes;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t bytes = character_bytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (bytes == 0 || first < 0x20 || first == 0x7f) {
      result += '?';
      bytes = 1;
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return result;
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) >> 6) != 2 ? 1 : 0;
  return count;
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::string whole = printable(text);
  if (columns(whole) <= width || width < 3) return whole;
  // Cutting between bytes of one character is avoided by walking over continuation bytes.
  const auto byte_of = [&whole](std::size_t column) {
    std::size_t at = 0;
    for (std::size_t seen = 0; at < whole.size(); ++at) {
      if ((static_cast<unsigned char>(whole[at]) >> 6) != 2 && seen++ == column) break;
    }
    return at;
  };
  const std::size_t front = (width - 1) / 2;
  const std::size_t back = width - 1 - front;
  return whole.substr(0, byte_of(front)) + "…" + whole.substr(byte_of(columns(whole) - back));
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ' ';
    text += digits[i];
  }
  return text;
}

std::string duration_text(double ns) {
  if (ns < 1000) return fmt::format("{:.0f} ns", ns);
  static constexpr const char* kUnits[] = {"µs", "ms", "s"};
  double value = ns / 1000;
  std::size_t unit = 0;
  while (unit < 2 && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hostprobe::analysis
