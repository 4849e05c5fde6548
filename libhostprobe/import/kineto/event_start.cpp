// event_start.cpp: see event_start.h.
#include "event_start.h"

#include <algorithm>
#include <iterator>

#include "import/input/characters.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostKeyBytes = 32;

// Of the trace event format; what PyTorch's and other profilers write in front of the list, and behind it.
constexpr std::string_view kEventKeys[] = {"ph", "cat", "name", "pid", "tid",  "ts",    "dur",    "args",
                                           "id", "s",   "bp",   "tts", "tdur", "cname", "bind_id"};
constexpr std::string_view kRootKeys[] = {"traceEvents",         "schemaVersion",       "deviceProperties",
                                          "distributedInfo",     "baseTimeNanoseconds", "traceName",
                                          "host_name",           "displayTimeUnit",     "trace_id",
                                          "cupti_version",       "with_flops",          "record_shapes",
                                          "with_stack",          "profile_memory",      "with_modules",
                                          "otherData",           "systemTraceEvents",   "cuda_runtime_version",
                                          "cuda_driver_version", "stackFrames"};

template <std::size_t kCount>
bool is_one_of(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

struct FoundKey {
  std::string_view name;  // "" = there is none
  bool needs_more = false;
};

// A name in quotes with a colon behind it.
FoundKey key_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {{}, true};
  if (text[at] != '"') return {};
  const std::size_t end = text.find('"', at + 1);
  if (end == std::string_view::npos) return {{}, text.size() - at <= kMostKeyBytes};
  if (end - at > kMostKeyBytes) return {};
  const std::size_t colon = behind_blanks(text, end + 1);
  if (colon >= text.size()) return {{}, true};
  return {text[colon] == ':' ? text.substr(at + 1, end - at - 1) : std::string_view(), false};
}

StartKind object_at(std::string_view text, std::size_t at) {
  const FoundKey key = key_at(text, behind_blanks(text, at + 1));
  if (key.needs_more) return StartKind::kNeedsMore;
  if (is_one_of(kRootKeys, key.name)) return StartKind::kDocument;
  return is_one_of(kEventKeys, key.name) ? StartKind::kEvent : StartKind::kNone;
}

StartKind root_key_at(std::string_view text, std::size_t at) {
  const FoundKey key = key_at(text, at);
  if (key.needs_more) return StartKind::kNeedsMore;
  return is_one_of(kRootKeys, key.name) ? StartKind::kRootKey : StartKind::kNone;
}

StartKind list_end_at(std::string_view text, std::size_t at) {
  const std::size_t next = behind_blanks(text, at + 1);
  if (next >= text.size()) return StartKind::kNeedsMore;
  if (text[next] == ',') {
    const StartKind key = root_key_at(text, behind_blanks(text, next + 1));
    return key == StartKind::kRootKey ? StartKind::kListEnd : key;
  }
  if (text[next] != '}') return StartKind::kNone;
  const std::size_t behind = behind_blanks(text, next + 1);
  if (behind >= text.size()) return StartKind::kNeedsMore;
  return text[behind] == '{' ? StartKind::kListEnd : StartKind::kNone;
}

// An end is what it may be: there is nothing behind it.
StartKind at_end_of_text(std::string_view text, std::size_t at) {
  return text[at] == ']' ? StartKind::kListEnd : StartKind::kNone;
}

}  // namespace

StartKind start_at(std::string_view text, std::size_t at, bool is_all) {
  StartKind kind = StartKind::kNone;
  if (text[at] == '{') kind = object_at(text, at);
  if (text[at] == ']') kind = list_end_at(text, at);
  if (text[at] == '"') kind = root_key_at(text, at);
  return kind == StartKind::kNeedsMore && is_all ? at_end_of_text(text, at) : kind;
}

FoundStart next_start(std::string_view text, std::size_t from, bool is_all, bool with_root_keys) {
  char before = '\0';
  for (std::size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    const bool may_be = (c == '{' && before != ':') || c == ']' || (c == '"' && with_root_keys);
    const StartKind kind = may_be ? start_at(text, at, is_all) : StartKind::kNone;
    if (kind != StartKind::kNone) return {kind, at};
    if (!is_blank(c)) before = c;
  }
  return {StartKind::kNone, text.size()};
}

}  // namespace hostprobe::analysis
