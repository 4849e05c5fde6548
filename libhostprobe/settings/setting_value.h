// setting_value.h: what a value of a setting (include/hostprobe/options.def) must look like.
//
// Room pure/. The probe uses the default in place of a value that is none, the command refuses it before a job starts: with
// one parser for both, what `hostprobe run` lets through is what the probe takes. All of it is inlined, because in the probe
// it belongs to the code of the start, which lies together.
#pragma once

#include <cstddef>
#include <cstdint>

#define HP_INLINED [[gnu::always_inline]] inline constexpr

namespace hostprobe {

inline constexpr std::size_t kTextBytes = 512;

// Room for the value of a text, with its final zero. Paths and lists of programs are long; names are not, and all settings of
// the probe lie in the one page that each start writes to.
constexpr std::size_t text_bytes(const char* name) {
  const bool is_long = (name[0] == 'o' && name[1] == 'u') || (name[0] == 't' && name[1] == 'a');  // out, target
  const bool is_word = name[0] == 't' && name[1] == 'r';                                          // trigger_signal
  const bool is_rule = name[0] == 'p' && name[1] == 'r';                                          // profile
  return is_long ? kTextBytes : is_word ? 24 : is_rule ? 48 : 64;
}

// Digits alone, without a sign.
HP_INLINED bool parse_number(const char* text, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  std::uint64_t value = 0;
  if (*text == 0) return false;
  for (const char* c = text; *c != 0; ++c) {
    if (*c < '0' || *c > '9' || value > (UINT64_MAX - 9) / 10) return false;
    value = value * 10 + static_cast<std::uint64_t>(*c - '0');
  }
  if (value < least || value > most) return false;
  out = value;
  return true;
}

// In thousandths, limits too: "2.25" is 2250.
HP_INLINED bool parse_decimal(const char* text, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  std::uint64_t value = 0;
  int behind = -1;  // digits behind the point; -1: it has not come yet
  if (*text < '0' || *text > '9') return false;
  for (const char* c = text; *c != 0; ++c) {
    if (*c == '.' && behind < 0 && c[1] != 0) {
      behind = 0;
      continue;
    }
    if (*c < '0' || *c > '9' || behind == 3 || value > UINT64_MAX / 100000) return false;
    value = value * 10 + static_cast<std::uint64_t>(*c - '0');
    if (behind >= 0) ++behind;
  }
  for (int digits = behind < 0 ? 0 : behind; digits < 3; ++digits) value *= 10;
  if (value < least || value > most) return false;
  out = value;
  return true;
}

// Position of `word` in "a|b|c", or -1.
HP_INLINED int word_position(const char* words, const char* word) {
  int position = 0;
  for (const char* w = words;; ++w, ++position) {
    const char* c = word;
    while (*w == *c && *c != 0) ++w, ++c;
    if (*c == 0 && (*w == 0 || *w == '|')) return position;
    while (*w != 0 && *w != '|') ++w;
    if (*w == 0) return -1;
  }
}

}  // namespace hostprobe

#undef HP_INLINED
