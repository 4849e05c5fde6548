// run.cpp: `hostprobe run`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "commands.h"
#include "job_file.h"
#include "layout.h"
#include "missing_trace.h"
#include "options.h"
#include "output.h"
#include "program.h"
#include "program_file.h"
#include "run_folders.h"
#include "setting_value.h"
#include "trace/jobs.h"
#include "trace/recover.h"

namespace hostprobe::cli {
namespace {

namespace fs = std::filesystem;
constexpr int kMostSimulatedGpus = 64;

struct RunArguments {
  std::vector<std::optional<std::string>> values;  // of settings(), same order; without one where it is not given
  int simulated_gpus = 0;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string prepended(const std::string& front, const std::string& rest) {
  return rest.empty() ? front : front + ":" + rest;
}

std::string preloaded_library() {
  const std::string library = probe_library();
  // The dynamic loader separates names by blanks and colons and knows no quoting.
  if (library.find_first_of(" :") != std::string::npos) {
    throw std::runtime_error("LD_PRELOAD cannot name " + library +
                             ": install hostprobe in a folder without blanks and colons");
  }
  return library;
}

// The empty name behind a runtime says that it stands there for this program alone: the probe takes it out again.
std::string preload_for(const ProgramFile& program) {
  const std::string given = variable("LD_PRELOAD"), ours = prepended(preloaded_library(), given);
  if (program.fails_with_us) return given;
  return program.runtime_before_us.empty() ? ours : program.runtime_before_us + "::" + ours;
}

// Before the run folder is made: a command that cannot work must not leave an empty folder behind.
Environment environment_of(const RunArguments& arguments, const ProgramFile& program) {
  Environment environment;
  for (std::size_t i = 0; i < settings().size(); ++i) {
    if (settings()[i].name != "out" && arguments.values[i])
      environment.emplace_back(settings()[i].environment(), *arguments.values[i]);
  }
  if (const std::string preload = preload_for(program); !preload.empty())
    environment.emplace_back("LD_PRELOAD", preload);
  if (arguments.simulated_gpus > 0) {
    environment.emplace_back("SIMNODE_GPUS", std::to_string(arguments.simulated_gpus));
    environment.emplace_back("LD_LIBRARY_PATH", prepended(simnode_folder(), variable("LD_LIBRARY_PATH")));
  }
  return environment;
}

void set_environment(const Environment& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  setenv("NCCL_SET_THREAD_NAME", "1", 0);  // off by default; names make a report readable
  setenv("HOSTPROBE_LAUNCHED", std::to_string(getpid()).c_str(), 1);
}

// Of one job, among all that are in the folder; of the newest where there was no room for its file.
std::vector<std::string> traces_of_job(const std::string& run, const std::string& job_file) {
  const std::vector<analysis::Job> jobs = analysis::jobs_of(run);
  if (job_file.empty()) return jobs.empty() ? std::vector<std::string>() : jobs.back().traces;
  for (const analysis::Job& job : jobs)
    if (std::any_of(job.files.begin(), job.files.end(), [&](const auto& file) { return file.path == job_file; }))
      return job.traces;
  return {};
}

// Only a note: whatever happens to the traces, the program's own status is what `run` exits with.
void say_end(const std::string& run, const std::string& job_file) {
  try {
    std::size_t recovered = 0;
    const std::vector<analysis::RecoveryAnswer> answers = analysis::recover_run(run);
    join_windows(run);
    const std::vector<std::string> own = traces_of_job(run, job_file);
    for (const auto& answer : answers) {
      const bool is_own = std::find(own.begin(), own.end(), answer.path) != own.end();
      recovered += is_own && answer.result == analysis::Recovery::kDone ? 1 : 0;
      if (answer.result == analysis::Recovery::kFailed) say(answer.path + ": " + answer.what);
    }
    if (own.empty()) {
      say(no_trace_text(run, job_file, !answers.empty()));  // what earlier ones did must not be taken for its own
      return;
    }
    const std::string note =
        recovered == 0 ? "" : fmt::format(", {} of them saved from processes that were killed", recovered);
    say(fmt::format("{} trace{} in {}{}", own.size(), own.size() == 1 ? "" : "s", run, note));
    say("next: hostprobe report " + run);
  } catch (const std::exception& error) {
    say(fmt::format("cannot look into {}: {}", run, error.what()));
  }
}

// What the program is going to find in its environment.
std::string setting_for_program(const std::string& name, const Environment& environment) {
  for (const Setting& setting : settings()) {
    if (setting.name != name) continue;
    const std::string key = setting.environment();
    const auto given =
        std::find_if(environment.begin(), environment.end(), [&](const auto& e) { return e.first == key; });
    if (given != environment.end()) return given->second;
    const std::string inherited = variable(key.c_str());
    return inherited.empty() ? setting.usual : inherited;
  }
  return {};
}

std::string start_failure(const std::string& program, int error) {
  return fmt::format("cannot start {}: {}", program, std::strerror(error));
}

std::string value_given(const RunArguments& arguments, const std::string& name) {
  for (std::size_t i = 0; i < settings().size(); ++i)
    if (settings()[i].name == name) return arguments.values[i].value_or("");
  return {};
}

// A job that runs for hours with the default in place of what was meant is worse than one that does not start.
void check_settings(const RunArguments& arguments) {
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    const std::optional<std::string>& given = arguments.values[i];
    const char* inherited = std::getenv(setting.environment().c_str());
    if (!given && inherited == nullptr) continue;
    const std::string problem =
        given ? complaint(setting, *given, setting.flag()) : complaint(setting, inherited, setting.environment());
    if (!problem.empty()) throw UsageError("run: " + problem);
  }
}

int run(const RunArguments& arguments, const Words& words) {
  if (words.empty()) {
    throw UsageError("run: no program. Write `hostprobe run [OPTIONS] PROGRAM ARGS…`");
  }
  check_settings(arguments);
  const ProgramFile program = look_at_program(words.front());
  Environment environment = environment_of(arguments, program);
  const NewRunFolder folder = make_run_folder(value_given(arguments, "out"));
  environment.emplace_back("HOSTPROBE_OUT", folder.path);
  const Recording recording{setting_for_program("target", environment), setting_for_program("off", environment) == "1",
                            program.obstacle};
  std::optional<JobFile> job;
  const ProgramEnd end = run_program(
      words, [&environment] { set_environment(environment); },
      [&](int pid, int start_error) {
        // Of a program that did not start nothing is left, but in a folder of other jobs the reason.
        if (start_error != 0 && folder.is_new) return;
        try {
          job.emplace(folder.path, words, recording, pid);
        } catch (const std::exception& error) {
          say(error.what());  // a full disk: the program runs already, and `run` waits for it all the same
        }
      });
  if (end.start_error != 0) {
    if (job) job->fail(std::strerror(end.start_error));
    std::error_code ignored;
    if (folder.is_new) fs::remove(folder.path, ignored);  // as long as nobody else has put anything into it
    say(start_failure(words.front(), end.start_error));
    return end.start_error == ENOENT ? kNotFound : kNotExecutable;
  }
  if (job) job->finish(end.status);
  say_end(folder.path, job ? job->path() : std::string());
  return end.status;
}

// The others fill two screens: they come behind those that most people need.
constexpr char kRareSettings[] = "Settings that few need";

bool is_often_used(std::string_view setting) {
  constexpr std::string_view kOften[] = {"out", "mode", "target", "fix", "steps"};
  return std::find(std::begin(kOften), std::end(kOften), setting) != std::end(kOften);
}

Option setting_option(const Setting& setting, std::optional<std::string>& value) {
  const bool is_out = setting.name == "out";
  const std::string usual = is_out ? "HOSTPROBE_OUT, else hostprobe-run-DATE-TIME" : setting.usual;
  return {.names = is_out ? "-o,--out" : setting.flag(),
          .target = &value,
          .meaning = fmt::format("{} [{}]", setting.meaning, usual),
          .value_name = is_out ? "RUN" : setting.values(),
          .group = is_often_used(setting.name) ? "" : kRareSettings};
}

std::vector<Option> options_into(RunArguments& arguments) {
  std::vector<Option> options;
  arguments.values.resize(settings().size());
  for (std::size_t i = 0; i < settings().size(); ++i)
    options.push_back(setting_option(settings()[i], arguments.values[i]));
  options.push_back({.names = "--simgpu",
                     .target = &arguments.simulated_gpus,
                     .meaning = "Put a simulated GPU driver with N devices on the library path",
                     .value_name = "N",
                     .range = Range{1, kMostSimulatedGpus}});
  return options;
}

}  // namespace

Command run_command() {
  auto arguments = std::make_shared<RunArguments>();
  return {.name = "run",
          .summary = "Runs a program with hostprobe loaded: hostprobe run [OPTIONS] [--] PROGRAM ARGS…",
          .options = options_into(*arguments),
          .notes =
              "The program begins at the first word that is no option; all words after it belong to the program.\n"
              "Exits with the program's status, 128 + signal when it was killed, 127 when there is no such program, "
              "126 when "
              "it\n"
              "cannot be executed; then a run folder that was made for it is removed. Prints nothing on stdout.\n"
              "A setting that cannot be used, here or in the environment, ends it with 2 before the program starts.\n"
              "Examples:\n  hostprobe run -o RUN -- torchrun --nproc-per-node=2 train.py\n"
              "  hostprobe run --simgpu 1 -- build/examples/train_loop\n"
              "  hostprobe run --target all --buffer-mb 64 -- make -j8",
          .run = [arguments](const Words& words) { return run(*arguments, words); }};
}

}  // namespace hostprobe::cli
