// lenient_text.cpp: see lenient_text.h.
#include "lenient_text.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "import/input/characters.h"
#include "import/input/text_encoding.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostNameBytes = 1024;
constexpr std::string_view kStructure = "{}[],:\"";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

std::size_t behind_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

bool is_json_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = behind_digits(text, at);
  if (whole == at || (text[at] == '0' && whole > at + 1)) return false;
  at = whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = behind_digits(text, at + 1);
    if (fraction == at + 1) return false;
    at = fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    at += at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 2 : 1;
    const std::size_t exponent = behind_digits(text, at);
    if (exponent == at) return false;
    at = exponent;
  }
  return at == text.size();
}

// As the parser of whole profiles takes them.
bool is_json_word(std::string_view text) {
  const std::string_view plain = text.starts_with('-') ? text.substr(1) : text;
  return is_constant(text) || plain == "NaN" || plain == "Inf" || plain == "Infinity";
}

std::optional<char32_t> hex_digits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  char32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    const char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (lower < 'a' || lower > 'f')) return std::nullopt;
    value = value << 4 | static_cast<char32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

}  // namespace

bool is_constant(std::string_view word) {
  static constexpr std::string_view kConstants[] = {"true", "null", "false"};
  return std::find(std::begin(kConstants), std::end(kConstants), word) != std::end(kConstants);
}

char LenientText::peek() {
  at_ = behind_blanks(text_, at_);
  if (at_ == text_.size()) fail(TextFlaw::kNeedsMore);
  return at_ < text_.size() ? text_[at_] : '\0';
}

void LenientText::mend(TextMend kind, std::size_t at) {
  MendCount& own = mends_[static_cast<std::size_t>(kind)];
  if (own.count++ == 0) own.first = at;
}

// A quote, a name, a quote and a colon.
LenientText::Answer LenientText::is_key_at(std::size_t quote) const {
  for (std::size_t at = quote + 1; at - quote < kMostNameBytes; ++at) {
    if (at >= text_.size()) return is_all_ ? Answer::kNo : Answer::kNeedsMore;
    if (text_[at] == '\\')
      ++at;
    else if (text_[at] == '"') {
      const std::size_t behind = behind_blanks(text_, at + 1);
      if (behind == text_.size()) return is_all_ ? Answer::kNo : Answer::kNeedsMore;
      return text_[behind] == ':' && at > quote + 1 ? Answer::kYes : Answer::kNo;
    }
  }
  return Answer::kNo;
}

// Behind a bracket that closes there is another one, a comma, an event, the end, or a hole.
LenientText::Answer LenientText::closes_at(std::size_t bracket) const {
  const std::size_t behind = behind_blanks(text_, bracket + 1);
  if (behind == text_.size()) return is_all_ ? Answer::kYes : Answer::kNeedsMore;
  const char next = text_[behind];
  if (next == '}' || next == ',' || next == ']' || is_control(next)) return Answer::kYes;
  if (next != '{') return Answer::kNo;
  const std::size_t key = behind_blanks(text_, behind + 1);
  if (key == text_.size()) return is_all_ ? Answer::kYes : Answer::kNeedsMore;
  return text_[key] == '"' ? is_key_at(key) : Answer::kNo;
}

// Old writers put no backslash before quotes in names: the last quote is the one behind which JSON goes on.
LenientText::Answer LenientText::ends_at(std::size_t quote, StringPlace place) const {
  const std::size_t behind = behind_blanks(text_, quote + 1);
  if (behind == text_.size()) return is_all_ ? Answer::kYes : Answer::kNeedsMore;
  const char next = text_[behind];
  if (place == StringPlace::kKey) return next == ':' ? Answer::kYes : Answer::kNo;
  const bool in_array = place == StringPlace::kInArray;
  if (next == '}' && place == StringPlace::kInDocument) return Answer::kYes;
  if (next == (in_array ? ']' : '}')) return closes_at(behind);
  if (in_array && next == ':') return Answer::kYes;  // it is a key: its array has no end, which others see
  if (next != ',') return Answer::kNo;
  const std::size_t then = behind_blanks(text_, behind + 1);
  if (then == text_.size()) return is_all_ ? Answer::kYes : Answer::kNeedsMore;
  if (in_array) return text_[then] == '}' || text_[then] == ':' || text_[then] == ',' ? Answer::kNo : Answer::kYes;
  return text_[then] == '"' ? is_key_at(then) : text_[then] == '}' ? Answer::kYes : Answer::kNo;
}

std::string_view LenientText::string(StringPlace place) {
  const std::size_t begin = at_ + 1;
  bool is_plain = true;
  for (std::size_t at = begin; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '\\') {
      is_plain = false;
      ++at;
    } else if (is_control(c)) {
      is_plain = false;
    } else if (c == '"') {
      const Answer ends = ends_at(at, place);
      const Answer opens = ends == Answer::kNo ? is_key_at(at) : Answer::kNo;
      if (ends == Answer::kNeedsMore || opens == Answer::kNeedsMore) break;
      if (opens == Answer::kYes) return fail(TextFlaw::kOpenString), std::string_view();
      if (ends == Answer::kYes) {
        at_ = at + 1;
        const std::string_view raw = text_.substr(begin, at - begin);
        return is_plain ? raw : decoded(raw, begin);
      }
      is_plain = false;
    }
  }
  fail(TextFlaw::kNeedsMore);
  return {};
}

// Each kind once for a string.
std::string_view LenientText::decoded(std::string_view raw, std::size_t begin) {
  decoded_.clear();
  bool has_control = false, has_quote = false;
  for (std::size_t at = 0; at < raw.size();) {
    if (raw[at] == '\\') {
      const std::size_t behind = decode_escape(raw, at, begin);
      if (behind == at) mend(TextMend::kEscapes, begin + at);
      if (behind == at) decoded_ += raw[at];
      at = std::max(behind, at + 1);
      continue;
    }
    if (is_control(raw[at]) && !has_control) mend(TextMend::kControlBytes, begin + at);
    if (raw[at] == '"' && !has_quote) mend(TextMend::kQuotes, begin + at);
    has_control = has_control || is_control(raw[at]);
    has_quote = has_quote || raw[at] == '"';
    decoded_ += raw[at++];
  }
  return decoded_;
}

// Behind it; `at`: there is none, and the backslash is what it is.
std::size_t LenientText::decode_escape(std::string_view raw, std::size_t at, std::size_t begin) {
  static constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  if (at + 1 >= raw.size()) return at;
  if (const std::size_t found = kNames.find(raw[at + 1]); found != std::string_view::npos) {
    decoded_ += kValues[found];
    return at + 2;
  }
  const auto first = raw[at + 1] == 'u' ? hex_digits(raw.substr(at + 2)) : std::nullopt;
  if (!first) return at;
  const bool is_high = *first >= 0xd800 && *first < 0xdc00, is_low = *first >= 0xdc00 && *first < 0xe000;
  const std::string_view rest = raw.substr(at + 6);
  const auto second = is_high && rest.starts_with("\\u") ? hex_digits(rest.substr(2)) : std::nullopt;
  if (second && *second >= 0xdc00 && *second < 0xe000) {
    append_utf8(0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00), decoded_);
    return at + 12;
  }
  if (is_high || is_low) mend(TextMend::kEscapes, begin + at);
  append_utf8(*first, decoded_);
  return at + 6;
}

std::string_view LenientText::word() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && !is_blank(text_[at_]) && kStructure.find(text_[at_]) == std::string_view::npos) ++at_;
  if (at_ == text_.size() && !is_all_) fail(TextFlaw::kNeedsMore);
  if (at_ == begin) fail(TextFlaw::kNoJson);
  if (flaw_ != TextFlaw::kNone) return {};
  const std::string_view found = text_.substr(begin, at_ - begin);
  if (!is_json_number(found) && !is_json_word(found)) mend(TextMend::kWords, begin);
  return found;
}

}  // namespace hostprobe::analysis
