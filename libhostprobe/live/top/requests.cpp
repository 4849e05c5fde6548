// requests.cpp: see requests.h.
#include "requests.h"

#include <fmt/format.h>

#include <exception>
#include <sstream>

#include "live/process_stacks.h"
#include "live/run_control.h"
#include "live/stacks_text.h"

namespace hostprobe::analysis {
namespace {

constexpr std::chrono::milliseconds kPatience{2000};

std::vector<RunProcess> running(const LiveView& view) {
  std::vector<RunProcess> processes;
  for (const LiveRank& rank : view.ranks)
    if (rank.state == EndState::kRunning) processes.push_back(run_process(rank.pid));
  return processes;
}

RequestResult ask_all(const std::vector<RunProcess>& processes, const std::string& request, const std::string& done) {
  if (processes.empty()) return {false, "no process runs"};
  RunControl control(processes, kPatience);
  std::string why;
  std::size_t failed = 0;
  for (const ControlAnswer& answer : control.ask(request)) {
    if (answer.failure == nullptr) continue;
    ++failed;
    if (why.empty()) why = answer.process.title() + ": " + answer.why();
  }
  if (failed == 0) return {true, done};
  return {false, failed == 1 ? why : fmt::format("{} ({} more could not)", why, failed - 1)};
}

}  // namespace

RequestResult request_trigger(const LiveView& view) {
  return ask_all(running(view), "trigger hostprobe top", "the last seconds are being written out");
}

RequestResult request_fix(const LiveView& view, const std::string& fix, bool on) {
  const std::vector<RunProcess> processes = running(view);
  if (fix == "auto" && on)
    if (const std::string obstacle = auto_obstacle(processes); !obstacle.empty()) return {false, obstacle};
  return ask_all(processes, fmt::format("fix {} {}", on ? "on" : "off", fix),
                 fmt::format("asked for fix {} {}", fix, on ? "on" : "off"));
}

std::vector<std::string> stack_lines(pid_t pid) {
  std::vector<std::string> lines;
  try {
    std::istringstream text(stacks_text(stacks_of_process(pid)));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  } catch (const std::exception& error) {
    lines.emplace_back(error.what());
  }
  return lines;
}

}  // namespace hostprobe::analysis
