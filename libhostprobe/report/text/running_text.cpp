// running_text.cpp: see running_text.h.
#include "running_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "answer/telling_frames.h"
#include "report/columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastSamplesPct = 1;     // of the thread's samples
constexpr std::uint64_t kFewest = 20;      // of fewer samples nothing can be told in shares
constexpr std::size_t kNumbersWidth = 29;  // of a row, behind its place

std::size_t place_width(std::size_t width) { return std::clamp<std::size_t>(width, 60, 150) - kNumbersWidth; }

std::string place_of(const RunningRow& row, std::size_t width) {
  const std::string place = running_frame(row);
  if (row.caller.empty()) return place;
  const std::string from = ", from " + shortened_place(row.caller, width / 2);
  return shortened_place(place, width - std::min(width, columns(from))) + from;
}

std::string row_line(const RunningRow& row, double all_ns, std::uint64_t steps, std::size_t width) {
  return fmt::format("  {} {} {} {:>5.1f}", left(printable(place_of(row, width)), width),
                     right(steps == 0 ? "-" : ms_text(1e-6 * row.step_ns), 9), right(ms_text(1e-6 * row.ns), 9),
                     100 * row.ns / all_ns);
}

void add_rows(const std::vector<RunningRow>& rows, double all_ns, std::uint64_t steps, std::size_t most,
              std::size_t width, std::vector<std::string>& lines) {
  std::size_t shown = 0;
  for (const RunningRow& row : rows)
    if (shown < most && 100 * row.ns >= kLeastSamplesPct * all_ns) {
      lines.push_back(row_line(row, all_ns, steps, width));
      ++shown;
    }
  if (shown < rows.size() && shown == most)
    lines.push_back(fmt::format("  … and {} more (--all)", rows.size() - shown));
}

// "libtorch_cpu.so 61 %, libpython3.11.so 30 %"
std::string libraries_line(const RunningAnswer& running) {
  constexpr std::size_t kMost = 4;
  std::map<std::string, double> by_library;
  for (const RunningRow& row : running.code) by_library[row.library] += row.ns;
  std::vector<std::pair<std::string, double>> all(by_library.begin(), by_library.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& l, const auto& r) { return l.second > r.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, all.size()); ++i)
    text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", printable(all[i].first),
                        100 * all[i].second / running.code_ns);
  return text;
}

void add_thread(const ProcessAnswer& process, const RunningAnswer& running, std::size_t rows, std::size_t width,
                std::vector<std::string>& lines) {
  const ThreadAnswer* thread = process.thread(running.thread);
  const bool is_python = running.python_samples > running.torn;
  const double all_ns = is_python ? running.python_ns : running.code_ns;
  const std::string name =
      fmt::format("CPU time of {} (thread {}), {} samples",
                  thread == nullptr ? "thread" : printable(process.thread_title(running.thread, thread->role)),
                  running.thread.tid, is_python ? running.python_samples : running.code_samples);
  lines.push_back(
      fmt::format("{} {} {} {}", left(name, width + 2), right("a step", 9), right("total", 9), right("%", 5)));
  add_rows(is_python ? running.python : running.code, all_ns, running.steps, rows, width, lines);
  if (running.torn > 0 && 100 * running.torn >= running.python_samples)
    lines.push_back(fmt::format("  {} more samples could not be read, because the frames changed meanwhile",
                                grouped(running.torn)));
  if (is_python && running.code_samples >= kFewest) lines.push_back("  in the code of " + libraries_line(running));
}

}  // namespace

std::vector<std::string> running_lines(const ProcessAnswer& process, std::size_t threads, std::size_t rows,
                                       std::size_t width) {
  std::vector<std::string> lines;
  std::size_t shown = 0;
  for (const RunningAnswer& running : process.running) {
    const std::uint64_t samples = std::max(running.python_samples - running.torn, running.code_samples);
    if (samples < kFewest || shown++ >= threads) continue;
    add_thread(process, running, rows, place_width(width), lines);
  }
  return lines;
}

}  // namespace hostprobe::analysis
