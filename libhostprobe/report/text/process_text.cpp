// process_text.cpp: see process_text.h.
#include "process_text.h"

#include <fmt/format.h>

#include "launch_text.h"
#include "process_title.h"
#include "python_text.h"
#include "report/columns.h"
#include "report/machine_report.h"
#include "report/text_table.h"
#include "running_text.h"
#include "thread_table.h"
#include "wait_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

struct Shown {
  std::size_t sites, threads;
  bool places, wakes;
};

Shown shown_of(Detail detail) {
  switch (detail) {
    case Detail::kLittle:
      return {4, 4, false, false};
    case Detail::kUsual:
      return {8, 12, true, true};
    case Detail::kAll:
      break;
  }
  return {SIZE_MAX, SIZE_MAX, true, true};
}

std::string wrapped_lines(const std::vector<std::string>& lines, std::size_t width) {
  std::string text;
  for (const std::string& one : lines) text += wrapped(one, "", "  ", width);
  return text;
}

std::string as_they_are(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& one : lines) text += one + "\n";
  return text;
}

std::string region_table(const ProcessAnswer& process, std::size_t most, std::size_t width) {
  TextTable table({{.heading = "region", .is_name = true, .least = 16},
                   {.heading = "count"},
                   {.heading = "total"},
                   {.heading = "p50"},
                   {.heading = "p99"},
                   {.heading = "max"}});
  const std::size_t shown = std::min(process.regions.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const RegionAnswer& region = process.regions[i];
    table.add({region.name.empty() ? "(unnamed)" : printable(region.name), compact(region.time.count()),
               duration_text(region.time.total_ns()), duration_text(region.time.percentile_ns(50)),
               duration_text(region.time.percentile_ns(99)), duration_text(region.time.max_ns())});
  }
  return table.text(width) + more_text(shown, process.regions.size());
}

std::string progress_table(const ProcessAnswer& process, std::size_t width) {
  TextTable table({{.heading = "NCCL progress", .is_name = true},
                   {.heading = "communicator", .is_name = true},
                   {.heading = "polls"},
                   {.heading = "p50"},
                   {.heading = "p99"},
                   {.heading = "max"},
                   {.heading = "stalls"},
                   {.heading = "no CPU"},
                   {.heading = "moved", .spare = 1}});
  for (const ProgressAnswer& thread : process.progress)
    table.add({printable(thread.name), thread.communicator.empty() ? "?" : thread.communicator.substr(0, 8),
               compact(thread.poll.count()), duration_text(thread.poll.percentile_ns(50)),
               duration_text(thread.poll.percentile_ns(99)), duration_text(thread.poll.max_ns()),
               compact(thread.stalls), thread.run_delay_ms ? ms_text(*thread.run_delay_ms) : "?",
               std::to_string(thread.migrations)});
  return table.text(width);
}

std::string part_text(const ProcessAnswer& process, ProcessPart part, Detail detail, std::size_t width) {
  const Shown shown = shown_of(detail);
  switch (part) {
    case ProcessPart::kLaunches:
      return launch_text(process, shown.places, width);
    case ProcessPart::kPython:
      return as_they_are(python_lines(process));
    case ProcessPart::kRunning:
      return as_they_are(running_lines(process, detail == Detail::kLittle ? 1 : shown.threads / 4, shown.sites, width));
    case ProcessPart::kRegions:
      return region_table(process, shown.sites, width);
    case ProcessPart::kWaits:
      return wait_table(process, shown.sites, shown.places, width);
    case ProcessPart::kWakes:
      return shown.wakes ? wake_table(process, shown.sites, width) : "";
    case ProcessPart::kProgress:
      return progress_table(process, width);
    case ProcessPart::kThreads:
      return thread_table(process, shown.threads, detail == Detail::kAll, width);
    case ProcessPart::kMachine:
      return wrapped_lines(machine_lines(process), width);
  }
  return {};
}

}  // namespace

std::string process_part_text(const RunAnswer& run, const ProcessAnswer& process, ProcessPart part, Detail detail,
                              std::size_t width) {
  const std::string text = part_text(process, part, detail, width);
  return text.empty() ? text : process_title(run, process, width) + text;
}

std::string process_text(const RunAnswer& run, const ProcessAnswer& process, Detail detail, std::size_t width) {
  Lines out;
  out.line("");
  out.add(process_title(run, process, width));
  out.add(process_life(process, width));
  for (const ProcessPart part : {ProcessPart::kMachine, ProcessPart::kLaunches, ProcessPart::kPython,
                                 ProcessPart::kRunning, ProcessPart::kRegions, ProcessPart::kWaits, ProcessPart::kWakes,
                                 ProcessPart::kProgress, ProcessPart::kThreads}) {
    const std::string text = part_text(process, part, detail, width);
    if (text.empty()) continue;
    out.line("");
    if (part == ProcessPart::kWaits)
      out.add(wrapped(
          "Waits: `waited` counts each moment once; `% of life` is of the lives of the threads that wait there.", "",
          "  ", width));
    if (part == ProcessPart::kWakes)
      out.add(wrapped("Wake latency: from the moment a thread is woken to the moment it runs.", "", "  ", width));
    out.add(text);
  }
  return out.take();
}

}  // namespace hostprobe::analysis
