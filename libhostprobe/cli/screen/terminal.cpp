// terminal.cpp: see terminal.h.
#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace hostprobe::cli {
namespace {

constexpr std::size_t kInFiles = 100;
constexpr std::size_t kLeast = 20, kMost = 1000;

// 0: COLUMNS is not set, or no number.
std::size_t asked_width() {
  const char* columns = std::getenv("COLUMNS");
  if (columns == nullptr) return 0;
  const std::string_view text = columns;
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  return error == std::errc() && end == text.data() + text.size() ? width : 0;
}

std::size_t terminal_width() {
  winsize size{};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::size_t text_width() {
  const std::size_t asked = asked_width(), own = asked > 0 ? asked : terminal_width();
  return own == 0 ? kInFiles : std::clamp(own, kLeast, kMost);
}

}  // namespace hostprobe::cli
