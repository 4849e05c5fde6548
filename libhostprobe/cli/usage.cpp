// usage.cpp: see usage.h.
#include "usage.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

#include "command_names.h"
#include "commands.h"

namespace hostprobe::cli {
namespace {

// Named by the documentation of the whole, and not built yet.
constexpr std::string_view kLaterCommands[] = {"top", "agent"};
struct LaterOption {
  std::string_view command, option;
};
constexpr LaterOption kLaterOptions[] = {{"run", "--sched"}, {"report", "--html"}};

// Edit distance; one row of the usual table.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1] ? 1 : 0)});
      corner = above;
    }
  }
  return row[b.size()];
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

std::string without_value(const std::string& word) { return word.substr(0, word.find('=')); }

std::string suggestion(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return near.empty() ? "" : fmt::format("; the nearest is {}", near);
}

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

bool has_value_inside(const std::string& word) {
  return word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
}

}  // namespace

std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& each : names) {
    const std::size_t letters = distance(name, each);
    // More than half of it changed is another word, not a slip.
    if (letters < least && letters * 2 <= std::max(name.size(), each.size())) {
      least = letters;
      best = each;
    }
  }
  return best;
}

void refuse_unknown_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return;  // the hidden ones too
  std::vector<std::string> known;
  for (const CLI::App* command : shown_commands(app)) known.push_back(command->get_name());
  if (std::find(std::begin(kLaterCommands), std::end(kLaterCommands), name) != std::end(kLaterCommands))
    throw UsageError(fmt::format("{} is not in this version", name));
  throw UsageError(
      fmt::format("no command '{}'{}; there are: {}", name, suggestion(name, known), fmt::join(known, " ")));
}

void refuse_unexpected(const CLI::App& command, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (is_option(word) && command.get_option_no_throw(without_value(word)) == nullptr) refuse_option(command, word);
  if (!words.empty())
    throw UsageError(fmt::format("{0}: '{1}' is one argument too many; `hostprobe {0} --help` tells what it takes",
                                 command.get_name(), words.back()));
}

std::size_t program_begin(const CLI::App& run, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") return i + 1;
    if (!is_option(words[i])) return i;
    const CLI::Option* option = option_of(run, words[i]);
    if (option == nullptr) refuse_option(run, words[i]);
    const bool takes_value = option->get_items_expected_max() > 0 && option->get_type_size() > 0;
    if (takes_value && !has_value_inside(words[i])) ++i;
  }
  return words.size();
}

}  // namespace hostprobe::cli
