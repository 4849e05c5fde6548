// output.cpp: see output.h.
#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "words/words.h"

namespace hostprobe::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSilence = std::chrono::seconds(1);
constexpr auto kEvery = std::chrono::milliseconds(200);
constexpr std::uint64_t kBarWidth = 24;

bool g_progress_shown = false;

void write_clean(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw std::system_error(errno, std::generic_category(), "cannot write to stdout");
  }
}

}  // namespace

void write_out(std::string_view text) { write_clean(analysis::for_terminal(text)); }

void write_json(std::string_view json) { write_clean(analysis::json_for_terminal(json)); }

void say(std::string_view text) { fmt::print(stderr, "hostprobe: {}\n", analysis::for_terminal(text)); }

std::function<void(std::uint64_t, std::uint64_t)> progress_on_stderr() {
  const char* terminal = std::getenv("TERM");
  const bool draws = terminal == nullptr || std::string_view(terminal) != "dumb";
  if (isatty(STDERR_FILENO) == 0 || !draws) return {};
  return [begin = Clock::now(), last = Clock::time_point()](std::uint64_t done, std::uint64_t all) mutable {
    const auto now = Clock::now();
    // The last word stays on the screen while the rest of the work is done.
    if (now - begin < kSilence || (now - last < kEvery && done < all) || all == 0) return;
    last = now;
    g_progress_shown = true;
    const std::size_t part = std::min<std::uint64_t>(kBarWidth, kBarWidth * done / all);
    fmt::print(stderr, "\rhostprobe: [{:<{}}] {} of {} MiB read{}\033[K", std::string(part, '#'), kBarWidth, done >> 20,
               all >> 20, done >= all ? ", working out what it means" : "");
    std::fflush(stderr);
  };
}

void end_progress() {
  if (g_progress_shown) fmt::print(stderr, "\r\033[K");
  g_progress_shown = false;
}

}  // namespace hostprobe::cli
