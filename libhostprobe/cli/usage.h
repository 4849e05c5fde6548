// usage.h: what a command line that cannot be understood is answered: the nearest name, or that this version lacks it.
//
// Room 4.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hostprobe::cli {

// The one of `names` with the fewest letters to change, "" when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

// Throws UsageError when `name` is no subcommand of `app`.
void refuse_unknown_command(const CLI::App& app, const std::string& name);

// Throws UsageError for the first of `words` that `command` did not take. `words` are in the order they were given in.
void refuse_unexpected(const CLI::App& command, const std::vector<std::string>& words);

// Index of the first word that belongs to the program of `hostprobe run`: the one behind `--`, else the first that is no
// option and no value of one; words.size() when there is none. Throws UsageError for an option that `run` does not have.
std::size_t program_begin(const CLI::App& run, const std::vector<std::string>& words);

}  // namespace hostprobe::cli
