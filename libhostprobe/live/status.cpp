// status.cpp: see status.h.
#include "status.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "report/json_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

std::string time_text(std::uint64_t realtime_ns) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(realtime_ns / 1000000000)));
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

double own_cost_pct(const ProcessStatus& status) { return static_cast<double>(status.number("own_cost")) / 1000; }

std::string trigger_text(const ProcessStatus& status) {
  const std::uint64_t count = status.number("trigger_number");
  if (count == 0) return "no trigger so far";
  std::string reason = status.text("trigger_reason");
  std::replace(reason.begin(), reason.end(), '_', ' ');
  const std::string why = printable(status.text("trigger_text"));
  return fmt::format("last trigger {}: {}{}{} ({} so far)", time_text(status.number("trigger_ns")), reason,
                     why.empty() ? "" : ": ", why, grouped(count));
}

// "": a process of an older hostprobe.
std::string steps_text(const ProcessStatus& status) {
  const std::string from = status.text("steps_from");
  const std::uint64_t count = status.number("steps");
  if (from.empty()) return "";
  if (from == "none") return "no steps: none are marked, and none are found in what repeats\n";
  if (count == 0) return "no steps so far\n";
  const std::string whose = from == "detected" ? "as calls repeat"
                            : from == "marks"  ? "marked"
                                               : "of torch's optimizer";
  return fmt::format("steps {}, {} · median of the last {:.4g} ms\n", grouped(count), whose,
                     1e-6 * static_cast<double>(status.number("step_ns")));
}

// "": none was asked for.
std::string windows_text(const ProcessStatus& status) {
  const std::string state = status.text("window_state");
  const bool is_open = !state.empty() && state != "none";
  if (!is_open && status.number("window_ended") == 0) return "";
  std::string text = fmt::format("profile windows {}", grouped(status.number("windows")));
  if (status.number("window_ended") > 0)
    text += fmt::format(" · the last{}: {}", status.number("window_refused") != 0 ? " could not be" : "",
                        printable(status.text("window_text")));
  return text + (is_open ? fmt::format(" · one is {}\n", state) : "\n");
}

}  // namespace

std::string ProcessStatus::text(const std::string& word) const {
  const auto found = words.find(word);
  return found == words.end() ? "" : found->second;
}

std::uint64_t ProcessStatus::number(const std::string& word) const {
  const std::string digits = text(word);
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

ProcessStatus parse_status(const std::string& answer) {
  ProcessStatus status;
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, blank), rest = line.substr(std::min(blank + 1, line.size()));
    const std::size_t equals = rest.find('=');
    if (word == "set" && equals != std::string::npos) {
      status.settings.emplace_back(rest.substr(0, equals), rest.substr(equals + 1));
    } else if (!word.empty()) {
      status.words[word] = rest;
    }
  }
  return status;
}

std::string status_text(int pid, const ProcessStatus& status) {
  std::string text =
      fmt::format("process {} · mode {} · {} since {}\n", pid, printable(status.text("mode")),
                  status.number("recording") != 0 ? "recording" : "paused", time_text(status.number("since_ns")));
  text +=
      fmt::format("records {} · lost {} · threads {} · buffer {:.1f} of {:.0f} MiB · own cost {:.3g} %\n",
                  grouped(status.number("records")), grouped(status.number("lost")), status.number("threads"),
                  mib(status.number("buffer_bytes")), mib(status.number("buffer_most_bytes")), own_cost_pct(status));
  text += steps_text(status) + windows_text(status) + trigger_text(status) + "\nset";
  for (const auto& [name, value] : status.settings) text += fmt::format(" {}={}", name, value);
  return text + "\n";
}

std::string status_line(const std::string& who, const ProcessStatus& status) {
  return fmt::format("{} · mode {} · {} · records {} · lost {} · own cost {:.3g} % · steps {} · {}\n", who,
                     printable(status.text("mode")), status.number("recording") != 0 ? "recording" : "paused",
                     grouped(status.number("records")), grouped(status.number("lost")), own_cost_pct(status),
                     grouped(status.number("steps")), trigger_text(status));
}

namespace {

std::size_t past_digits(const std::string& text, std::size_t at) {
  return std::min(text.find_first_not_of("0123456789", at), text.size());
}

// By the grammar of JSON.
bool is_number(const std::string& text) {
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  std::size_t at = past_digits(text, begin);
  if (at == begin || (text[begin] == '0' && at > begin + 1)) return false;
  if (text[at] == '.') {
    const std::size_t fraction = at + 1;
    if ((at = past_digits(text, fraction)) == fraction) return false;
  }
  if (text[at] == 'e' || text[at] == 'E') {
    const std::size_t exponent = text.find_first_not_of("+-", at + 1) == at + 2 ? at + 2 : at + 1;
    if ((at = past_digits(text, exponent)) == exponent) return false;
  }
  return at == text.size();
}

template <typename Number>
std::optional<Number> read_as(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Settings come as text; those that are numbers are numbers in the document too.
JsonValue setting_json(const std::string& text) {
  if (!is_number(text)) return text;
  if (const auto number = read_as<std::uint64_t>(text)) return *number;
  if (const auto number = read_as<std::int64_t>(text)) return *number;
  const double number = std::strtod(text.c_str(), nullptr);
  return std::isfinite(number) ? JsonValue(number) : JsonValue(text);
}

JsonValue document_of(int pid, const ProcessStatus& status) {
  JsonValue json = {{"pid", pid},
                    {"mode", status.text("mode")},
                    {"recording", status.number("recording") != 0},
                    {"since", time_text(status.number("since_ns"))},
                    {"records", status.number("records")},
                    {"lost", status.number("lost")},
                    {"threads", status.number("threads")},
                    {"buffer_bytes", status.number("buffer_bytes")},
                    {"buffer_most_bytes", status.number("buffer_most_bytes")},
                    {"own_cost_pct", own_cost_pct(status)},
                    {"steps",
                     {{"source", status.text("steps_from")},
                      {"count", status.number("steps")},
                      {"median_ms", 1e-6 * static_cast<double>(status.number("step_ns"))}}},
                    {"triggers", status.number("trigger_number")},
                    {"last_trigger", nullptr},
                    {"settings", JsonValue::object()}};
  if (status.number("trigger_number") != 0) {
    json["last_trigger"] = {{"at", time_text(status.number("trigger_ns"))},
                            {"reason", status.text("trigger_reason")},
                            {"text", status.text("trigger_text")}};
  }
  if (!status.text("window_state").empty()) {
    json["profile_windows"] = {{"count", status.number("windows")},
                               {"state", status.text("window_state")},
                               {"last_refused", status.number("window_refused") != 0},
                               {"last", status.text("window_text")}};
  }
  for (const auto& [name, value] : status.settings) json["settings"][name] = setting_json(value);
  return json;
}

void add_place(const RunProcess& process, JsonValue& json) {
  json["rank"] = process.rank ? JsonValue(*process.rank) : nullptr;
  json["job"] = process.job.empty() ? nullptr : JsonValue(process.job);
  json["worker"] = process.is_worker;
  json["host"] = process.host.empty() ? nullptr : JsonValue(process.host);
  json["trace"] = process.trace.empty() ? nullptr : JsonValue(process.trace);
}

std::string text_of(const JsonValue& json) { return json_text(json, 2) + "\n"; }

}  // namespace

std::string status_json(int pid, const ProcessStatus& status) { return text_of(document_of(pid, status)); }

std::string status_json(const RunProcess& process, const ProcessStatus& status) {
  JsonValue json = document_of(process.pid, status);
  add_place(process, json);
  return text_of(json);
}

std::string statuses_json(const std::vector<ControlAnswer>& answers, std::size_t left_out) {
  JsonValue processes = JsonValue::array();
  for (const ControlAnswer& answer : answers) {
    const std::string why = answer.why();
    JsonValue one = why.empty() ? document_of(answer.process.pid, parse_status(answer.text))
                                : JsonValue{{"pid", answer.process.pid}};
    add_place(answer.process, one);
    one["error"] = why.empty() ? nullptr : JsonValue(why);
    processes.push_back(std::move(one));
  }
  return text_of({{"schema", 1}, {"processes", std::move(processes)}, {"workers_not_asked", left_out}});
}

}  // namespace hostprobe::analysis
