// main.cpp: argv becomes one subcommand; the only catch of the command.
//
// Room 4. What scripts want goes to stdout, what is said to a person goes to stderr. Exit 0 done, 1 could not (one line
// why), 2 usage; `run` exits with its program's status.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <new>

#include "commands.h"
#include "memory.h"
#include "output.h"
#include "report/version.h"
#include "trace/trace.h"
#include "usage.h"

namespace hostprobe::cli {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  hostprobe run -o RUN -- torchrun --nproc-per-node=2 train.py\n"
    "  hostprobe report RUN\n"
    "  hostprobe dump RUN --json | head\n"
    "`hostprobe help COMMAND` tells more about each command.";

// What the parser shall see, in the order it takes them. The program of `run` and its arguments, and what stands behind `--`
// elsewhere, are cut off before: they must arrive untouched, whatever our own parser thinks of them.
std::vector<std::string> own_words(const CLI::App& app, const std::vector<std::string>& words, Context& context) {
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  const std::size_t behind_dashes =
      static_cast<std::size_t>(std::find(rest.begin(), rest.end(), "--") - rest.begin()) + 1;
  const std::size_t begin =
      words.front() == "run" ? program_begin(*app.get_subcommand("run"), rest) : std::min(behind_dashes, rest.size());
  context.words.assign(rest.begin() + static_cast<std::ptrdiff_t>(begin), rest.end());
  std::vector<std::string> own(words.begin(), words.begin() + 1 + static_cast<std::ptrdiff_t>(begin));
  if (own.back() == "--") own.pop_back();
  std::reverse(own.begin(), own.end());  // CLI11 takes its arguments from the back
  return own;
}

// What the parser refuses, in our words where those say more: its own list what is left from the back to the front.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string name = chosen.empty() ? "" : chosen.front()->get_name() + ": ";
  const std::string what = complaint_of_parser(chosen.empty() ? app : *chosen.front(), error);
  if (!chosen.empty()) refuse_unexpected(*chosen.front(), chosen.front()->remaining());
  refuse_unexpected(app, app.remaining());
  throw UsageError(fmt::format("{}{}; `hostprobe {}--help` tells more", name, what,
                               chosen.empty() ? "" : chosen.front()->get_name() + " "));
}

int parse(CLI::App& app, const std::vector<std::string>& words, Context& context) {
  if (words.empty()) throw UsageError(fmt::format("no command; `hostprobe help` lists them\n{}", kExamples));
  if (words.front()[0] != '-') refuse_unknown_command(app, words.front());
  try {
    app.parse(own_words(app, words, context));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) refuse(app, error);
    app.exit(error);  // --help, --version
  }
  return context.status;
}

int run_command(int argc, char** argv) {
  CLI::App app("hostprobe finds, prices and fixes the time that large-model training loses on the host (CPU) side.",
               "hostprobe");
  app.set_version_flag("-V,--version", fmt::format("hostprobe {} ({})", analysis::version(), analysis::commit()));
  app.require_subcommand(1);
  app.footer(kExamples);
  Context context;
  for (auto* add : {add_run, add_report, add_diff, add_dump, add_export, add_import, add_sched, add_recover, add_stacks,
                    add_ctl, add_hooks, add_options, add_doctor, add_manual})
    add(app, context);
  const int status = parse(app, words_asked(app, {argv + 1, argv + argc}), context);
  if (const auto why = memory_overrun()) cli::say(*why);
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write to stdout");
  return status;
}

int say(const std::string& what, int status) {
  cli::say(what);
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
  } catch (const std::bad_alloc&) {
    return say("the system gives no more memory; reports and diffs need less of it with a smaller --memory-mb",
               kCouldNot);
  } catch (const std::exception& error) {
    return say(error.what(), kCouldNot);
  }
}
