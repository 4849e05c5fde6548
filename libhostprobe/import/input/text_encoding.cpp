// text_encoding.cpp: see text_encoding.h.
#include "text_encoding.h"

#include <cstdint>

namespace hostprobe::analysis {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf", kLittleMark = "\xff\xfe", kBigMark = "\xfe\xff";
constexpr char32_t kUnknown = 0xfffd;  // what stands for a character that is not whole

bool is_high(char32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(char32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

// Without a mark by the zeros in the first two characters, which are ASCII in every format that is read.
TextEncoding encoding_of(std::string_view begin) {
  if (begin.starts_with(kMark)) return TextEncoding::kMarkedUtf8;
  if (begin.starts_with(kLittleMark)) return TextEncoding::kLittleUtf16;
  if (begin.starts_with(kBigMark)) return TextEncoding::kBigUtf16;
  if (begin.size() < 4) return TextEncoding::kBytes;
  if (begin[0] != 0 && begin[1] == 0 && begin[2] != 0 && begin[3] == 0) return TextEncoding::kLittleUtf16;
  if (begin[0] == 0 && begin[1] != 0 && begin[2] == 0 && begin[3] != 0) return TextEncoding::kBigUtf16;
  return TextEncoding::kBytes;
}

std::size_t mark_bytes(std::string_view begin) {
  if (begin.starts_with(kMark)) return kMark.size();
  return begin.starts_with(kLittleMark) || begin.starts_with(kBigMark) ? kLittleMark.size() : 0;
}

void append_utf8(char32_t character, std::string& text) {
  const auto rest = [&](unsigned shift) { text += static_cast<char>(0x80 | (character >> shift & 0x3f)); };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0 | character >> 6);
    rest(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0 | character >> 12);
    rest(6), rest(0);
  } else {
    text += static_cast<char>(0xf0 | character >> 18);
    rest(12), rest(6), rest(0);
  }
}

void Utf16Text::add(std::string_view bytes, std::string& text) {
  for (const char one : bytes) {
    const auto byte = static_cast<unsigned char>(one);
    if (has_half_) add_unit(is_big_ ? half_ << 8 | byte : byte << 8 | half_, text);
    has_half_ = !has_half_;
    half_ = byte;
  }
}

void Utf16Text::add_unit(char32_t unit, std::string& text) {
  if (high_ != 0 && is_low(unit)) {
    append_utf8(0x10000 + ((high_ - 0xd800) << 10) + (unit - 0xdc00), text);
    high_ = 0;
    return;
  }
  if (high_ != 0) append_utf8(high_, text);
  high_ = is_high(unit) ? unit : 0;
  if (high_ == 0) append_utf8(unit, text);
}

void Utf16Text::finish(std::string& text) {
  if (high_ != 0) append_utf8(high_, text);
  if (has_half_) append_utf8(kUnknown, text);
  high_ = 0;
  has_half_ = false;
}

}  // namespace hostprobe::analysis
