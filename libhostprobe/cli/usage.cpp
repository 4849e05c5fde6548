// usage.cpp: see usage.h.
#include "usage.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "command_names.h"
#include "commands.h"
#include "nearest.h"

namespace hostprobe::cli {
namespace {

// Named by the documentation of the whole, and not built yet.
constexpr std::string_view kLaterCommands[] = {"top", "agent"};
struct LaterOption {
  std::string_view command, option;
};
constexpr LaterOption kLaterOptions[] = {{"run", "--sched"}, {"report", "--html"}};

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

std::string without_value(const std::string& word) { return word.substr(0, word.find('=')); }

[[noreturn]] void refuse_option(const CLI::App& command, const std::string& word) {
  const std::string name = without_value(word);
  for (const LaterOption& later : kLaterOptions)
    if (later.command == command.get_name() && later.option == name)
      throw UsageError(fmt::format("{}: {} is not in this version", command.get_name(), name));
  const std::string own = command.get_parent() == nullptr ? "" : command.get_name();
  throw UsageError(fmt::format("{}no option {}{}; `hostprobe {}--help` lists all", own.empty() ? "" : own + ": ", name,
                               suggestion(name, long_options(command)), own.empty() ? "" : own + " "));
}

// The option of `run` that a word names; -oRUN is one word.
const CLI::Option* option_of(const CLI::App& run, const std::string& word) {
  const bool is_long = word.starts_with("--");
  return run.get_option_no_throw(is_long ? without_value(word) : word.substr(0, 2));
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0 && option.get_type_size() > 0;
}

bool has_value_inside(const std::string& word) {
  return word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
}

}  // namespace

void refuse_unknown_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return;  // the hidden ones too
  std::vector<std::string> known;
  for (const CLI::App* command : shown_commands(app)) known.push_back(command->get_name());
  if (std::find(std::begin(kLaterCommands), std::end(kLaterCommands), name) != std::end(kLaterCommands))
    throw UsageError(fmt::format("{} is not in this version", name));
  std::vector<std::string> answered = known;
  answered.insert(answered.end(), {"help", "version"});
  throw UsageError(
      fmt::format("no command '{}'{}; there are: {}", name, suggestion(name, answered), fmt::join(known, " ")));
}

void refuse_unexpected(const CLI::App& command, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (is_option(word) && command.get_option_no_throw(without_value(word)) == nullptr) refuse_option(command, word);
  if (!words.empty())
    throw UsageError(fmt::format("{0}: '{1}' is one argument too many; `hostprobe {0} --help` tells what it takes",
                                 command.get_name(), words.back()));
}

std::string complaint_of_parser(const CLI::App& command, const CLI::ParseError& error) {
  const bool too_often = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  const bool no_number = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (!std::string_view(error.what()).starts_with(name + ":") && !no_number) continue;
    if (too_often && option->count() > 1 && option->get_items_expected_max() == 1)
      return fmt::format("{} is given {} times; give it once", name, option->count());
    const std::string value = fmt::format("{}", fmt::join(option->results(), ","));
    if (no_number && error.what() == fmt::format("Could not convert: {} = {}", name, value))
      return fmt::format("{} takes {}, not '{}'", name, takes_value(*option) ? "a number" : "no value", value);
  }
  return error.what();
}

std::vector<std::string> words_asked(const CLI::App& app, std::vector<std::string> words) {
  const std::string first = words.empty() ? "" : words.front();
  if (first != "help" && first != "version") return words;
  if (first == "version" && words.size() > 1)
    throw UsageError(fmt::format("version takes nothing, not '{}'", words[1]));
  if (first == "version") return {"--version"};
  if (words.size() == 1 || words[1].starts_with("-") || words[1] == "help") return {"--help"};
  refuse_unknown_command(app, words[1]);
  if (words.size() > 2)
    throw UsageError(
        fmt::format("help: '{}' is one argument too many; `hostprobe help {}` is all", words[2], words[1]));
  return {words[1], "--help"};
}

std::size_t program_begin(const CLI::App& run, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") return i + 1;
    if (!is_option(words[i])) return i;
    const CLI::Option* option = option_of(run, words[i]);
    if (option == nullptr) refuse_option(run, words[i]);
    if (takes_value(*option) && !has_value_inside(words[i])) ++i;
  }
  return words.size();
}

}  // namespace hostprobe::cli
