// command_line.cpp: see command_line.h.
#include "command_line.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "usage.h"

namespace hostprobe::cli {
namespace {

CLI::Option* add_to(CLI::App& app, const Option& option, bool& target) {
  return app.add_flag(option.names, target, option.meaning);
}

// By a function: the parser itself would take an empty text for none.
CLI::Option* add_to(CLI::App& app, const Option& option, std::optional<std::string>& target) {
  const auto set = [&target](const std::string& text) { target = text; };
  return app.add_option_function<std::string>(option.names, set, option.meaning);
}

template <typename Value>
CLI::Option* add_to(CLI::App& app, const Option& option, Value& target) {
  return app.add_option(option.names, target, option.meaning);
}

// What a target holds, with or without a value.
template <typename Value>
Value value_of(const Value&);
template <typename Value>
Value value_of(const std::optional<Value>&);

// What stands behind an option in --help: the parser's own names of types say nothing to a reader.
std::string value_text(const Option& option, bool is_number) {
  if (!option.value_name.empty()) return option.value_name;
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, "|"));
  if (!option.names.starts_with("-")) return "";  // its name is that of the value
  return is_number ? "NUMBER" : "TEXT";
}

std::string meaning_of(const Option& option) {
  constexpr double kLargest = 1e6;  // a limit beyond is met by nothing but a slip
  if (!option.range || option.range->most > kLargest) return option.meaning;
  return fmt::format("{}, {:.10g} to {:.10g}", option.meaning, option.range->least, option.range->most);
}

template <typename Value>
void add_option(CLI::App& app, const Option& option, Value& target) {
  CLI::Option* added = add_to(app, option, target);
  using Single = decltype(value_of(target));
  if constexpr (std::is_arithmetic_v<Single> && !std::is_same_v<Single, bool>) {
    if (option.range)
      added->check(CLI::Range(static_cast<Single>(option.range->least), static_cast<Single>(option.range->most))
                       .description(""));
    added->description(meaning_of(option));
  }
  if (!option.choices.empty()) added->check(CLI::IsMember(option.choices).description(""));
  if (option.check) added->check(option.check);
  if constexpr (!std::is_same_v<Single, bool>) added->type_name(value_text(option, std::is_arithmetic_v<Single>));
  if (option.shows_usual) added->capture_default_str();
  if (!option.group.empty()) added->group(option.group);
  added->required(option.required);
}

void add_command(CLI::App& app, const Command& command) {
  CLI::App* added = app.add_subcommand(command.name, command.summary);
  if (command.hidden) added->group("");
  if (!command.notes.empty()) added->footer(command.notes);
  for (const Option& option : command.options)
    std::visit([&](auto* target) { add_option(*added, option, *target); }, option.target);
}

std::unique_ptr<CLI::App> parser_of(const Command& whole) {
  auto app = std::make_unique<CLI::App>(whole.summary, whole.name);
  app->set_version_flag(kVersionNames, whole.version);
  app->require_subcommand(1);
  app->footer(whole.notes);
  for (const Command& command : whole.commands) add_command(*app, command);
  return app;
}

// The words of the command itself, in the order the parser takes them, and the others. The program of `run` and its
// arguments, and what stands behind `--` elsewhere, must arrive untouched, whatever the parser thinks of them.
struct Split {
  Words own, others;
};

Split split(const Command& whole, const Words& words) {
  const Words rest(words.begin() + 1, words.end());
  const std::size_t behind_dashes =
      static_cast<std::size_t>(std::find(rest.begin(), rest.end(), "--") - rest.begin()) + 1;
  const std::size_t begin =
      words.front() == "run" ? program_begin(*command_named(whole, "run"), rest) : std::min(behind_dashes, rest.size());
  const auto middle = static_cast<std::ptrdiff_t>(begin);
  Split parts{Words(words.begin(), words.begin() + 1 + middle), Words(rest.begin() + middle, rest.end())};
  if (parts.own.back() == "--") parts.own.pop_back();
  std::reverse(parts.own.begin(), parts.own.end());  // CLI11 takes its arguments from the back
  return parts;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0 && option.get_type_size() > 0;
}

// What the parser says of the value of an option, in our words where its own say too little.
std::string complaint_of(const CLI::App& app, const CLI::ParseError& error) {
  const bool too_often = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  const bool no_number = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  for (const CLI::Option* option : app.get_options()) {
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

// nullptr: the parser found no command.
const CLI::App* chosen_by(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? nullptr : chosen.front();
}

// What the parser refuses, in our words where those say more: its own list what is left from the back to the front.
[[noreturn]] void refuse(const Command& whole, const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* chosen = chosen_by(app);
  const std::string what = complaint_of(chosen == nullptr ? app : *chosen, error);
  const std::string name = chosen == nullptr ? "" : chosen->get_name();
  if (chosen != nullptr) refuse_unexpected(*command_named(whole, name), chosen->remaining());
  refuse_unexpected(whole, app.remaining());
  throw UsageError(fmt::format("{}{}; `hostprobe {}--help` says more", name.empty() ? "" : name + ": ", what,
                               name.empty() ? "" : name + " "));
}

std::string names_text(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const bool has_value = option.get_items_expected_max() > 0;
  return fmt::format("{}{}", fmt::join(names, ", "), has_value ? " " + option.get_type_name() : "");
}

}  // namespace

int run_words(const Command& whole, const Words& words) {
  if (words.empty())
    throw UsageError(
        fmt::format("no command; record a job first, then ask for its report. `hostprobe help` lists all commands.\n{}",
                    whole.notes));
  if (words.front()[0] != '-') refuse_unknown_command(whole, words.front());
  const std::unique_ptr<CLI::App> app = parser_of(whole);
  Split parts = split(whole, words);
  try {
    app->parse(std::move(parts.own));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) refuse(whole, *app, error);
    app->exit(error);  // --help, --version
    return kDone;
  }
  return command_named(whole, chosen_by(*app)->get_name())->run(parts.others);
}

std::vector<OptionText> option_texts(const Command& whole, const Command& command) {
  const std::unique_ptr<CLI::App> app = parser_of(whole);
  std::vector<OptionText> texts;
  const CLI::App* shown = &command == &whole ? app.get() : app->get_subcommand(command.name);
  for (const CLI::Option* option : shown->get_options())
    texts.push_back({names_text(*option), option->get_description()});
  return texts;
}

}  // namespace hostprobe::cli
