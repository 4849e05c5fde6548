// main.cpp: the list of the commands; the only catch of the command.
//
// Room 4. What scripts want goes to stdout, what is said to a person goes to stderr. Exit 0 done, 1 could not (one line
// why), 2 usage; `run` exits with its program's status.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>

#include "command_line.h"
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
    "  hostprobe run -o RUN -- torchrun --nproc-per-node=2 train.py    records a job, and changes nothing in it\n"
    "  hostprobe report RUN                                            says what is wrong, where, and what to do\n"
    "  hostprobe diff RUN AFTER                                        measures what a change did\n"
    "  hostprobe doctor                                                says what this machine does not allow\n"
    "`hostprobe help COMMAND` says more about each command.";

Command whole_command() {
  return {
      .name = "hostprobe",
      .summary = "hostprobe finds, prices and fixes the time that large-model training loses on the host (CPU) side.",
      .notes = kExamples,
      .version = fmt::format("hostprobe {} ({})", analysis::version(), analysis::commit()),
      .commands = {run_command(), report_command(), diff_command(), explain_command(), dump_command(), export_command(),
                   import_command(), sched_command(), recover_command(), stacks_command(), top_command(), ctl_command(),
                   job_command(), agent_command(), hooks_command(), options_command(), schema_command(),
                   doctor_command()}};
}

int run(const Words& words) {
  Command whole = whole_command();
  whole.commands.push_back(manual_command(whole));
  whole.commands.push_back(completion_command(whole));
  const int status = run_words(whole, words_asked(whole, words));
  if (const auto why = memory_overrun()) cli::say(*why);
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write to stdout");
  return status;
}

int failed(const std::string& what, int status) {
  cli::say(what);
  return status;
}

}  // namespace
}  // namespace hostprobe::cli

int main(int argc, char** argv) {
  using namespace hostprobe::cli;
  try {
    return run({argv + 1, argv + argc});
  } catch (const UsageError& error) {
    return failed(error.what(), kUsage);
  } catch (const hostprobe::analysis::TraceError& error) {
    return failed(fmt::format("{} (offset {})", error.what(), error.offset), kCouldNot);
  } catch (const std::bad_alloc&) {
    return failed("the system gives no more memory; reports and diffs need less of it with a smaller --memory-mb",
                  kCouldNot);
  } catch (const std::exception& error) {
    return failed(error.what(), kCouldNot);
  }
}
