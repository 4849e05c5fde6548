// shell_word.h: a word of a command that a reader of a page copies into a shell.
//
// Room 3. A run folder may have any name, and pasting it must run nothing.
#pragma once

#include <string>
#include <string_view>

namespace hostprobe::analysis {

// Quoted where the shell would see more in it than a word.
std::string shell_word(std::string_view word);

}  // namespace hostprobe::analysis
