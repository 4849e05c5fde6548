// text_encoding.h: how the characters of a text are written, as its first bytes show, and UTF-16 as UTF-8.
//
// Room 3. Programs of Windows write UTF-16, and marks in front of UTF-8; parsers know neither.
#pragma once

#include <string>
#include <string_view>

namespace hostprobe::analysis {

enum class TextEncoding { kBytes, kMarkedUtf8, kLittleUtf16, kBigUtf16 };

TextEncoding encoding_of(std::string_view begin);

// Bytes of the mark in front of the text.
std::size_t mark_bytes(std::string_view begin);

// UTF-16 that comes in parts of any length. What pairs with nothing is written as the three bytes that its number has.
class Utf16Text {
 public:
  explicit Utf16Text(bool is_big = false) : is_big_(is_big) {}
  // Appends to `text` what is whole by now.
  void add(std::string_view bytes, std::string& text);
  // Behind the last part.
  void finish(std::string& text);

 private:
  void add_unit(char32_t unit, std::string& text);

  bool is_big_;
  bool has_half_ = false;
  unsigned char half_ = 0;  // the first byte of two
  char32_t high_ = 0;       // the first unit of two; 0 = none
};

// One character as UTF-8; also a half of a pair.
void append_utf8(char32_t character, std::string& text);

}  // namespace hostprobe::analysis
