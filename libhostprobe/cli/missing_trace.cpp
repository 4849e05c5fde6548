// missing_trace.cpp: see missing_trace.h.
#include "missing_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "run_folders.h"
#include "trace/job_file.h"
#include "trace/reader.h"

namespace hostprobe::cli {
namespace {

namespace fs = std::filesystem;
using analysis::JobStart;

constexpr char kWhoRecords[] = "HOSTPROBE_TARGET=all records every process";

// The job that was written last; nothing when there is none that can be read.
std::optional<JobStart> last_job(const std::string& run) {
  std::optional<JobStart> last;
  fs::file_time_type newest = fs::file_time_type::min();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run, error)) {
    if (!entry.path().string().ends_with(analysis::kJobFileSuffix) || !entry.is_regular_file(error)) continue;
    if (entry.last_write_time(error) < newest) continue;
    auto job = analysis::job_start(entry.path().string());
    if (!job) continue;
    last = std::move(job);
    newest = entry.last_write_time(error);
  }
  return last;
}

std::string reason(const JobStart& job) {
  const std::string program = job.program.value_or("the program");
  if (!job.start_error.empty()) return fmt::format("{} did not start ({})", program, job.start_error);
  if (job.off) return "HOSTPROBE_OFF is set, so nothing is hooked; unset it";
  if (!job.load_obstacle.empty())
    return fmt::format("{} is {}, so nothing can be loaded into it", program, job.load_obstacle);
  if (job.target != "auto" && job.target != "all")
    return fmt::format(
        "no process of a program that HOSTPROBE_TARGET={} names made a call that is recorded; choose all, "
        "auto or another name",
        job.target);
  return fmt::format("{} {} no call that is recorded: no wait, launch, collective or thread. {}", program,
                     job.ended ? "made" : "has made", kWhoRecords);
}

}  // namespace

std::string no_trace_text(const std::string& run, const std::string& job_file, bool has_others) {
  const std::optional<JobStart> job = analysis::job_start(job_file);
  const std::string why = job ? reason(*job) : "its job file is gone, so the reason is not known";
  return fmt::format("{} holds no trace{}: {}", run, has_others ? " of this job, only of others" : "", why);
}

std::string no_trace_text(const analysis::ChosenJob& chosen) {
  const std::string& run = chosen.path;
  if (!chosen.traces.empty())
    return fmt::format("{} holds what the kernel recorded, and no trace of a process. {}", chosen.words(), kWhoRecords);
  const auto job = chosen.files.empty() ? last_job(run) : analysis::job_start(chosen.files.back().path);
  if (!job)
    return fmt::format("{} holds nothing recorded: is it the folder that `hostprobe run` printed?{}", run,
                       run_folders_note(run));
  const std::string text = fmt::format("{} holds no trace: {}", chosen.words(), reason(*job));
  if (!chosen.has_others()) return text;
  const std::size_t earlier = chosen.all.size() - 1;
  return fmt::format("{}. Earlier jobs have: --job 1{}", text, earlier > 1 ? fmt::format("..{}", earlier) : "");
}

}  // namespace hostprobe::cli
