// usage.h: what a command line that asks for help, or cannot be understood, is answered: the nearest name, or that this
// version lacks it.
//
// Room 4.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace hostprobe::cli {

// Throws UsageError when `name` is no command of `whole`.
void refuse_unknown_command(const Command& whole, const std::string& name);

// Throws UsageError for the first of `words` that `command` did not take. `words` are in the order they were given in.
void refuse_unexpected(const Command& command, const Words& words);

// `hostprobe help`, `help COMMAND` and `version`, as the options that mean the same; other words as they are.
Words words_asked(const Command& whole, Words words);

// Index of the first word that belongs to the program of `hostprobe run`: the one behind `--`, else the first that is no
// option and no value of one; words.size() when there is none. Throws UsageError for an option that `run` does not have.
std::size_t program_begin(const Command& run, const Words& words);

}  // namespace hostprobe::cli
