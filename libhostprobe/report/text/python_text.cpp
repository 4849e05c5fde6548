// python_text.cpp: see python_text.h.
#include "python_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kThreads = 4;

std::string per_step(const ProcessAnswer& process, double ns) {
  const std::size_t steps = process.steps.steps.size();
  return steps == 0 || ns <= 0 ? "" : fmt::format(" · {} a step", duration_text(ns / static_cast<double>(steps)));
}

std::string pauses_line(const ProcessAnswer& process, const GcAnswer& gc) {
  std::string text = fmt::format("Python garbage collection {} · total {}, max {}{}", grouped(gc.time.count()),
                                 ms_text(1e-6 * gc.time.total_ns()), duration_text(gc.time.max_ns()),
                                 per_step(process, gc.in_steps_ns));
  return text;
}

std::string title_of(const ProcessAnswer& process, const GilHolder& holder) {
  return printable(process.thread_title(holder.thread, holder.role));
}

std::string lock_line(const ProcessAnswer& process, const GilThread& thread) {
  std::string text = fmt::format(
      "  {} {} {:>7} {:>8} {}, max {}{}", left(printable(process.thread_title(thread.thread, thread.role)), 13),
      right(std::to_string(thread.thread.tid), 7), compact(thread.requests), "requests", ms_text(1e-6 * thread.ns),
      duration_text(thread.longest_ns), per_step(process, thread.in_steps_ns));
  if (!thread.holders.empty())
    text += fmt::format(" · held mostly by {} {}", title_of(process, thread.holders.front()),
                        thread.holders.front().thread.tid);
  return text;
}

}  // namespace

std::vector<std::string> python_lines(const ProcessAnswer& process) {
  std::vector<std::string> lines;
  if (process.gc && process.gc->time.count() > 0) {
    lines.push_back(pauses_line(process, *process.gc));
    for (const auto& [generation, time] : process.gc->by_generation)
      lines.push_back(fmt::format("  generation {:<23} {:>9} · total {}, max {}", generation, grouped(time.count()),
                                  ms_text(1e-6 * time.total_ns()), duration_text(time.max_ns())));
  }
  if (process.gil.empty()) return lines;
  lines.push_back("Waits for Python's interpreter lock (GIL)");
  for (std::size_t i = 0; i < std::min(kThreads, process.gil.size()); ++i)
    lines.push_back(lock_line(process, process.gil[i]));
  if (process.gil.size() > kThreads) lines.push_back(fmt::format("  … and {} more", process.gil.size() - kThreads));
  return lines;
}

}  // namespace hostprobe::analysis
