// member.cpp: see member.h.
#include "member.h"

#include <fmt/format.h>

namespace hostprobe::analysis {

const JsonValue& member(const JsonValue& of, std::string_view path) {
  static const JsonValue kNull;
  const JsonValue* value = &of;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    value = value->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value == nullptr ? kNull : *value;
}

std::optional<double> number_of(const JsonValue& value) {
  const JsonValue::Content& content = value.content();
  if (const auto* real = std::get_if<double>(&content)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&content)) return static_cast<double>(*whole);
  if (const auto* count = std::get_if<std::uint64_t>(&content)) return static_cast<double>(*count);
  return std::nullopt;
}

std::string text_of(const JsonValue& value) {
  const auto* text = std::get_if<std::string>(&value.content());
  return text == nullptr ? std::string() : *text;
}

const JsonValue::Object& members_of(const JsonValue& value) {
  static const JsonValue::Object kNone;
  const auto* object = std::get_if<JsonValue::Object>(&value.content());
  return object == nullptr ? kNone : *object;
}

std::optional<double> number_in(const JsonValue& of, std::string_view path) { return number_of(member(of, path)); }

std::string text_in(const JsonValue& of, std::string_view path) { return text_of(member(of, path)); }

const JsonValue::Array& list_in(const JsonValue& of, std::string_view path) {
  static const JsonValue::Array kNone;
  const auto* list = std::get_if<JsonValue::Array>(&member(of, path).content());
  return list == nullptr ? kNone : *list;
}

bool flag_in(const JsonValue& of, std::string_view path) {
  const auto* flag = std::get_if<bool>(&member(of, path).content());
  return flag != nullptr && *flag;
}

std::string who_in(const JsonValue& of) {
  if (const auto rank = number_in(of, "rank")) return fmt::format("rank {:.0f}", *rank);
  if (const auto pid = number_in(of, "pid")) return fmt::format("process {:.0f}", *pid);
  return "the job";
}

const JsonValue* process_in(const JsonValue& document, const JsonValue& of) {
  const auto rank = number_in(of, "rank");
  const auto pid = number_in(of, "pid");
  if (!rank && !pid) return nullptr;
  for (const JsonValue& process : list_in(document, "processes"))
    if (pid ? number_in(process, "pid") == pid : number_in(process, "rank") == rank) return &process;
  return nullptr;
}

}  // namespace hostprobe::analysis
