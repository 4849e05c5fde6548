// command_names.h: what the parser shows to people: its commands, and the long names of their options.
//
// Room 4. For the man pages, the completion, and the nearest name to a slip, which must all know the same.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hostprobe::cli {

// Without those that only the build calls.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);

// "--json", "--all", … in the order of --help.
std::vector<std::string> long_options(const CLI::App& command);

}  // namespace hostprobe::cli
