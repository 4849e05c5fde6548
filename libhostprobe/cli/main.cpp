// main.cpp: argv becomes one subcommand; the only catch of the command.
//
// Room 4. What scripts want goes to stdout, what is said to a person goes to stderr. Exit 0 done, 1 could not (one line
// why), 2 usage; `run` exits with its program's status.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "analysis/trace.h"
#include "analysis/version.h"
#include "commands.h"

namespace hostprobe::cli {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  hostprobe run -o RUN -- torchrun --nproc-per-node=2 train.py\n"
    "  hostprobe report RUN\n"
    "  hostprobe dump RUN --json | head\n"
    "`hostprobe COMMAND --help` tells more about each command.";

// Everything behind `--` belongs to the program and must reach it untouched, whatever our own parser thinks of it.
std::vector<std::string> split_arguments(int argc, char** argv, Context& context) {
  std::vector<std::string> own;
  for (int i = 1; i < argc; ++i) {
    if (!context.has_separator && std::string_view(argv[i]) == "--") {
      context.has_separator = true;
    } else {
      (context.has_separator ? context.program : own).emplace_back(argv[i]);
    }
  }
  std::reverse(own.begin(), own.end());  // CLI11 takes its arguments from the back
  return own;
}

// CLI11 would only say that a command is missing.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == argv[1]) return;
    known += " " + command->get_name();
  }
  throw UsageError(fmt::format("no command '{}'; there are:{}", argv[1], known));
}

int run_command(int argc, char** argv) {
  CLI::App app("hostprobe finds, prices and fixes the time that large-model training loses on the host (CPU) side.",
               "hostprobe");
  app.set_version_flag("--version", fmt::format("hostprobe {} ({})", analysis::version(), analysis::commit()));
  app.require_subcommand(1);
  app.footer(kExamples);
  Context context;
  for (auto* add : {add_run, add_report, add_dump, add_recover, add_ctl, add_hooks, add_options}) add(app, context);
  refuse_unknown_command(app, argc, argv);
  try {
    app.parse(split_arguments(argc, argv, context));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write to stdout");
  return context.status;
}

int say(const std::string& what, int status) {
  fmt::print(stderr, "hostprobe: {}\n", what);
  return status;
}

}  // namespace
}  // namespace hostprobe::cli

int main(int argc, char** argv) {
  using namespace hostprobe::cli;
  try {
    return run_command(argc, argv);
  } catch (const UsageError& error) {
    return say(error.what(), kUsage);
  } catch (const hostprobe::analysis::TraceError& error) {
    return say(fmt::format("{} (offset {})", error.what(), error.offset), kCouldNot);
  } catch (const std::exception& error) {
    return say(error.what(), kCouldNot);
  }
}
