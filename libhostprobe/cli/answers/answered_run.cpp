// answered_run.cpp: see answered_run.h.
#include "answered_run.h"

#include <fmt/format.h>

#include <stdexcept>

#include "cli/memory.h"
#include "cli/missing_trace.h"
#include "cli/output.h"

namespace hostprobe::cli {

analysis::RunAnswer answered_run(const std::string& path, const JobNumber& job, unsigned memory_mb) {
  const analysis::ChosenJob chosen = choose_job(path, job);
  analysis::RunAnswer run = analysis::analyse_run(chosen, progress_on_stderr(), within_memory(memory_mb));
  end_progress();
  if (!run.processes.empty()) return run;
  if (run.unreadable.empty()) throw std::runtime_error(no_trace_text(chosen));
  throw std::runtime_error(
      fmt::format("no trace in {} could be read; the first: {}", path, run.unreadable.front().what));
}

}  // namespace hostprobe::cli
