// json_string.cpp: see json_string.h.
#include "json_string.h"

#include <array>

namespace hostprobe::analysis {
namespace {

constexpr std::string_view kBroken = "\xef\xbf\xbd";

// As many bytes at the front of a text as a character has, or could have had up to where it broke.
struct CharacterBytes {
  std::size_t bytes;
  bool is_whole;
};

CharacterBytes first_character_bytes(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, true};
  if (first < 0xc2 || first > 0xf4) return {1, false};
  const std::size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // Longer than need be, half of a pair, or beyond the last character: the second byte shows it.
  unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t at = 1; at < bytes; ++at) {
    if (at >= text.size() || byte(at) < least || byte(at) > most) return {at, false};
    least = 0x80;
    most = 0xbf;
  }
  return {bytes, true};
}

// "": the character stands for itself.
std::string_view escape_of(char character, std::array<char, 6>& buffer) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(character);
  if (code >= 0x20) return {};
  buffer = {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]};
  return {buffer.data(), buffer.size()};
}

}  // namespace

void add_escaped(std::string_view text, std::string& out) {
  std::array<char, 6> buffer;
  for (std::size_t at = 0; at < text.size();) {
    const CharacterBytes character = first_character_bytes(text.substr(at));
    const std::string_view escape = character.is_whole ? escape_of(text[at], buffer) : kBroken;
    out += escape.empty() ? text.substr(at, character.bytes) : escape;
    at += character.bytes;
  }
}

std::string json_text(std::string_view text) {
  std::string literal = "\"";
  add_escaped(text, literal);
  return literal += '"';
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (; !text.empty();) {
    const CharacterBytes character = first_character_bytes(text);
    valid += character.is_whole ? text.substr(0, character.bytes) : kBroken;
    text.remove_prefix(character.bytes);
  }
  return valid;
}

}  // namespace hostprobe::analysis
