// manual.cpp: `hostprobe manual` and `hostprobe completion`: man pages and the completion of bash, out of the parser itself.
//
// Room 4. The build installs what they print; hidden from --help.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "command_names.h"
#include "commands.h"
#include "output.h"
#include "report/version.h"

namespace hostprobe::cli {
namespace {

// In roff a line that begins with a point or a quote is a request, and a backslash an escape.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool at_start = result.empty() || result.back() == '\n';
    if (at_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string flags_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const bool takes_value = option.get_items_expected_max() > 0;
  return fmt::format("{}{}", fmt::join(names, ", "), takes_value ? " " + option.get_type_name() : "");
}

std::string options_section(const CLI::App& command) {
  std::string text = ".SH OPTIONS\n";
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_positional() ? option->get_name(true) : flags_of(*option);
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(option->get_description()));
  }
  return text;
}

std::string commands_section(const CLI::App& app) {
  std::string text = ".SH COMMANDS\n";
  for (const CLI::App* command : shown_commands(app))
    text += fmt::format(".TP\n\\fBhostprobe\\-{}\\fR(1)\n{}\n", command->get_name(), roff(command->get_description()));
  return text;
}

std::string page(const CLI::App& app, const CLI::App& command) {
  const bool whole = &app == &command;
  const std::string name = whole ? "hostprobe" : "hostprobe-" + command.get_name();
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"hostprobe {}\"\n.SH NAME\n{} \\- {}\n", name, analysis::version(),
                                 roff(name), roff(command.get_description()));
  text += fmt::format(".SH SYNOPSIS\n\\fBhostprobe {}\\fR [OPTIONS] \\fI...\\fR\n",
                      whole ? "COMMAND" : roff(command.get_name()));
  if (whole) text += commands_section(app);
  text += options_section(command);
  return text + fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.get_footer()));
}

void write_pages(const CLI::App& app, const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::vector<const CLI::App*> commands = shown_commands(app);
  commands.push_back(&app);
  for (const CLI::App* command : commands) {
    const std::string name = command == &app ? "hostprobe" : "hostprobe-" + command->get_name();
    std::ofstream file(folder + "/" + name + ".1");
    file << page(app, *command);
    if (!file.flush()) throw std::runtime_error("cannot write " + folder + "/" + name + ".1");
  }
}

// Names of files complete what is no option; behind the program of `run` its own completion is at work.
constexpr char kScript[] =
    R"(# Completion of hostprobe for bash; zsh takes it after `autoload bashcompinit && bashcompinit`.
_hostprobe() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} options
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{0} --help --version" -- "$word"))
    return
  fi
  if [[ $command == run ]]; then
    local i
    for ((i = 2; i < COMP_CWORD; ++i)); do
      if [[ ${{COMP_WORDS[i]}} == -- ]] && declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
        return
      fi
    done
  fi
  case $command in
{1}  esac
  [[ $word == -* ]] && COMPREPLY=($(compgen -W "$options" -- "$word"))
}}
complete -o default -F _hostprobe hostprobe
)";

std::string completion(const CLI::App& app) {
  std::string names, cases;
  for (const CLI::App* command : shown_commands(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {}) options='{}' ;;\n", command->get_name(), fmt::join(long_options(*command), " "));
  }
  return fmt::format(kScript, names, cases);
}

}  // namespace

void add_manual(CLI::App& app, Context& context) {
  auto* manual = app.add_subcommand("manual", "Writes the man pages into a folder.")->group("");
  auto folder = std::make_shared<std::string>();
  manual->add_option("FOLDER", *folder, "Made if missing")->required();
  manual->callback([folder, &app, &context] {
    write_pages(app, *folder);
    context.status = kDone;
  });
  auto* script = app.add_subcommand("completion", "Prints the completion script of bash.")->group("");
  script->callback([&app, &context] {
    write_out(completion(app));
    context.status = kDone;
  });
}

}  // namespace hostprobe::cli
