// job_file.cpp: see job_file.h.
#include "job_file.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hostprobe::analysis {
namespace {

using Json = nlohmann::json;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::string own_host() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// The text in the file has seconds only; the name ends in the moment to the nanosecond, unless somebody renamed it.
std::uint64_t begin_of(const std::string& path, const Json& json) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  tm parts{};
  const auto text = json.find("started");
  if (text == json.end() || !text->is_string() ||
      strptime(text->get<std::string>().c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr)
    return 0;
  const std::uint64_t told = static_cast<std::uint64_t>(std::max<time_t>(0, timegm(&parts))) * kSecond;
  const std::string name = path.substr(0, path.size() - std::size(kJobFileSuffix) + 1);
  std::uint64_t ns = 0;
  if (const auto dash = name.rfind('-'); dash != std::string::npos)
    std::from_chars(name.data() + dash + 1, name.data() + name.size(), ns);
  return ns >= told && ns - told < kSecond ? ns : told;
}

std::string command_of(const Json& json) {
  std::string command;
  for (const Json& word : json.value("argv", Json::array()))
    if (word.is_string()) command += (command.empty() ? "" : " ") + word.get<std::string>();
  return command;
}

std::uint64_t end_of(const JobFile& job) {
  if (job.status) return job.begin_realtime_ns + static_cast<std::uint64_t>(std::clamp(job.wall_s, 0.0, 1e9) * 1e9);
  const bool lives = job.host == own_host() && kill(static_cast<pid_t>(job.pid), 0) == 0;
  return lives ? std::max(now_ns(), job.begin_realtime_ns) : job.begin_realtime_ns;
}

// Null: it is no job file.
Json parse(const std::string& path) {
  std::ifstream file(path);
  Json json = Json::parse(file, nullptr, false);
  return json.is_object() ? json : Json();
}

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<JobFile> read_job_file(const std::string& path) {
  const Json json = parse(path);
  if (json.is_null()) return std::nullopt;
  const auto host = json.find("host"), pid = json.find("pid"), status = json.find("status"),
             wall_s = json.find("wall_s");
  if (host == json.end() || !host->is_string() || pid == json.end() || !pid->is_number_unsigned()) return std::nullopt;
  JobFile job;
  job.path = path;
  job.host = *host;
  job.pid = *pid;
  job.begin_realtime_ns = begin_of(path, json);
  if (status != json.end() && status->is_number_integer() && wall_s != json.end() && wall_s->is_number()) {
    job.status = *status;
    job.wall_s = *wall_s;
  }
  job.command = command_of(json);
  job.started = text_of(json, "start_error").empty();
  job.end_realtime_ns = end_of(job);
  return job;
}

}  // namespace

std::optional<JobStart> job_start(const std::string& path) {
  std::error_code gone;
  if (!std::filesystem::is_regular_file(path, gone)) return std::nullopt;  // a pipe would keep who opens it waiting
  const Json json = parse(path);
  if (json.is_null()) return std::nullopt;
  const auto argv = json.find("argv"), off = json.find("off"), status = json.find("status");
  JobStart start;
  if (argv != json.end() && argv->is_array() && !argv->empty() && argv->front().is_string())
    start.program = argv->front().get<std::string>();
  start.target = text_of(json, "target");
  start.load_obstacle = text_of(json, "load_obstacle");
  start.start_error = text_of(json, "start_error");
  start.off = off != json.end() && off->is_boolean() && off->get<bool>();
  start.ended = status != json.end() && !status->is_null();
  return start;
}

std::vector<JobFile> job_files(const std::string& run) {
  std::vector<JobFile> jobs;
  std::error_code gone;
  if (!std::filesystem::is_directory(run, gone)) return jobs;
  for (const auto& entry : std::filesystem::directory_iterator(run, gone)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(kJobFileSuffix) || !entry.is_regular_file(gone)) continue;
    if (auto job = read_job_file(path)) jobs.push_back(std::move(*job));
  }
  std::sort(jobs.begin(), jobs.end(), [](const JobFile& l, const JobFile& r) { return l.path < r.path; });
  return jobs;
}

}  // namespace hostprobe::analysis
