// output.h: writing to stdout, and telling a person how far a long reading is.
//
// Room 4. Used by the subcommands that read a run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hostprobe::cli {

// Throws std::system_error when stdout takes no more (a full disk), so that a cut-short output never passes as whole.
void write_out(std::string_view text);

// Says nothing for the first second, and nothing at all when stderr is no terminal.
std::function<void(std::uint64_t done, std::uint64_t all)> progress_on_stderr();

// Ends the line of the progress, if there is one.
void end_progress();

// "No trace was written" with what to check; for a run folder without a single trace.
std::string no_trace_text(const std::string& run);

}  // namespace hostprobe::cli
