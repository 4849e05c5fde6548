// missing_trace.cpp: see missing_trace.h.
#include "missing_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "run_folders.h"
#include "trace/job_file.h"
#include "trace/reader.h"

namespace hostprobe::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kWhoRecords[] = "HOSTPROBE_TARGET=all records every process";

std::string text_of(const Json& job, const char* key) { return job.value(key, std::string()); }

// A null document when it cannot be read.
Json read_job(const std::string& path) {
  std::error_code gone;
  if (!fs::is_regular_file(path, gone)) return {};  // a pipe would keep who opens it waiting
  std::ifstream file(path);
  Json job = Json::parse(file, nullptr, false);
  return job.is_object() ? job : Json();
}

// The job that was written last; a null document when there is none that can be read.
Json last_job(const std::string& run) {
  Json last;
  fs::file_time_type newest = fs::file_time_type::min();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run, error)) {
    if (!entry.path().string().ends_with(analysis::kJobFileSuffix) || !entry.is_regular_file(error)) continue;
    if (entry.last_write_time(error) < newest) continue;
    Json job = read_job(entry.path().string());
    if (job.is_null()) continue;
    last = std::move(job);
    newest = entry.last_write_time(error);
  }
  return last;
}

std::string program_of(const Json& job) {
  const Json argv = job.value("argv", Json::array());
  return argv.empty() || !argv[0].is_string() ? "the program" : argv[0].get<std::string>();
}

std::string reason(const Json& job) {
  const std::string program = program_of(job), target = text_of(job, "target");
  if (const std::string error = text_of(job, "start_error"); !error.empty())
    return fmt::format("{} did not start ({})", program, error);
  if (job.value("off", false)) return "HOSTPROBE_OFF is set, so nothing is hooked; unset it";
  if (const std::string obstacle = text_of(job, "load_obstacle"); !obstacle.empty())
    return fmt::format("{} is {}, so nothing can be loaded into it", program, obstacle);
  if (target != "auto" && target != "all")
    return fmt::format(
        "no process of a program that HOSTPROBE_TARGET={} names made a call that is recorded; choose all, "
        "auto or another name",
        target);
  const bool running = !job.contains("status") || job["status"].is_null();
  return fmt::format("{} {} no call that is recorded: no wait, launch, collective or thread. {}", program,
                     running ? "has made" : "made", kWhoRecords);
}

}  // namespace

std::string no_trace_text(const std::string& run, const std::string& job_file, bool has_others) {
  const Json job = read_job(job_file);
  const std::string why = job.is_null() ? "its job file is gone, so nothing tells why" : reason(job);
  return fmt::format("{} holds no trace{}: {}", run, has_others ? " of this job, only of others" : "", why);
}

std::string no_trace_text(const analysis::ChosenJob& chosen) {
  const std::string& run = chosen.path;
  if (!chosen.traces.empty())
    return fmt::format("{} holds what the kernel recorded, and no trace of a process. {}", chosen.words(), kWhoRecords);
  const Json job = chosen.files.empty() ? last_job(run) : read_job(chosen.files.back().path);
  if (job.is_null())
    return fmt::format("{} holds nothing recorded: is it the folder that `hostprobe run` printed?{}", run,
                       run_folders_note(run));
  const std::string text = fmt::format("{} holds no trace: {}", chosen.words(), reason(job));
  if (!chosen.has_others()) return text;
  const std::size_t earlier = chosen.all.size() - 1;
  return fmt::format("{}. Earlier jobs have: --job 1{}", text, earlier > 1 ? fmt::format("..{}", earlier) : "");
}

}  // namespace hostprobe::cli
