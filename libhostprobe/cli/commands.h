// commands.h: the subcommands of `hostprobe`, one file each.
//
// Room 4. main.cpp asks each to add itself to the parser; the one that was chosen does its work in its callback and
// leaves the exit status in Context. Errors are thrown: main.cpp holds the only catch.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hostprobe::cli {

inline constexpr int kDone = 0;
inline constexpr int kCouldNot = 1;
inline constexpr int kUsage = 2;

struct Context {
  int status = kDone;
  std::vector<std::string> words;  // of `run`: the program and its arguments; elsewhere what stands behind `--`
};

// The command line asks for something that cannot be: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void add_run(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_diff(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_dump(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_recover(CLI::App& app, Context& context);
void add_hooks(CLI::App& app, Context& context);
void add_ctl(CLI::App& app, Context& context);
void add_sched(CLI::App& app, Context& context);
void add_stacks(CLI::App& app, Context& context);
void add_options(CLI::App& app, Context& context);
void add_manual(CLI::App& app, Context& context);  // and completion

}  // namespace hostprobe::cli
