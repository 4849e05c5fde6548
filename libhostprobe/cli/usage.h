// usage.h: what a command line that asks for help, or cannot be understood, is answered: the nearest name, or that this
// version lacks it.
//
// Room 4.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace hostprobe::cli {

// Throws UsageError when `name` is no subcommand of `app`.
void refuse_unknown_command(const CLI::App& app, const std::string& name);

// Throws UsageError for the first of `words` that `command` did not take. `words` are in the order they were given in.
void refuse_unexpected(const CLI::App& command, const std::vector<std::string>& words);

// What the parser says of the value of an option, in our words where its own say too little.
std::string complaint_of_parser(const CLI::App& command, const CLI::ParseError& error);

// `hostprobe help`, `help COMMAND` and `version`, as the options that mean the same; other words as they are.
std::vector<std::string> words_asked(const CLI::App& app, std::vector<std::string> words);

// Index of the first word that belongs to the program of `hostprobe run`: the one behind `--`, else the first that is no
// option and no value of one; words.size() when there is none. Throws UsageError for an option that `run` does not have.
std::size_t program_begin(const CLI::App& run, const std::vector<std::string>& words);

}  // namespace hostprobe::cli
