// sources.cpp: see sources.h. The one table of sources: a new one is a file in this folder, a row here, its block in format/ and that
// block's reader.
//
// Its rows are worked out by the compiler, and become direct calls: in memory each of their pointers would be a relocation, which every
// process below a job pays for when it starts, and the page that a start writes to is full (layout.ld). Plain `if`: with
// -fsanitize=undefined g++ takes no comparison of a function's address for a constant.
#include "probe/sources/sources.h"

#include <utility>

#include "probe/hooks/python_shim.h"
#include "probe/record/limits.h"
#include "probe/record/own_work.h"
#include "probe/sources/clock_pairs.h"
#include "probe/sources/code_samples.h"
#include "probe/sources/frequency.h"
#include "probe/sources/gpu_stretches.h"
#include "probe/sources/halts.h"
#include "probe/sources/hang.h"
#include "probe/sources/launch_samples.h"
#include "probe/sources/machine_load.h"
#include "probe/sources/pipe_ends.h"
#include "probe/sources/profile_window.h"
#include "probe/sources/python_names.h"
#include "probe/sources/quota.h"
#include "probe/sources/running_samples.h"
#include "probe/sources/sample_rows.h"
#include "probe/sources/start_up.h"
#include "probe/sources/stuck_children.h"
#include "probe/sources/switch_drain.h"
#include "probe/sources/switches.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

// In this order in each round.
constexpr Source kSources[] = {
    // Mode monitor: what the counters held when steps became known.
    {.tick = note_start_up},
    // Context switches. Behind the reading of the kernel's counts, by which it is seen that some are missing.
    {.spared = kShedSwitches,
     .begin = tend_switches,
     .tick = note_switches,
     .due = switches_due,
     .between = tend_full_rings,
     .dump = dump_switches,
     .end = end_switches},
    // Ticks against the clocks of the system.
    {.tick = note_clock},
    // Children of the process that ended, and those that wait for ever.
    {.tick = [](const Round&) { note_child_ends(); }},
    {.tick = note_stuck_children},
    // Which launch is asked whether its stream was empty.
    {.shed = kShedShortWaits, .due = arm_launch_samples},
    // Which work in streams is timed on the GPU.
    {.shed = kShedShortWaits, .due = open_gpu_stretches},
    // What running threads do.
    {.shed = kShedShortWaits,
     .spared = kShedStacks,
     .tick = note_running_samples,
     .due = look_at_running,
     .dump = dump_samples},
    // How fast the CPUs run.
    {.shed = kShedSwitches, .spared = kShedSwitches, .tick = note_frequency, .dump = write_frequency},
    // What the kernel counts of the machine.
    {.shed = kShedSwitches, .spared = kShedSwitches, .tick = note_machine_load, .dump = write_machine_load},
    // Into which pipes it writes.
    {.tick = note_pipe_ends},
    // What Python calls its threads.
    {.tick = note_python_names},
    // Times in which the process was stopped, and in which its quota was used up.
    {.tick = note_halts},
    {.tick = note_throttling},
    // Whether there is progress.
    {.tick = watch_progress},
    // Windows of PyTorch's own profiler.
    {.tick = tend_windows, .due = take_window_wish},
    // Collections and optimizer steps of Python.
    {.due = [](const Round& round) { return ask_python(round.now_ns); }},
};

// Calls `use` with the number of each row, as a constant.
template <class Use, std::size_t... kRow>
void for_each_row(Use use, std::index_sequence<kRow...>) {
  (use(std::integral_constant<std::size_t, kRow>{}), ...);
}
template <class Use>
void for_each_row(Use use) {
  for_each_row(use, std::make_index_sequence<sizeof kSources / sizeof *kSources>{});
}

// Where a level spares it, counted there.
template <class Row, class Work>
void work_of(Row, Work work) {
  if constexpr (kSources[Row::value].spared != kShedNothing)
    work_for(kSources[Row::value].spared, work);
  else
    work();
}

Round as_shed(Round round, const Source& source) {
  round.shed = detail_shed() >= source.shed;
  return round;
}

}  // namespace

void begin_sources(const Round& round) {
  for_each_row([&](auto row) {
    if (kSources[row].begin != nullptr) work_of(row, [&] { kSources[row].begin(as_shed(round, kSources[row])); });
  });
}

void tick_sources(const Round& round) {
  for_each_row([&](auto row) {
    if (kSources[row].tick != nullptr) work_of(row, [&] { kSources[row].tick(as_shed(round, kSources[row])); });
  });
}

std::uint64_t sources_due(std::uint64_t now_ns) {
  std::uint64_t first_ns = kNever;
  for_each_row([&](auto row) {
    if (kSources[row].due != nullptr) {
      std::uint64_t due_ns = kNever;
      work_of(row, [&] { due_ns = kSources[row].due(as_shed({.now_ns = now_ns}, kSources[row])); });
      if (due_ns < first_ns) first_ns = due_ns;
    }
  });
  return first_ns;
}

void tend_sources_between() {
  for_each_row([&](auto row) {
    if (kSources[row].between != nullptr) work_of(row, [&] { kSources[row].between(); });
  });
}

void dump_sources() {
  for_each_row([&](auto row) {
    if (kSources[row].dump != nullptr) kSources[row].dump();
  });
}

SourcesCost sources_cost() { return {switch_ticks(), code_sample_ticks()}; }

void end_sources(bool has_file) {
  for_each_row([&](auto row) {
    if (kSources[row].end != nullptr) kSources[row].end(has_file);
  });
}

}  // namespace hostprobe::probe
