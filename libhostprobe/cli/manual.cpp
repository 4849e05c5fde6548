// manual.cpp: `hostprobe manual` and `hostprobe completion`: man pages and the completion of bash, made of the table of commands.
//
// Room 4. The build installs what they print; hidden from --help.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "command_line.h"
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

std::string options_section(const Command& whole, const Command& command) {
  std::string text = ".SH OPTIONS\n";
  for (const OptionText& option : option_texts(whole, command))
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(option.names), roff(option.meaning));
  return text;
}

std::string commands_section(const Command& whole) {
  std::string text = ".SH COMMANDS\n";
  for (const Command* command : shown_commands(whole))
    text += fmt::format(".TP\n\\fBhostprobe\\-{}\\fR(1)\n{}\n", command->name, roff(command->summary));
  return text;
}

std::string page_name(const Command& whole, const Command& command) {
  return &command == &whole ? whole.name : whole.name + "-" + command.name;
}

std::string page(const Command& whole, const Command& command) {
  const bool is_whole = &command == &whole;
  const std::string name = page_name(whole, command);
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"hostprobe {}\"\n.SH NAME\n{} \\- {}\n", name, analysis::version(),
                                 roff(name), roff(command.summary));
  text += fmt::format(".SH SYNOPSIS\n\\fBhostprobe {}\\fR [OPTIONS] \\fI...\\fR\n",
                      is_whole ? "COMMAND" : roff(command.name));
  if (is_whole) text += commands_section(whole);
  text += options_section(whole, command);
  return text + fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.notes));
}

void write_pages(const Command& whole, const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::vector<const Command*> commands = shown_commands(whole);
  commands.push_back(&whole);
  for (const Command* command : commands) {
    const std::string path = folder + "/" + page_name(whole, *command) + ".1";
    std::ofstream file(path);
    file << page(whole, *command);
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
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

std::string completion(const Command& whole) {
  std::string names, cases;
  for (const Command* command : shown_commands(whole)) {
    names += (names.empty() ? "" : " ") + command->name;
    cases += fmt::format("    {}) options='{}' ;;\n", command->name, fmt::join(long_options(*command), " "));
  }
  return fmt::format(kScript, names, cases);
}

}  // namespace

Command manual_command(const Command& whole) {
  auto folder = std::make_shared<std::string>();
  const auto run = [folder, &whole](const Words&) {
    write_pages(whole, *folder);
    return kDone;
  };
  return {.name = "manual",
          .summary = "Writes the man pages into a folder.",
          .options = {{.names = "FOLDER", .target = folder.get(), .meaning = "Made if missing", .required = true}},
          .run = run,
          .hidden = true};
}

Command completion_command(const Command& whole) {
  const auto run = [&whole](const Words&) {
    write_out(completion(whole));
    return kDone;
  };
  return {.name = "completion", .summary = "Prints the completion script of bash.", .run = run, .hidden = true};
}

}  // namespace hostprobe::cli
