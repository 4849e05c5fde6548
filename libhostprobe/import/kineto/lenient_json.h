// lenient_json.h: one value of JSON, given to a listener as RapidJSON calls its handlers; strings and words as lenient_text.h reads them.
//
// Room 3. Brackets, colons and commas must be right: where they are not, it is unknown what belongs to what.
#pragma once

#include <string_view>

#include "event_builder.h"
#include "lenient_text.h"

namespace hostprobe::analysis {

template <typename Listener>
class LenientJson {
 public:
  LenientJson(LenientText& text, Listener& listener) : text_(text), listener_(listener) {}

  // The cursor stands behind the value, or, false, where its flaw shows: of a string at its begin.
  bool value(StringPlace place) {
    const char next = text_.peek();
    if (text_.flaw() != TextFlaw::kNone) return false;
    if (next == '{') return object();
    if (next == '[') return array();
    if (next == '"') {
      const std::string_view found = text_.string(place);
      return is_well(text_.flaw() == TextFlaw::kNone && listener_.String(found.data(), found.size(), false));
    }
    const std::string_view found = text_.word();
    return text_.flaw() == TextFlaw::kNone && is_well(word(found));
  }

 private:
  bool is_well(bool goes_on) { return goes_on || text_.fail(TextFlaw::kRefused); }

  bool word(std::string_view found) {
    return is_constant(found) ? listener_.Null() : listener_.RawNumber(found.data(), found.size(), false);
  }

  bool deeper() { return ++depth_ <= kMostDepth || text_.fail(TextFlaw::kTooDeep); }

  bool object() {
    if (!deeper()) return false;
    text_.take();
    if (!is_well(listener_.StartObject())) return false;
    if (text_.peek() != '}') do {
        if (!member()) return false;
      } while (goes_on('}'));
    return end() && is_well(listener_.EndObject(0));
  }

  bool array() {
    if (!deeper()) return false;
    text_.take();
    if (!is_well(listener_.StartArray())) return false;
    if (text_.peek() != ']') do {
        if (!value(StringPlace::kInArray)) return false;
      } while (goes_on(']'));
    return end() && is_well(listener_.EndArray(0));
  }

  bool member() {
    if (text_.peek() != '"') return text_.fail(TextFlaw::kNoJson);
    const std::string_view key = text_.string(StringPlace::kKey);
    if (text_.flaw() != TextFlaw::kNone || !is_well(listener_.Key(key.data(), key.size(), false))) return false;
    if (text_.peek() != ':') return text_.fail(TextFlaw::kNoJson);
    text_.take();
    return value(StringPlace::kInObject);
  }

  // Past a comma. False: at the bracket, or at what should be one.
  bool goes_on(char closing) {
    const char next = text_.peek();
    if (next == ',') text_.take();
    if (next != ',' && next != closing) text_.fail(TextFlaw::kNoJson);
    return next == ',' && text_.flaw() == TextFlaw::kNone;
  }

  bool end() {
    if (text_.flaw() != TextFlaw::kNone) return false;
    text_.take();
    --depth_;
    return true;
  }

  LenientText& text_;
  Listener& listener_;
  int depth_ = 2;  // what is read stands in a list in an object
};

template <typename Listener>
bool read_value(LenientText& text, Listener& listener, StringPlace place) {
  return LenientJson<Listener>(text, listener).value(place);
}

}  // namespace hostprobe::analysis
