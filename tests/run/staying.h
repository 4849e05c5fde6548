// staying.h: a victim that runs until it is told to end, and `hostprobe ctl` beside it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_probed.h"

namespace hostprobe::test {

// `hostprobe ctl PID words…`
Outcome ctl(pid_t pid, std::vector<std::string> words);

// Waits until ctl's status of a process is such that `holds`; the latest status either way. Null: it never answered.
nlohmann::json await_status(pid_t pid, const std::function<bool(const nlohmann::json&)>& holds);

// Runs a victim with the probe. Once it records and has told that it is ready, `meanwhile` runs; then it gets SIGTERM.
OneRun run_staying(Victim victim, const ScratchFolder& scratch, const std::function<void(pid_t)>& meanwhile);

}  // namespace hostprobe::test
