// command.h: a command of `hostprobe` as a plain table: what it is called, what it takes and what it does.
//
// Room 4. The parser (command_line.h), the man pages and the answers to slips (usage.h) are all made of this table, so
// they cannot disagree. The files of the commands know no parser, because its header costs seconds in each file.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace hostprobe::cli {

inline constexpr int kDone = 0;
inline constexpr int kCouldNot = 1;
inline constexpr int kUsage = 2;
inline constexpr int kCannotTell = 3;  // of `diff --fail-over`

// The command line asks for something that cannot be: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Words = std::vector<std::string>;

// Where a value goes; its type is what a value may be. A bool is a switch and takes none; Words take all that are left.
using Target = std::variant<bool*, std::string*, std::optional<std::string>*, Words*, int*, unsigned*, double*,
                            std::optional<int>*, std::optional<unsigned>*>;

// Both ends are values too.
struct Range {
  double least, most;
};

struct Option {
  std::string names;            // "-o,--out"; a positional has no dash: "RUN"
  Target target;                // lives as long as the command
  std::string meaning;          // in --help
  std::string value_name = {};  // in --help; "": the type of the target
  std::optional<Range> range = {};
  std::vector<std::string> choices = {};                            // empty: any value
  std::function<std::string(const std::string& value)> check = {};  // what is wrong with a value; "": nothing
  bool required = false;
  bool shows_usual = false;  // --help names the value that the target has before
  std::string group = {};    // under which heading --help has it; "": with the others
};

struct Command {
  std::string name;
  std::string summary;
  std::vector<Option> options = {};  // in the order of --help
  std::string notes = {};            // what --help ends with: details and examples; "": those of `hostprobe`
  // Does the work and returns the exit status. `words` is the program of `run` with its arguments; elsewhere what stands
  // behind `--`.
  std::function<int(const Words& words)> run = {};
  bool hidden = false;  // only the build calls it

  // Of `hostprobe` itself alone.
  std::string version = {};  // what --version says
  std::vector<Command> commands = {};
};

// The options that the parser answers itself: of every command, and of `hostprobe` alone.
inline constexpr char kHelpNames[] = "-h,--help";
inline constexpr char kVersionNames[] = "-V,--version";

// The commands that are not hidden.
std::vector<const Command*> shown_commands(const Command& whole);

// nullptr: there is none of that name, hidden ones included.
const Command* command_named(const Command& whole, const std::string& name);

// "-h", "--help", "--json", … in the order of --help.
std::vector<std::string> flag_names(const Command& command);

// "--help", "--json", …
std::vector<std::string> long_options(const Command& command);

// Whether a word behind the option `name` is its value.
bool takes_value(const Command& command, const std::string& name);

}  // namespace hostprobe::cli
