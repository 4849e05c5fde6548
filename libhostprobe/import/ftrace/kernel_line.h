// kernel_line.h: one line of the kernel's trace as text: who, on which CPU, when, which event.
//
// Room 3. The forms of tracefs (`trace`, `trace_pipe`, latency format), of `trace-cmd report` and of `perf script`. Names of
// tasks hold anything, blanks, '-' and '[' too: what a line is anchored on is its CPU in brackets with a time behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hostprobe::analysis {

inline constexpr std::uint64_t kMostTid = 1u << 30;

// How the time was written.
enum class LineTime : std::uint8_t {
  kSeconds,   // a clock of seconds
  kTicks,     // an integer: a counter of ticks
  kRelative,  // microseconds since the trace's own beginning: the latency format
};

struct KernelLine {
  std::string_view comm;
  std::uint32_t tid = 0;
  std::uint32_t tgid = 0;  // 0 = not told
  std::uint32_t cpu = 0;
  std::string_view flags;  // "" = it has none
  LineTime time_form = LineTime::kSeconds;
  std::uint64_t time = 0;  // nanoseconds, or ticks
  std::string_view event;  // without its system
  std::string_view text;   // behind it
};

// Nothing: it is none. What is found points into `line`.
std::optional<KernelLine> parse_kernel_line(std::string_view line);

// Of a line such as "CPU:1 [LOST 123 EVENTS]".
struct LostLine {
  std::uint32_t cpu = 0;
  std::uint64_t count = 0;  // 0 = it does not say how many
};
std::optional<LostLine> parse_lost_line(std::string_view line);

// Heads, headings and stacks: lines that tell of no event and are not missed.
bool is_kernel_heading(std::string_view line);

// A number at the beginning of `text`, which is cut from it; at most `most`.
std::optional<std::uint64_t> take_number(std::string_view& text, std::uint64_t most = UINT64_MAX);
std::string_view trimmed(std::string_view text);

}  // namespace hostprobe::analysis
