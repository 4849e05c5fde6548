// json_text.cpp: see json_text.h.
#include "json_text.h"

#include <array>
#include <charconv>
// Only the digits of a double: documents keep those that they always had. std::to_chars has another last digit in 7 of 10 000
// numbers, RapidJSON in a quarter of them.
#include <nlohmann/detail/conversions/to_chars.hpp>

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

void add_escaped(std::string_view text, std::string& out) {
  std::array<char, 6> buffer;
  for (std::size_t at = 0; at < text.size();) {
    const CharacterBytes character = first_character_bytes(text.substr(at));
    const std::string_view escape = character.is_whole ? escape_of(text[at], buffer) : kBroken;
    out += escape.empty() ? text.substr(at, character.bytes) : escape;
    at += character.bytes;
  }
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void operator()(std::nullptr_t) { out_ += "null"; }
  void operator()(bool flag) { out_ += flag ? "true" : "false"; }
  void operator()(std::int64_t number) { add_whole(number); }
  void operator()(std::uint64_t number) { add_whole(number); }

  void operator()(double number) {
    char digits[64];
    out_.append(digits, nlohmann::detail::to_chars(digits, digits + sizeof(digits), number));
  }

  void operator()(const std::string& text) {
    out_ += '"';
    add_escaped(text, out_);
    out_ += '"';
  }

  void operator()(const JsonValue::Array& array) {
    add_all('[', array, ']', [this](const JsonValue& one) { std::visit(*this, one.content()); });
  }

  void operator()(const JsonValue::Object& object) {
    add_all('{', object, '}', [this](const auto& member) {
      (*this)(member.first);
      out_ += is_one_line() ? ":" : ": ";
      std::visit(*this, member.second.content());
    });
  }

  std::string take() { return std::move(out_); }

 private:
  bool is_one_line() const { return indent_ < 0; }

  template <typename Number>
  void add_whole(Number number) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
  }

  void begin_line() {
    if (is_one_line()) return;
    out_ += '\n';
    out_.append(depth_ * static_cast<std::size_t>(indent_), ' ');
  }

  template <typename All, typename AddOne>
  void add_all(char open, const All& all, char close, AddOne add_one) {
    out_ += open;
    ++depth_;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_ += ',';
      begin_line();
      add_one(all[i]);
    }
    --depth_;
    if (!all.empty()) begin_line();
    out_ += close;
  }

  const int indent_;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string json_text(const JsonValue& value, int indent) {
  Writer writer(indent);
  std::visit(writer, value.content());
  return writer.take();
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
