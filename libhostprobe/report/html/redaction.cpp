// redaction.cpp: see redaction.h.
#include "redaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "amount.h"
#include "member.h"

namespace hostprobe::analysis {
namespace {

// Keys whose texts are words of hostprobe's own, or numbers in words.
constexpr std::string_view kOwnWords[] = {"cause",
                                          "change",
                                          "role",
                                          "waker_role",
                                          "held_by",
                                          "kind",
                                          "task",
                                          "how",
                                          "signal",
                                          "source",
                                          "mode",
                                          "decision",
                                          "fix",
                                          "share_of",
                                          "started",
                                          "link",
                                          "version",
                                          "commit",
                                          "marked_by",
                                          "median_of",
                                          "purpose",
                                          "times_from",
                                          "detected_by",
                                          "reason",
                                          "op",
                                          "taken_by",
                                          "form",
                                          "word",
                                          "severity",
                                          "roles",
                                          "state",
                                          "step_time_unknown",
                                          "collective_source"};
// `type` is hostprobe's word of a step and of a link, and the program's of a thread.
constexpr std::string_view kStepTypes[] = {"train", "warm_up", "evaluation", "checkpoint", "other"};
constexpr std::string_view kLinkTypes[] = {"runs", "wakes_late", "gpu", "io", "timer", "foreign", "unexplained"};

// Sentences have names in them. They are made again where a page needs them, and are empty elsewhere.
constexpr std::string_view kSentences[] = {"text", "headline", "doing", "what", "why", "not_measured"};

// What a substitute is called, by the key under which the name was met first.
struct NameKind {
  std::string_view key, kind;
};
constexpr NameKind kNameKinds[] = {
    {"hosts", "host"},        {"host", "host"},       {"path", "path"},       {"trace", "path"},
    {"group", "group"},       {"command", "command"}, {"library", "library"}, {"file", "file"},
    {"function", "function"}, {"code", "function"},   {"python", "function"}, {"stack", "function"},
    {"frames", "function"},   {"caller", "function"}, {"text", "function"},   {"kernel", "kernel"}};

template <typename List>
bool holds(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::string_view kind_of(std::string_view key) {
  for (const NameKind& one : kNameKinds)
    if (one.key == key) return one.kind;
  return "name";
}

// `in` is the key around it. Names of rows are our own where no program is in them.
bool is_own_word(std::string_view text, std::string_view key, std::string_view in) {
  if (text.empty() || text == "unknown") return true;
  constexpr std::string_view kOwnNames[] = {"fix", "delay_chain", "launch_gaps", "progress", "collectives"};
  if (key == "name") return holds(kOwnNames, in);
  if (key == "how") return in == "end";
  return in != "left_out" && holds(kOwnWords, key);
}

// Places are texts too: of a wait's callers and of its Python frames.
bool is_sentence(std::string_view key, std::string_view in) {
  return (holds(kSentences, key) && in != "callers" && in != "python") || (key == "how" && in == "fix");
}

const char* advice_of(const std::string& fix) {
  struct Advice {
    const char* name;
    const char* words;
  };
  static constexpr Advice kEach[] = {
#define HP_FIX(Name, name, meaning, advice) {#name, advice},
#define HP_REMEDY(Name, name, advice) {#name, advice},
#include "hostprobe/fixes.def"
  };
  for (const Advice& one : kEach)
    if (fix == one.name) return one.words;
  return "";
}

class Redaction {
 public:
  explicit Redaction(const JsonValue& document) { learn_calls(document); }

  // `key` is the one under which `value` stands, of a list the one of the list; `in` the one around it.
  JsonValue of(const JsonValue& value, std::string_view key, std::string_view in) {
    if (const auto* text = std::get_if<std::string>(&value.content())) return of_text(*text, key, in);
    if (const auto* list = std::get_if<JsonValue::Array>(&value.content())) {
      JsonValue out = JsonValue::array();
      for (const JsonValue& one : *list) out.push_back(of(one, key, in));
      return out;
    }
    if (std::get_if<JsonValue::Object>(&value.content()) == nullptr) return value;
    JsonValue out = JsonValue::object();
    for (const auto& [name, one] : members_of(value)) out[name] = of(one, name, key);
    return out;
  }

 private:
  // Calls by which hostprobe counts are its own hooks' names: no secret of a program, and most of what a page says.
  void learn_calls(const JsonValue& value) {
    for (const JsonValue& process : list_in(value, "processes")) {
      for (const JsonValue& wait : list_in(process, "waits")) calls_.insert(text_in(wait, "function"));
      for (const char* path : {"launches.by_function", "syncs.by_function"})
        for (const auto& [name, count] : members_of(member(process, path))) calls_.insert(name);
    }
  }

  JsonValue of_text(const std::string& text, std::string_view key, std::string_view in) {
    if (is_own_word(text, key, in)) return text;
    if (key == "type" && (holds(kStepTypes, text) || (in == "links" && holds(kLinkTypes, text)))) return text;
    if (key == "function" && calls_.count(text) > 0) return text;
    if (is_sentence(key, in)) return "";
    return substitute(text, key == "text" ? "function" : kind_of(key));
  }

  std::string substitute(const std::string& name, std::string_view kind) {
    const auto [found, is_new] = substitutes_.emplace(name, "");
    if (is_new) found->second = fmt::format("{}-{}", kind, ++counts_[std::string(kind)]);
    return found->second;
  }

  std::set<std::string> calls_;
  std::map<std::string, std::string> substitutes_;
  std::map<std::string, std::size_t> counts_;
};

// Of what is left, which has no name of anybody's.
void add_sentences(JsonValue& document) {
  JsonValue headline = JsonValue::array();
  const auto count = list_in(document, "findings").size();
  for (std::size_t i = 0; i < count; ++i) {
    JsonValue& finding = document["findings"][i];
    std::string who = who_in(finding);
    who[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(who[0])));
    const std::string text = fmt::format("{}: {} takes {} of the {}.", who, spaced(text_in(finding, "cause")),
                                         pct_amount(number_in(finding, "share_pct")), text_in(finding, "share_of"));
    finding["text"] = text;
    if (finding.find("fix") != nullptr) finding["fix"]["how"] = advice_of(text_in(finding, "fix.name"));
    if (i < 3) headline.push_back(text);
  }
  document["headline"] = std::move(headline);
}

}  // namespace

JsonValue redacted(const JsonValue& document) {
  JsonValue out = Redaction(document).of(document, "", "");
  if (out.find("headline") != nullptr) add_sentences(out);
  out["redacted"] = true;
  return out;
}

}  // namespace hostprobe::analysis
