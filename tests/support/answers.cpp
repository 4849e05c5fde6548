#include "answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "run_probed.h"

namespace hostprobe::test {
namespace {

std::string answer(const std::string& subcommand, const std::filesystem::path& run_folder,
                   const std::filesystem::path& command = probe_command()) {
  Launch launch;
  launch.command = {command, subcommand, run_folder, "--json"};
  const Outcome outcome = run(launch);
  EXPECT_TRUE(outcome.exited_with(0)) << "hostprobe " << subcommand << ": " << outcome.describe();
  return outcome.out;
}

// Addresses and thread ids may come as numbers or as text.
std::uint64_t word(const nlohmann::json& value) {
  if (value.is_number()) return value.get<std::uint64_t>();
  return value.is_string() ? std::stoull(value.get<std::string>(), nullptr, 0) : 0;
}

Call call_of(const nlohmann::json& line) {
  Call call;
  call.pid = line.at("pid").get<long long>();
  call.tid = line.at("tid").get<long long>();
  call.function = line.at("function").get<std::string>();
  call.begin_ns = line.at("begin_ns").get<std::int64_t>();
  call.duration_ns = line.at("duration_ns").get<std::int64_t>();
  call.at_once = line.contains("at_once") && line.at("at_once") == true;
  call.args = line.at("args");
  return call;
}

std::map<std::string, std::uint64_t> sum_by_function(const nlohmann::json& report, const std::string& part) {
  std::map<std::string, std::uint64_t> counters;
  for (const auto& process : report.at("processes"))
    if (process.contains(part) && process.at(part).is_object())
      for (const auto& [name, count] : process.at(part).at("by_function").items())
        if (count.get<std::uint64_t>() != 0) counters[name] += count.get<std::uint64_t>();
  return counters;
}

}  // namespace

std::uint64_t Call::object() const { return args.contains("object") ? word(args.at("object")) : 0; }

long long Call::waker_tid() const {
  if (!args.contains("waker") || args.at("waker").is_null()) return 0;
  const nlohmann::json& waker = args.at("waker");
  return static_cast<long long>(waker.is_object() ? word(waker.at("tid")) : word(waker));
}

std::string Call::text(const std::string& name) const {
  return args.contains(name) && args.at(name).is_string() ? args.at(name).get<std::string>() : "";
}

std::vector<Call> Dump::of(const std::string& function) const {
  std::vector<Call> found;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(found),
               [&](const Call& call) { return call.function == function; });
  return found;
}

std::vector<Call> Dump::of(const std::string& function, long long tid) const {
  std::vector<Call> found = of(function);
  std::erase_if(found, [&](const Call& call) { return call.tid != tid; });
  return found;
}

std::vector<Call> Dump::blocked(const std::string& function) const {
  std::vector<Call> found = of(function);
  std::erase_if(found, [](const Call& call) { return call.at_once; });
  return found;
}

Dump dump(const std::filesystem::path& run_folder) {
  Dump result;
  std::istringstream lines(answer("dump", run_folder));
  for (std::string text; std::getline(lines, text);) {
    const nlohmann::json line = nlohmann::json::parse(text);
    if (line.contains("function"))
      result.calls.push_back(call_of(line));
    else if (line.contains("lost"))
      result.lost += word(line.at("lost"));
  }
  return result;
}

nlohmann::json report(const std::filesystem::path& run_folder) {
  return nlohmann::json::parse(answer("report", run_folder));
}

nlohmann::json report_with_account(const std::filesystem::path& run_folder) {
  return nlohmann::json::parse(answer("report", run_folder, built("bin/hostprobe_with_account")));
}

std::uint64_t blocked_count(const nlohmann::json& report, const std::string& function) {
  std::uint64_t sum = 0;
  for (const auto& process : report.at("processes"))
    for (const auto& site : process.at("waits"))
      if (site.at("function") == function) sum += site.at("count").get<std::uint64_t>();
  return sum;
}

std::uint64_t lost_count(const nlohmann::json& report) {
  std::uint64_t sum = 0;
  for (const auto& process : report.at("processes")) sum += process.at("lost").get<std::uint64_t>();
  return sum;
}

std::map<std::string, std::uint64_t> launches_by_function(const nlohmann::json& report) {
  return sum_by_function(report, "launches");
}
std::map<std::string, std::uint64_t> syncs_by_function(const nlohmann::json& report) {
  return sum_by_function(report, "syncs");
}

}  // namespace hostprobe::test
