// missing_trace.cpp: see missing_trace.h.
#include "missing_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/trace/reader.h"
#include "run_folders.h"

namespace hostprobe::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kWhoRecords[] = "HOSTPROBE_TARGET=all records every process";

std::string text_of(const Json& job, const char* key) { return job.value(key, std::string()); }

// The job that was written last; a null document when there is none that can be read.
Json last_job(const std::string& run) {
  Json last;
  fs::file_time_type newest = fs::file_time_type::min();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run, error)) {
    if (!entry.path().string().ends_with(".job.json") || !entry.is_regular_file(error)) continue;
    if (entry.last_write_time(error) < newest) continue;
    std::ifstream file(entry.path());
    Json job = Json::parse(file, nullptr, false);
    if (!job.is_object()) continue;
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

std::string no_trace_text(const std::string& run) {
  if (!analysis::trace_paths(run).empty())
    return fmt::format("{} holds what the kernel recorded, and no trace of a process. {}", run, kWhoRecords);
  const Json job = last_job(run);
  if (job.is_null())
    return fmt::format("{} holds nothing recorded: is it the folder that `hostprobe run` printed?{}", run,
                       run_folders_note(run));
  return fmt::format("{} holds no trace: {}", run, reason(job));
}

}  // namespace hostprobe::cli
