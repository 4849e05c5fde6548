// process_table.cpp: see process_table.h.
#include "process_table.h"

#include <fmt/format.h>

#include "report/columns.h"
#include "report/text_table.h"
#include "wait_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShortProcesses = 12;

std::string what_is(const ProcessAnswer& process) {
  return process.task == ProcessTask::kUnknown ? kind_name(process.kind) : task_words(process.task);
}

void add_process(const ProcessAnswer& process, TextTable& table) {
  const std::string cost =
      process.own_cost ? fmt::format("{:.2f}", process.wall_share(process.own_cost->total_ms())) : std::string("?");
  table.add({what_is(process), std::to_string(process.pid), process.rank ? std::to_string(*process.rank) : "-",
             ms_text(process.wall_ms), process.cpu_ms ? ms_text(*process.cpu_ms) : "?", grouped(process.records),
             process.lost == 0 ? "" : grouped(process.lost), cost, heaviest_wait_text(process)});
}

}  // namespace

std::string process_table(const RunAnswer& run, const ReportOptions& options) {
  TextTable table({{.heading = "process", .is_name = true, .least = 10},
                   {.heading = "pid"},
                   {.heading = "rank", .spare = 2},
                   {.heading = "wall"},
                   {.heading = "CPU"},
                   {.heading = "records", .spare = 3},
                   {.heading = "lost"},
                   {.heading = "% own cost", .spare = 1},
                   {.heading = "heaviest wait", .is_name = true, .least = 16}});
  std::size_t all = 0;
  for (const ProcessAnswer& process : run.processes) {
    if (process.kind == ProcessKind::kRank || !options.shows(process)) continue;
    if (++all <= kShortProcesses || options.all) add_process(process, table);
  }
  return table.text(options.width) + more_text(table.rows(), all);
}

}  // namespace hostprobe::analysis
