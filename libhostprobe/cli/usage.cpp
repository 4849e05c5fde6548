// usage.cpp: see usage.h.
#include "usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "nearest.h"

namespace hostprobe::cli {
namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

std::string without_value(const std::string& word) { return word.substr(0, word.find('=')); }

[[noreturn]] void refuse_option(const Command& command, const std::string& word) {
  const std::string name = without_value(word);
  const std::string own = command.commands.empty() ? command.name : "";
  throw UsageError(fmt::format("{}no option {}{}; `hostprobe {}--help` lists all", own.empty() ? "" : own + ": ", name,
                               suggestion(name, long_options(command)), own.empty() ? "" : own + " "));
}

bool has_option(const Command& command, const std::string& name) {
  const std::vector<std::string> names = flag_names(command);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The option that a word names; -oRUN is one word.
std::string option_name(const std::string& word) {
  return word.starts_with("--") ? without_value(word) : word.substr(0, 2);
}

bool has_value_inside(const std::string& word) {
  return word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
}

}  // namespace

void refuse_unknown_command(const Command& whole, const std::string& name) {
  if (command_named(whole, name) != nullptr) return;
  std::vector<std::string> known;
  for (const Command* command : shown_commands(whole)) known.push_back(command->name);
  std::vector<std::string> answered = known;
  answered.insert(answered.end(), {"help", "version"});
  throw UsageError(
      fmt::format("no command '{}'{}; there are: {}", name, suggestion(name, answered), fmt::join(known, " ")));
}

void refuse_unexpected(const Command& command, const Words& words) {
  for (const std::string& word : words)
    if (is_option(word) && !has_option(command, without_value(word))) refuse_option(command, word);
  if (!words.empty())
    throw UsageError(fmt::format("{0}: '{1}' is one argument too many; `hostprobe {0} --help` lists what it takes",
                                 command.name, words.back()));
}

Words words_asked(const Command& whole, Words words) {
  const std::string first = words.empty() ? "" : words.front();
  if (first != "help" && first != "version") return words;
  if (first == "version" && words.size() > 1)
    throw UsageError(fmt::format("version takes nothing, not '{}'", words[1]));
  if (first == "version") return {"--version"};
  if (words.size() == 1 || words[1].starts_with("-") || words[1] == "help") return {"--help"};
  refuse_unknown_command(whole, words[1]);
  if (words.size() > 2)
    throw UsageError(
        fmt::format("help: '{}' is one argument too many; `hostprobe help {}` is all", words[2], words[1]));
  return {words[1], "--help"};
}

std::size_t program_begin(const Command& run, const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") return i + 1;
    if (!is_option(words[i])) return i;
    const std::string name = option_name(words[i]);
    if (!has_option(run, name)) refuse_option(run, words[i]);
    if (takes_value(run, name) && !has_value_inside(words[i])) ++i;
  }
  return words.size();
}

}  // namespace hostprobe::cli
