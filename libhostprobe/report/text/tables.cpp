// tables.cpp: see tables.h.
#include "tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "action_sentences.h"
#include "collective_table.h"
#include "cost_table.h"
#include "process_table.h"
#include "process_text.h"
#include "rank_table.h"
#include "report/columns.h"
#include "report/delay_chain_text.h"
#include "report/kernel_report.h"
#include "sentence_lists.h"
#include "step_table.h"
#include "step_time_table.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint32_t kFewRanks = 2;  // each is shown

// Where nothing says which: of few ranks each, of many the slowest and the median one.
std::vector<const ProcessAnswer*> chosen_processes(const RunAnswer& run, const ReportOptions& options) {
  if (run.ranks > kFewRanks && !options.all && !options.rank) return chosen_ranks(run, run.findings);
  std::vector<const ProcessAnswer*> chosen;
  for (const ProcessAnswer& process : run.processes) {
    const bool leads = run.ranks > 0 ? process.kind == ProcessKind::kRank : process.kind != ProcessKind::kWorker;
    if (options.shows(process) && (leads || options.all || options.rank)) chosen.push_back(&process);
  }
  return chosen;
}

template <ProcessPart part>
std::string of_processes(const RunAnswer& run, const ReportOptions& options) {
  std::string text;
  for (const ProcessAnswer* process : chosen_processes(run, options)) {
    const std::string one =
        process_part_text(run, *process, part, options.all ? Detail::kAll : Detail::kUsual, options.width);
    text += (text.empty() || one.empty() ? "" : "\n") + one;
  }
  return text;
}

std::string machine_text(const RunAnswer& run, const ReportOptions& options) {
  const std::string own = of_processes<ProcessPart::kMachine>(run, options), kernel = kernel_table(run, options);
  return own.empty() || kernel.empty() ? own + kernel : own + "\n" + kernel;
}

std::string delays_text(const RunAnswer& run, const ReportOptions& options) {
  return delay_chain_text(run, options.width);
}

std::string fixes_text(const RunAnswer& run, const ReportOptions& options) { return trial_table(run, options.width); }

}  // namespace

const std::vector<NamedTable>& named_tables() {
  static const std::vector<NamedTable> kTables = {
      {"findings", "every finding in full", "nothing stands out", finding_list},
      {"time", "what the time of the steps went into", "it is not known what the time of the steps went into",
       step_time_table},
      {"steps", "the types of steps and the slowest ones", "no step has a place in time", step_table},
      {"ranks", "a line for each rank", "no process is a rank", rank_table},
      {"processes", "the processes that are no ranks", "every process is a rank", process_table},
      {"threads", "what each thread did with its life", "no thread was recorded", of_processes<ProcessPart::kThreads>},
      {"waits", "where threads waited, how long, and in which line", "no wait was recorded",
       of_processes<ProcessPart::kWaits>},
      {"wakes", "how late threads ran after they were woken, and who woke them", "no wake was recorded",
       of_processes<ProcessPart::kWakes>},
      {"running", "what CPU time went into, by samples", "no thread was sampled often enough",
       of_processes<ProcessPart::kRunning>},
      {"python", "garbage collection and the interpreter lock",
       "neither garbage collection nor the interpreter lock was seen", of_processes<ProcessPart::kPython>},
      {"launches", "kernel launches, synchronisation, idle GPUs", "nothing was launched on a GPU",
       of_processes<ProcessPart::kLaunches>},
      {"regions", "named parts of the program", "no region was marked", of_processes<ProcessPart::kRegions>},
      {"collectives", "who comes last to collectives, and by how much", "no collective was recorded", collective_table},
      {"progress", "NCCL's progress threads", "no progress thread of NCCL was seen",
       of_processes<ProcessPart::kProgress>},
      {"delays", "how a late poll becomes a late collective", "no chain of delays was seen", delays_text},
      {"machine", "CPU frequency, interrupts, other programs", "nothing was measured of the machine", machine_text},
      {"fixes", "the fixes that `auto` tried", "no fix was tried", fixes_text},
      {"cost", "what hostprobe itself cost, by source", "nothing measured what hostprobe costs", cost_table},
      {"actions", "what hostprobe itself did", "hostprobe did nothing worth a line", action_list},
      {"losses", "what was lost or damaged", "nothing was lost or damaged", loss_list}};
  return kTables;
}

}  // namespace hostprobe::analysis
