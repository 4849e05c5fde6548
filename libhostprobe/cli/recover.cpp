// recover.cpp: `hostprobe recover`.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "answer/file_name.h"
#include "commands.h"
#include "job_option.h"
#include "missing_trace.h"
#include "output.h"
#include "trace/recover.h"
#include "trace/trace.h"

namespace hostprobe::cli {
namespace {

using analysis::Recovery;

std::string describe(const analysis::RecoveryAnswer& answer) {
  const std::string note = answer.what.empty() ? "" : " (" + answer.what + ")";
  switch (answer.result) {
    case Recovery::kDone:
      return fmt::format("recovered, {} records added{}", answer.records, note);
    case Recovery::kNotNeeded:
      return "complete, nothing to do";
    case Recovery::kLives:
      return "its process is running, left alone";
    case Recovery::kElsewhere:
      return "written on another host or before the last boot: run recover there, or read it as it is";
    case Recovery::kGone:
      return "its shared memory no longer exists, read it as it is" + note;
    case Recovery::kEmpty:
      return "empty: its process was killed before it recorded anything";
    case Recovery::kFailed:
      return "failed: " + answer.what;
  }
  return {};
}

int recover(const std::string& given) {
  const analysis::ChosenJob chosen = choose_job(given, {});  // of all jobs that are beside it
  std::vector<analysis::RecoveryAnswer> answers;
  for (const std::string& folder : chosen.folders)
    for (auto& answer : analysis::recover_run(folder, progress_on_stderr())) answers.push_back(std::move(answer));
  end_progress();
  if (answers.empty()) throw std::runtime_error(no_trace_text(chosen));
  const auto is_complete = [](const auto& answer) { return answer.result == Recovery::kNotNeeded; };
  if (std::all_of(answers.begin(), answers.end(), is_complete)) {
    write_out(answers.size() == 1 ? "1 trace, complete: nothing to do\n"
                                  : fmt::format("{} traces, all complete: nothing to do\n", answers.size()));
    return kDone;
  }
  int status = kDone;
  for (const auto& answer : answers) {
    write_out(fmt::format("{}: {}\n", analysis::base_name(answer.path), describe(answer)));
    if (answer.result == Recovery::kFailed) {
      say(answer.path + ": " + answer.what);
      status = kCouldNot;
    }
  }
  return status;
}

}  // namespace

Command recover_command() {
  auto run = std::make_shared<std::string>();
  return {.name = "recover",
          .summary = "Saves what killed processes left in shared memory, and frees the memory.",
          .options = {run_option(*run)},
          .notes =
              "Needed only after a kill, and only where the job was not started by `hostprobe run`, which does this at "
              "its end.\n"
              "Running processes are left alone.\nExample:\n  hostprobe recover hostprobe-run",
          .run = [run](const Words&) { return recover(*run); }};
}

}  // namespace hostprobe::cli
