// columns.cpp: see columns.h.
#include "columns.h"

#include <algorithm>
#include <cctype>

#include "words/words.h"

namespace hostprobe::analysis {

std::string left(std::string_view text, std::size_t width) {
  std::string result = shortened_place(text, width);
  result.append(width - std::min(width, columns(result)), ' ');
  return result;
}

std::string right(std::string_view text, std::size_t width) {
  const std::size_t taken = columns(text);
  return std::string(width - std::min(width, taken), ' ') + std::string(text);
}

std::string compact(std::uint64_t number) {
  return number < 10'000'000 ? std::to_string(number) : fmt::format("{:.1f}M", 1e-6 * static_cast<double>(number));
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string ms_text(double ms) { return duration_text(ms * 1e6); }

std::string plural(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// "%" and "ms" stay behind their number.
static bool is_unit(const std::string& text, std::size_t at) {
  constexpr std::string_view kUnits[] = {"%", "ms", "µs", "ns", "s"};
  const std::string_view word = std::string_view(text).substr(at, text.find_first_of(" ,.;:)", at) - at);
  const bool is_behind_number = at >= 2 && text[at - 2] >= '0' && text[at - 2] <= '9';
  return is_behind_number && std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits);
}

namespace {

bool is_digit_at(const std::string& text, std::size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

// "015" of "15 015": the next three digits of a number that goes on.
bool is_group(const std::string& text, std::size_t at) {
  const bool goes_on = at >= 2 && is_digit_at(text, at - 2);
  return goes_on && is_digit_at(text, at) && is_digit_at(text, at + 1) && is_digit_at(text, at + 2) &&
         !is_digit_at(text, at + 3);
}

}  // namespace

// Breaks at blanks, but not before a unit nor inside a number; following lines are indented.
std::string wrapped(const std::string& text, const std::string& first, const std::string& next, std::size_t width) {
  std::string result, line = first;
  std::size_t at = 0;
  bool empty = true;
  while (at < text.size()) {
    std::size_t blank = std::min(text.find(' ', at), text.size());
    while (blank < text.size() && (is_unit(text, blank + 1) || is_group(text, blank + 1)))
      blank = std::min(text.find(' ', blank + 1), text.size());
    const std::string word = text.substr(at, blank - at);
    if (!empty && columns(line) + 1 + columns(word) > width) {
      result += line + "\n";
      line = next;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = blank + 1;
  }
  return result + line + "\n";
}

}  // namespace hostprobe::analysis
