// words.cpp: see words.h.
#include "words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hostprobe::analysis {
namespace {

// The UTF-8 character at the front of `text`; no bytes when it is broken, or longer than it need be.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

Character first_character(std::string_view text) {
  static constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80         ? 1
                            : (first >> 5) == 6  ? 2
                            : (first >> 4) == 14 ? 3
                            : (first >> 3) == 30 ? 4
                                                 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = bytes == 1 ? first : first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next >> 6) != 2) return {};
    code = code << 6 | (next & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[bytes] || code > 0x10ffff || surrogate ? Character{} : Character{bytes, code};
}

// Control characters of both sets, and those that make text run the other way.
bool steers(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

template <typename Replace>
std::string cleaned(std::string_view text, std::string_view allowed, Replace replace) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    const bool bad =
        character.bytes == 0 || (steers(character.code) && allowed.find(text.front()) == std::string_view::npos);
    result += bad ? replace(character) : std::string(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return result;
}

constexpr std::size_t kLeastName = 6;  // of a function, or it says nothing

// Cutting between bytes of one character is avoided by walking over continuation bytes.
std::size_t byte_of(const std::string& text, std::size_t column) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) >> 6) != 2 && seen++ == column) break;
  return at;
}

std::string begin_of(const std::string& text, std::size_t width) {
  return columns(text) <= width ? text : text.substr(0, byte_of(text, width - 1)) + "…";
}

std::string end_of(const std::string& text, std::size_t width) {
  return columns(text) <= width ? text : "…" + text.substr(byte_of(text, columns(text) - width + 1));
}

std::string question_mark(const Character&) { return "?"; }

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, "", question_mark); }

std::string for_terminal(std::string_view text) { return cleaned(text, "\n\t", question_mark); }

std::string json_for_terminal(std::string_view json) {
  return cleaned(json, "\n\t", [](const Character& character) {
    return character.bytes == 0 ? std::string("\\ufffd") : fmt::format("\\u{:04x}", character.code);
  });
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) >> 6) != 2 ? 1 : 0;
  return count;
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::string whole = printable(text);
  if (columns(whole) <= width || width < 3) return whole;
  const std::size_t front = (width - 1) / 2;
  const std::size_t back = width - 1 - front;
  return whole.substr(0, byte_of(whole, front)) + "…" + whole.substr(byte_of(whole, columns(whole) - back));
}

// Without what every compiler writes of a file's own functions.
static std::string without_anonymous(std::string text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = text.find(kAnonymous)) != std::string::npos;) text.erase(at, kAnonymous.size());
  return text;
}

std::string shortened_place(std::string_view text, std::size_t width) {
  const std::string whole = without_anonymous(printable(text));
  if (columns(whole) <= width || width < 3) return whole;
  const std::size_t open = whole.ends_with(')') ? whole.rfind(" (") : std::string::npos;
  if (open == std::string::npos)
    return whole.find('/') == std::string::npos ? begin_of(whole, width) : end_of(whole, width);
  const std::string function = whole.substr(0, open);
  const std::string file = whole.substr(open + 2, whole.size() - open - 3);
  const std::string name = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t left = width - std::min(width, columns(name) + 3);
  return left < std::min(kLeastName, columns(function)) ? end_of(name, width)
                                                        : begin_of(function, left) + " (" + name + ")";
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

std::string real_text(double value) { return std::isfinite(value) ? fmt::to_string(value) : "null"; }

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace hostprobe::analysis
