#include "staying.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace hostprobe::test {

Outcome ctl(pid_t pid, std::vector<std::string> words) {
  words.insert(words.begin(), {probe_command(), "ctl", std::to_string(pid)});
  return run({.command = std::move(words)});
}

nlohmann::json await_status(pid_t pid, const std::function<bool(const nlohmann::json&)>& holds) {
  nlohmann::json status;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    const Outcome said = ctl(pid, {"status", "--json"});
    if (said.exited_with(0)) status = nlohmann::json::parse(said.out);
    if (kill(pid, 0) != 0) break;
    if (!status.is_null() && holds(status)) return status;
    usleep(20000);
  }
  return status;
}

OneRun run_staying(Victim victim, const ScratchFolder& scratch, const std::function<void(pid_t)>& meanwhile) {
  victim.while_running = [&](pid_t pid) {
    const auto is_ready = [&](const nlohmann::json&) {
      std::ifstream truth(scratch.path() / "probed" / "truth");
      return std::string(std::istreambuf_iterator<char>(truth), {}).find("ready") != std::string::npos;
    };
    const bool answered = !await_status(pid, is_ready).is_null();
    EXPECT_TRUE(answered) << "the process never answered";
    if (answered) meanwhile(pid);
    kill(pid, SIGTERM);
  };
  return run_probed(victim, scratch);
}

}  // namespace hostprobe::test
