// kernel_line.cpp: see kernel_line.h.
#include "kernel_line.h"

#include <algorithm>
#include <charconv>

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kMostCpu = 1u << 16;
constexpr std::uint64_t kMostSeconds = std::uint64_t{1} << 33;  // as nanoseconds in 63 bits
constexpr std::size_t kMostFlags = 12;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view without_end_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// What is behind the point, as nanoseconds: three to nine digits.
std::optional<std::uint64_t> take_fraction(std::string_view& text) {
  std::uint64_t value = 0;
  int digits = 0;
  while (!text.empty() && is_digit(text.front())) {
    if (digits < 9) value = 10 * value + static_cast<std::uint64_t>(text.front() - '0');
    digits += digits < 9 ? 1 : 0;
    text.remove_prefix(1);
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 9; ++digits) value *= 10;
  return value;
}

// "12345.678901:", "6017587512804:" or "15us+:"; `text` is what stands behind the colon.
bool take_time(std::string_view& text, KernelLine& line) {
  auto number = take_number(text);
  if (!number) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const auto fraction = take_fraction(text);
    if (!fraction || *number >= kMostSeconds) return false;
    line.time_form = LineTime::kSeconds;
    line.time = *number * 1'000'000'000 + *fraction;
  } else if (text.starts_with("us")) {
    text.remove_prefix(2);
    if (*number >= kMostSeconds * 1'000'000) return false;
    while (!text.empty() && (text.front() == '!' || text.front() == '+' || text.front() == '#' || text.front() == '*' ||
                             text.front() == '@' || text.front() == '$' || is_blank(text.front())))
      text.remove_prefix(1);
    line.time_form = LineTime::kRelative;
    line.time = *number * 1000;
  } else {
    line.time_form = LineTime::kTicks;
    line.time = *number;
  }
  if (!text.starts_with(':')) return false;
  text.remove_prefix(1);
  return true;
}

// Behind the CPU: flags or none, then the time.
bool take_flags_and_time(std::string_view& text, KernelLine& line) {
  std::string_view rest = without_blanks(text);
  std::string_view with_flags = rest;
  if (take_time(rest, line)) {
    text = rest;
    return true;
  }
  const std::size_t flags = std::min(with_flags.find_first_of(" \t"), with_flags.size());
  if (flags == 0 || flags > kMostFlags) return false;
  rest = without_blanks(with_flags.substr(flags));
  if (!take_time(rest, line)) return false;
  line.flags = with_flags.substr(0, flags);
  text = rest;
  return true;
}

// "(  123)" or "(-------)" at its end, cut off.
bool take_tgid(std::string_view& text, KernelLine& line) {
  if (!text.ends_with(')')) return true;
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos) return true;
  std::string_view inside = trimmed(text.substr(open + 1, text.size() - open - 2));
  if (inside.find_first_not_of('-') != std::string_view::npos || inside.empty()) {
    const auto number = take_number(inside, kMostTid);
    if (!number || !inside.empty()) return true;  // a part of the name
    line.tgid = static_cast<std::uint32_t>(*number);
  }
  text = without_end_blanks(text.substr(0, open));
  return true;
}

// trace-cmd puts the instance's name before a name of a task: "foo:          bash". That is longer than a task's can be.
std::string_view without_instance(std::string_view name) {
  constexpr std::size_t kMostName = 15;
  if (name.size() <= kMostName) return name;
  const std::size_t colon = name.find(": ");
  return colon == std::string_view::npos ? name : without_blanks(name.substr(colon + 1));
}

// "comm-tid", "comm  tid" or "comm  tgid/tid".
bool take_task(std::string_view text, KernelLine& line) {
  text = without_blanks(without_end_blanks(text));
  take_tgid(text, line);
  std::size_t digits = text.size();
  while (digits > 0 && is_digit(text[digits - 1])) --digits;
  std::string_view number = text.substr(digits);
  const auto tid = take_number(number, kMostTid);
  if (!tid || digits == 0) return false;
  line.tid = static_cast<std::uint32_t>(*tid);
  if (text[digits - 1] == '/') {
    std::size_t before = digits - 1;
    while (before > 0 && is_digit(text[before - 1])) --before;
    std::string_view process = text.substr(before, digits - 1 - before);
    if (const auto tgid = take_number(process, kMostTid)) {
      line.tgid = static_cast<std::uint32_t>(*tgid);
      digits = before;
    }
  }
  if (digits == 0 || (text[digits - 1] != '-' && !is_blank(text[digits - 1]))) return false;
  line.comm = without_instance(without_end_blanks(text.substr(0, digits - 1)));
  return true;
}

// "sched_switch: …", or "sched:sched_switch: …", as perf says it.
bool take_event(std::string_view text, KernelLine& line) {
  text = without_blanks(text);
  const std::size_t end = text.find(':');
  if (end == std::string_view::npos || end == 0) return false;
  std::string_view name = text.substr(0, end);
  std::string_view rest = text.substr(end + 1);
  if (!rest.empty() && !is_blank(rest.front())) {
    const std::size_t second = rest.find(':');
    if (second != std::string_view::npos && second > 0 && rest.find_first_of(" \t") > second) {
      name = rest.substr(0, second);
      rest = rest.substr(second + 1);
    }
  }
  if (name.find_first_of(" \t=()") != std::string_view::npos) return false;
  line.event = name;
  line.text = without_blanks(rest);
  return true;
}

// The latency format: "comm-tid  0d..2.  15us : event", the CPU before the flags, without brackets.
std::optional<KernelLine> parse_latency(std::string_view text) {
  const std::size_t us = text.find("us");
  for (std::size_t at = us; at != std::string_view::npos; at = text.find("us", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    if (begin == at || begin == 0 || !is_blank(text[begin - 1])) continue;
    KernelLine line;
    std::string_view rest = text.substr(begin);
    if (!take_time(rest, line) || line.time_form != LineTime::kRelative) continue;
    std::string_view before = without_end_blanks(text.substr(0, begin));
    const std::size_t flags = before.find_last_of(" \t");
    if (flags == std::string_view::npos) continue;
    std::string_view cpu = before.substr(flags + 1);
    const auto number = take_number(cpu, kMostCpu);
    if (!number || !take_task(before.substr(0, flags), line) || !take_event(rest, line)) continue;
    line.cpu = static_cast<std::uint32_t>(*number);
    return line;
  }
  return std::nullopt;
}

}  // namespace

std::string_view trimmed(std::string_view text) { return without_blanks(without_end_blanks(text)); }

std::optional<std::uint64_t> take_number(std::string_view& text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > most) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<KernelLine> parse_kernel_line(std::string_view text) {
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    KernelLine line;
    std::string_view rest = text.substr(at + 1);
    const auto cpu = take_number(rest, kMostCpu);
    if (!cpu || !rest.starts_with(']')) continue;
    rest.remove_prefix(1);
    line.cpu = static_cast<std::uint32_t>(*cpu);
    if (take_flags_and_time(rest, line) && take_task(text.substr(0, at), line) && take_event(rest, line)) return line;
  }
  return parse_latency(text);
}

std::optional<LostLine> parse_lost_line(std::string_view line) {
  const std::size_t begin = line.find("CPU:");  // behind the name of an instance, perhaps
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin);
  line.remove_prefix(4);
  const auto cpu = take_number(line, kMostCpu);
  line = without_blanks(line);
  if (!cpu || !line.starts_with('[') || line.find("EVENTS") == std::string_view::npos) return std::nullopt;
  LostLine lost{static_cast<std::uint32_t>(*cpu), 0};
  const std::size_t digit = line.find_first_of("0123456789");
  if (digit == std::string_view::npos) return lost;
  line.remove_prefix(digit);
  lost.count = take_number(line, std::uint64_t{1} << 48).value_or(0);
  return lost;
}

bool is_kernel_heading(std::string_view line) {
  const bool is_indented = !line.empty() && is_blank(line.front());
  line = without_blanks(line);
  if (line.empty() || line.front() == '#') return true;
  for (const char* begin : {"cpus=", "version = ", "CPU ", "latency", "-----", "=>", "|", "<!DOCTYPE", "<html", "</"})
    if (line.starts_with(begin)) return true;
  // A stack: addresses, each in a line of its own.
  const std::size_t word = std::min(line.find_first_of(" \t"), line.size());
  return is_indented && word >= 6 &&
         line.substr(0, word).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace hostprobe::analysis
