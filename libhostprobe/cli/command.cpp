// command.cpp: see command.h.
#include "command.h"

#include <algorithm>

namespace hostprobe::cli {
namespace {

// "-o", "--out"; a positional has none.
std::vector<std::string> flags_of(const std::string& names) {
  std::vector<std::string> flags;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    if (names[at] == '-') flags.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return flags;
}

}  // namespace

std::vector<const Command*> shown_commands(const Command& whole) {
  std::vector<const Command*> shown;
  for (const Command& command : whole.commands)
    if (!command.hidden) shown.push_back(&command);
  return shown;
}

const Command* command_named(const Command& whole, const std::string& name) {
  const auto named = [&name](const Command& command) { return command.name == name; };
  const auto found = std::find_if(whole.commands.begin(), whole.commands.end(), named);
  return found == whole.commands.end() ? nullptr : &*found;
}

std::vector<std::string> flag_names(const Command& command) {
  std::vector<std::string> names = flags_of(kHelpNames);
  const auto add = [&names](const std::string& more) {
    for (const std::string& flag : flags_of(more)) names.push_back(flag);
  };
  if (!command.version.empty()) add(kVersionNames);
  for (const Option& option : command.options) add(option.names);
  return names;
}

std::vector<std::string> long_options(const Command& command) {
  std::vector<std::string> names = flag_names(command);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("--"); });
  return names;
}

bool takes_value(const Command& command, const std::string& name) {
  for (const Option& option : command.options) {
    const std::vector<std::string> flags = flags_of(option.names);
    if (std::find(flags.begin(), flags.end(), name) != flags.end())
      return !std::holds_alternative<bool*>(option.target);
  }
  return false;
}

}  // namespace hostprobe::cli
