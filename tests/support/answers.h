// answers.h: what the hostprobe command says about a run, for tests that hold it against what a victim knows.
//
// Goes the way a user's script goes: `hostprobe dump RUN --json` and `hostprobe report RUN --json`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace hostprobe::test {

struct Call {
  long long pid = 0;
  long long tid = 0;
  std::string function;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  bool at_once = false;  // satisfied without blocking
  nlohmann::json args;

  std::uint64_t object() const;                     // what was waited on; 0 = not told
  long long waker_tid() const;                      // 0 = unknown
  std::string text(const std::string& name) const;  // an argument that is text; "" when unknown
};

struct Dump {
  std::vector<Call> calls;  // in the order of the output: in time order per thread
  std::uint64_t lost = 0;

  std::vector<Call> of(const std::string& function) const;
  std::vector<Call> of(const std::string& function, long long tid) const;
  // Calls of `function` that blocked.
  std::vector<Call> blocked(const std::string& function) const;
};
Dump dump(const std::filesystem::path& run);
nlohmann::json report(const std::filesystem::path& run);
// As it would be on a GPU that tells what ran: of a run with SIMNODE_ACTIVITIES=../run (kAccountInRun).
nlohmann::json report_with_account(const std::filesystem::path& run);

// For Victim::probe: the simulated driver's account lies beside the trace.
inline const std::pair<const std::string, std::string> kAccountInRun{"SIMNODE_ACTIVITIES", "../run"};

// Counters over all processes of a report.
std::uint64_t blocked_count(const nlohmann::json& report, const std::string& function);
std::uint64_t lost_count(const nlohmann::json& report);
std::map<std::string, std::uint64_t> launches_by_function(const nlohmann::json& report);
std::map<std::string, std::uint64_t> syncs_by_function(const nlohmann::json& report);

}  // namespace hostprobe::test
