// json_values.cpp: see json_values.h.
#include "json_values.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace hostprobe::analysis {
namespace {

using Type = PlainValue::Type;

constexpr std::size_t kMostDeep = 64;

// As RapidJSON calls a handler; false ends its reading.
class Builder {
 public:
  explicit Builder(PlainDocument& document) : document_(document) {}

  bool Null() { return make(Type::kNothing) != nullptr; }
  bool Bool(bool flag) { return make_whole(Type::kFlag, flag); }
  bool Int(int number) { return make_whole(Type::kWhole, number); }
  bool Uint(unsigned number) { return make_whole(Type::kWhole, number); }
  bool Int64(std::int64_t number) { return make_whole(Type::kWhole, number); }
  bool Uint64(std::uint64_t number) {
    return number <= INT64_MAX ? make_whole(Type::kWhole, static_cast<std::int64_t>(number))
                               : Double(static_cast<double>(number));
  }
  bool Double(double number) {
    PlainValue* value = make(Type::kReal);
    if (value != nullptr) value->real = number;
    return value != nullptr;
  }
  bool RawNumber(const char*, std::size_t, bool) { return false; }
  bool String(const char* text, std::size_t bytes, bool) {
    PlainValue* value = make(Type::kText);
    if (value != nullptr) value->text.assign(text, bytes);
    return value != nullptr;
  }
  bool StartObject() { return open(Type::kMap); }
  bool StartArray() { return open(Type::kList); }
  bool Key(const char* text, std::size_t bytes, bool) {
    name_ = document_.make(Type::kText);
    if (name_ != nullptr) name_->text.assign(text, bytes);
    return name_ != nullptr;
  }
  bool EndObject(std::size_t) { return close(); }
  bool EndArray(std::size_t) { return close(); }

  const PlainValue* root() const { return root_; }

 private:
  PlainValue* make(Type type) {
    PlainValue* value = document_.make(type);
    if (value == nullptr) return nullptr;
    if (open_.empty())
      root_ = value;
    else if (open_.back()->is(Type::kList))
      open_.back()->items.push_back(value);
    else
      open_.back()->members.emplace_back(name_, value);
    return value;
  }
  bool make_whole(Type type, std::int64_t number) {
    PlainValue* value = make(type);
    if (value != nullptr) value->whole = number;
    return value != nullptr;
  }
  bool open(Type type) {
    PlainValue* value = open_.size() < kMostDeep ? make(type) : nullptr;
    if (value != nullptr) open_.push_back(value);
    return value != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  PlainDocument& document_;
  const PlainValue* root_ = nullptr;
  PlainValue* name_ = nullptr;
  std::vector<PlainValue*> open_;
};

}  // namespace

PlainReading read_json_values(std::string_view text, PlainDocument& document) {
  constexpr unsigned kFlags =
      rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag;
  Builder builder(document);
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  PlainReading reading{builder.root(), "", static_cast<std::uint64_t>(stream.Tell())};
  if (!result)
    reading.problem = fmt::format("byte {}: {}", result.Offset(),
                                  result.Code() == rapidjson::kParseErrorTermination
                                      ? "it is deeper, or holds more values, than is read"
                                      : rapidjson::GetParseError_En(result.Code()));
  return reading;
}

}  // namespace hostprobe::analysis
