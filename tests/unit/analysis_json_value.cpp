// JSON values and their text, held against what another library writes: report/json_value.cpp, report/json_text.cpp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "report/json_text.h"

namespace hostprobe::analysis {
namespace {

using Truth = nlohmann::ordered_json;

std::string line(const JsonValue& value) { return json_text(value, kOneLine); }

std::string truth_text(const Truth& value, int indent) {
  return value.dump(indent, ' ', false, Truth::error_handler_t::replace);
}

TEST(JsonValue, EachKindHasItsText) {
  EXPECT_EQ(line(nullptr), "null");
  EXPECT_EQ(line({}), "null");
  EXPECT_EQ(line(true), "true");
  EXPECT_EQ(line(-7), "-7");
  EXPECT_EQ(line(7u), "7");
  EXPECT_EQ(line(std::uint8_t{200}), "200");
  EXPECT_EQ(line(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(line(std::uint64_t{1} << 63), "9223372036854775808");
  EXPECT_EQ(line(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(line("text"), R"("text")");
  EXPECT_EQ(line(std::string_view("view")), R"("view")");
  EXPECT_EQ(line(std::vector<std::string>{"a", "b"}), R"(["a","b"])");
  EXPECT_EQ(line(std::map<std::string, int>{{"b", 2}, {"a", 1}}), R"({"a":1,"b":2})");
  EXPECT_EQ(line({{"z", 1}, {"a", {{"b", "c"}}}}), R"({"z":1,"a":{"b":"c"}})");
}

TEST(JsonValue, DoublesHaveTheShortestDigitsAndAreNeverTakenForWholeNumbers) {
  const std::pair<double, const char*> kTruth[] = {{0.1, "0.1"},
                                                   {0, "0.0"},
                                                   {-0.0, "-0.0"},
                                                   {1, "1.0"},
                                                   {1e14, "100000000000000.0"},
                                                   {1e15, "1e+15"},
                                                   {1e21, "1e+21"},
                                                   {1e-4, "0.0001"},
                                                   {1e-5, "1e-05"},
                                                   {1e-7, "1e-07"},
                                                   {1.5e300, "1.5e+300"},
                                                   {5e-324, "5e-324"},
                                                   {0x1p63, "9.223372036854776e+18"}};
  for (const auto& [number, text] : kTruth) {
    EXPECT_EQ(line(number), text);
    EXPECT_EQ(line(number), truth_text(number, -1));
  }
}

TEST(JsonValue, WhatIsNoNumberIsNull) {
  EXPECT_TRUE(JsonValue(std::numeric_limits<double>::quiet_NaN()).is_null());
  EXPECT_TRUE(JsonValue(-std::numeric_limits<double>::infinity()).is_null());
  EXPECT_EQ(line({{"gain", std::nan("")}}), R"({"gain":null})");
}

TEST(JsonValue, ControlCharactersAndQuotesAreEscaped) {
  EXPECT_EQ(line("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(line("\b\t\n\f\r"), R"("\b\t\n\f\r")");
  EXPECT_EQ(line(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(line("µs …"), "\"µs …\"");
  EXPECT_EQ(line({{"a\nb", 1}}), R"({"a\nb":1})");
}

TEST(JsonValue, BrokenCharactersAreReplacedOnceEach) {
  const std::pair<std::string, std::string> kTruth[] = {{"\xff", "?"},           {"a\xc3", "a?"},
                                                        {"\xe2\x82", "?"},       {"\xe2\x82x", "?x"},
                                                        {"\xc0\x9b", "??"},      {"\xe0\x80\x80", "???"},
                                                        {"\xed\xa0\x80", "???"}, {"\xf4\x90\x80\x80", "????"},
                                                        {"\xf0\x9f\x98", "?"},   {"\xf0\x9f\x98\xc3\xa4", "?\xc3\xa4"}};
  for (const auto& [bytes, marks] : kTruth) {
    std::string text;
    for (const char one : marks) text += one == '?' ? std::string("\xef\xbf\xbd") : std::string(1, one);
    EXPECT_EQ(valid_utf8(bytes), text);
    EXPECT_EQ(json_text(bytes), '"' + text + '"');
    EXPECT_EQ(json_text(bytes), truth_text(bytes, -1));
  }
}

TEST(JsonValue, LevelsAreIndentedAndWhatIsEmptyStaysOnItsLine) {
  const JsonValue value = {{"none", JsonValue::object()},
                           {"list", std::vector<JsonValue>{JsonValue::array(), 1, JsonValue{{"a", nullptr}}}}};
  EXPECT_EQ(json_text(value, 2),
            "{\n  \"none\": {},\n  \"list\": [\n    [],\n    1,\n    {\n      \"a\": null\n    }\n  ]\n}");
  EXPECT_EQ(json_text(value, 0), "{\n\"none\": {},\n\"list\": [\n[],\n1,\n{\n\"a\": null\n}\n]\n}");
  EXPECT_EQ(json_text(JsonValue::array(), 1), "[]");
}

TEST(JsonValue, MembersKeepTheirOrderAndAreSetOnce) {
  JsonValue value;
  value["z"] = 1;
  value["a"].push_back("first");
  value["a"].push_back({{"second", 2}});
  value["z"] = 3;
  value["a"].back()["third"] = 3;
  EXPECT_EQ(line(value), R"({"z":3,"a":["first",{"second":2,"third":3}]})");
  EXPECT_EQ(value.size(), 2u);
  EXPECT_EQ(value.at("a").size(), 2u);
  EXPECT_EQ(value.at("a").at(1).at("second").whole(), 2);
  EXPECT_EQ(value.find("b"), nullptr);
  EXPECT_EQ(value.at("z").find("b"), nullptr);
  EXPECT_THROW(value.at("b"), std::out_of_range);
}

TEST(JsonValue, NumbersAreReadAsTheKindThatIsAskedFor) {
  EXPECT_EQ(JsonValue(7).real(), 7.0);
  EXPECT_EQ(JsonValue(7.9).count(), 7u);
  EXPECT_EQ(JsonValue(std::uint64_t{7}).whole(), 7);
  EXPECT_TRUE(JsonValue(true).flag());
  EXPECT_THROW(JsonValue("7").whole(), std::bad_variant_access);
  EXPECT_THROW(JsonValue(true).real(), std::bad_variant_access);
}

// A value and the same one as the other library has it.
struct Twins {
  JsonValue ours;
  Truth truth;
};

class RandomTwins {
 public:
  Twins value(int depth) {
    switch (random_() % (depth > 0 ? 8 : 6)) {
      case 0:
        return {nullptr, nullptr};
      case 1:
        return twins(random_() % 2 == 0);
      case 2:
        return twins(static_cast<std::int64_t>(random_()));
      case 3:
        return twins(std::uint64_t{random_()} >> random_() % 64);
      case 4:
        return twins(number());
      case 5:
        return twins(text());
      case 6:
        return array(depth - 1);
      default:
        return object(depth - 1);
    }
  }

 private:
  template <typename T>
  static Twins twins(const T& value) {
    return {JsonValue(value), Truth(value)};
  }

  // Any bits, a part of one as shares are, or a time.
  double number() {
    const std::uint64_t bits = random_();
    if (bits % 3 == 0) return 100.0 * static_cast<double>(random_() % 1000) / static_cast<double>(1 + random_() % 1000);
    if (bits % 3 == 1) return 1e-6 * static_cast<double>(random_() % 1'000'000'000'000);
    double any;
    std::memcpy(&any, &bits, sizeof(any));
    return any;
  }

  // Bytes of which many begin or continue characters.
  std::string text() {
    static constexpr char kBytes[] = "ab\"\\\n\x01\x7f\x80\x8f\x9f\xa0\xbf\xc2\xc3\xe0\xe2\xed\xef\xf0\xf4\xff";
    std::string text;
    for (std::uint64_t left = random_() % 12; left > 0; --left)
      text += random_() % 4 == 0 ? static_cast<char>(random_()) : kBytes[random_() % (sizeof(kBytes) - 1)];
    return text;
  }

  Twins array(int depth) {
    Twins list{JsonValue::array(), Truth::array()};
    for (std::uint64_t left = random_() % 5; left > 0; --left) {
      Twins one = value(depth);
      list.ours.push_back(std::move(one.ours));
      list.truth.push_back(std::move(one.truth));
    }
    return list;
  }

  Twins object(int depth) {
    Twins all{JsonValue::object(), Truth::object()};
    for (std::uint64_t left = random_() % 5; left > 0; --left) {
      const std::string name = text();
      Twins one = value(depth);
      all.ours[name] = std::move(one.ours);
      all.truth[name] = std::move(one.truth);
    }
    return all;
  }

  std::mt19937_64 random_{20261125};
};

TEST(JsonValue, TextOfAnyValueIsThatOfTheOtherLibrary) {
  RandomTwins random;
  for (int i = 0; i < 20'000; ++i) {
    const Twins one = random.value(4);
    for (const int indent : {kOneLine, 1, 2})
      ASSERT_EQ(json_text(one.ours, indent), truth_text(one.truth, indent)) << i;
  }
}

}  // namespace
}  // namespace hostprobe::analysis
