// lenient_text.h: strings and words of JSON, also where they are not quite that: raw control bytes, quotes without a backslash, escapes
// that are none, `inf`. What stands there is given as it stands; what was wrong is counted.
//
// Room 3. Where the text is only a part, the cursor says that it needs more and never guesses what follows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hostprobe::analysis {

// Why a value could not be read.
enum class TextFlaw : std::uint8_t {
  kNone,
  kNeedsMore,   // the text ends in it
  kNoJson,      // something else stands where JSON goes on
  kOpenString,  // what follows it is in it
  kTooDeep,
  kRefused,  // the listener wants no more
};

// What could be read all the same.
enum class TextMend : std::uint8_t { kControlBytes, kQuotes, kEscapes, kWords, kCount };

struct MendCount {
  std::uint64_t count = 0;
  std::size_t first = 0;  // byte of the text
};
using MendCounts = std::array<MendCount, static_cast<std::size_t>(TextMend::kCount)>;

// JSON's words that are no numbers.
bool is_constant(std::string_view word);

enum class StringPlace : std::uint8_t { kKey, kInDocument, kInObject, kInArray };

class LenientText {
 public:
  // `is_all`: nothing comes behind it.
  LenientText(std::string_view text, bool is_all) : text_(text), is_all_(is_all) {}

  // The next byte that is no blank; '\0': needs more.
  char peek();
  void take() { ++at_; }
  // The cursor stands on what they begin with, and then behind them. Empty and a flaw: it is none.
  std::string_view string(StringPlace place);
  std::string_view word();

  std::size_t at() const { return at_; }
  TextFlaw flaw() const { return flaw_; }
  const MendCounts& mends() const { return mends_; }

  bool fail(TextFlaw flaw) {
    if (flaw_ == TextFlaw::kNone) flaw_ = flaw;
    return false;
  }

 private:
  enum class Answer : std::uint8_t { kNo, kYes, kNeedsMore };

  Answer ends_at(std::size_t quote, StringPlace place) const;
  Answer is_key_at(std::size_t quote) const;
  Answer closes_at(std::size_t bracket) const;
  std::string_view decoded(std::string_view raw, std::size_t begin);
  std::size_t decode_escape(std::string_view raw, std::size_t at, std::size_t begin);
  void mend(TextMend kind, std::size_t at);

  const std::string_view text_;
  const bool is_all_;
  std::size_t at_ = 0;
  TextFlaw flaw_ = TextFlaw::kNone;
  MendCounts mends_{};
  std::string decoded_;
};

}  // namespace hostprobe::analysis
