// columns.h: text in columns of fixed width, and sentences broken into lines, as the text report prints them.
//
// Room 3.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hostprobe::analysis {

inline constexpr std::size_t kTextWidth = 100;

// Filled with blanks behind or before it; `left` shortens what is too long (shortened_place).
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

// "9999999", "10.0M"
std::string compact(std::uint64_t number);
std::string bytes_text(std::uint64_t bytes);
std::string ms_text(double ms);
std::string plural(std::size_t count, const char* one, const char* many);

// Breaks at blanks; following lines are indented.
std::string wrapped(const std::string& text, const std::string& first, const std::string& next,
                    std::size_t width = kTextWidth);

// Lines without blanks at their ends.
class Lines {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    text.erase(text.find_last_not_of(' ') + 1);
    out_ += text + "\n";
  }
  void add(const std::string& whole_lines) { out_ += whole_lines; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace hostprobe::analysis
