// output.h: writing to stdout and to a person, and telling how far a long reading is.
//
// Room 4. Names in a trace, files and what a process answers are other people's text, so all that
// may reach a terminal goes through here and can steer none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hostprobe::cli {

// Throws std::system_error when stdout takes no more (a full disk), so that a cut-short output never passes as whole.
void write_out(std::string_view text);
void write_json(std::string_view json);

// A line on stderr, "hostprobe: " before it.
void say(std::string_view text);

// Says nothing for the first second, and nothing at all when stderr is no terminal.
std::function<void(std::uint64_t done, std::uint64_t all)> progress_on_stderr();

// Ends the line of the progress, if there is one.
void end_progress();

}  // namespace hostprobe::cli
