// status.h: what a running process's hostprobe says about itself.
//
// Room 3. The answer to "status", lines of "word rest" as probe/control.cpp writes them, for people and for scripts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run_control.h"

namespace hostprobe::analysis {

struct ProcessStatus {
  std::map<std::string, std::string> words;  // every line but those of settings
  std::vector<std::pair<std::string, std::string>> settings;

  std::string text(const std::string& word) const;  // "" when it was not said
  std::uint64_t number(const std::string& word) const;
};

ProcessStatus parse_status(const std::string& answer);

std::string status_text(int pid, const ProcessStatus& status);
// One line, for one of many; `who` it is.
std::string status_line(const std::string& who, const ProcessStatus& status);
std::string status_json(int pid, const ProcessStatus& status);
std::string status_json(const RunProcess& process, const ProcessStatus& status);  // with its rank and job
// Of several, some of which may have given no answer; `left_out` were not asked.
std::string statuses_json(const std::vector<ControlAnswer>& answers, std::size_t left_out);

}  // namespace hostprobe::analysis
