// command_line.h: words become a call of one command.
//
// Room 4. command_line.cpp alone includes the parser (CLI11): a house rule keeps it so. Words of a program that `run`
// starts, and words behind `--`, never reach the parser.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace hostprobe::cli {

// Runs the command of `whole` that the words ask for, or prints its help; returns the exit status. Throws UsageError for
// what cannot be understood, and whatever the command throws.
int run_words(const Command& whole, const Words& words);

// An option as --help writes it.
struct OptionText {
  std::string names;  // "-o, --out RUN"
  std::string meaning;
};

// Of one of the commands of `whole`, or of `whole` itself; in the order of --help.
std::vector<OptionText> option_texts(const Command& whole, const Command& command);

}  // namespace hostprobe::cli
