// package.cpp: `hostprobe job` and `hostprobe agent`, which are the Python package's: its module in the place of this process.
//
// Room 4. They need DuckDB, Spark or a client of Prometheus, which have no place in this program (docs/decisions/0047-job-by-sql.md). Python
// says what is missing of them.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <vector>

#include "commands.h"
#include "layout.h"

namespace hostprobe::cli {
namespace {

constexpr char kJobNotes[] =
    "DATA: a folder of step rows, as hostprobe.to_step_rows writes them for each run, or a run folder.\n"
    "It is `python3 -m hostprobe.job`, and needs DuckDB: pip install 'hostprobe[job]'; with --engine spark pyspark and "
    "Java.\n"
    "Examples:\n  hostprobe job hostprobe-run --html job.html\n  hostprobe job /shared/rows --trigger next --text "
    "'loss is NaN'";

constexpr char kAgentNotes[] =
    "Run one on each host. It finds the recording processes of its user (as root: of all users) and asks each for its "
    "status.\n"
    "It is `python3 -m hostprobe.agent`, and needs a client of Prometheus: pip install 'hostprobe[agent]'.\n"
    "Example:\n  hostprobe agent --listen unix:/run/user/1000/hostprobe.sock";

using Value = std::optional<std::string>;

void add(const char* name, const Value& value, Words& words) {
  if (value) words.push_back(fmt::format("{}={}", name, *value));
}

// Where the package lies beside the command, Python finds it there; of a wheel it is in the environment's own Python.
int become(const std::string& module, const Words& arguments) {
  const PythonPackage package = python_package();
  if (!package.folder.empty()) {
    const char* before = getenv("PYTHONPATH");
    const std::string path = before == nullptr || *before == 0 ? package.folder : package.folder + ":" + before;
    setenv("PYTHONPATH", path.c_str(), 1);
  }
  Words words{package.interpreter, "-m", module};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv.front(), argv.data());
  throw std::system_error(errno, std::generic_category(), "cannot start " + package.interpreter);
}

struct JobArguments {
  std::string data;
  bool json = false;
  Value html, job, steps, engine, trigger, text;
};

int show_job(const JobArguments& arguments) {
  Words words{arguments.data.starts_with("-") ? "./" + arguments.data : arguments.data};
  if (arguments.json) words.emplace_back("--json");
  add("--html", arguments.html, words);
  add("--job", arguments.job, words);
  add("--steps", arguments.steps, words);
  add("--engine", arguments.engine, words);
  add("--trigger", arguments.trigger, words);
  add("--text", arguments.text, words);
  return become("hostprobe.job", words);
}

Option value_option(const char* name, Value& value, const char* meaning, const char* value_name) {
  return {.names = name, .target = &value, .meaning = meaning, .value_name = value_name};
}

}  // namespace

Command job_command() {
  auto arguments = std::make_shared<JobArguments>();
  return {.name = "job",
          .summary = "Names the slow ranks of a job on many hosts: since when, why, and what they cost.",
          .options = {{.names = "DATA",
                       .target = &arguments->data,
                       .meaning = "A folder of step rows, or a run folder",
                       .required = true},
                      {.names = "--json", .target = &arguments->json, .meaning = "One JSON document instead of text"},
                      value_option("--html", arguments->html, "Also writes a page that needs no network", "FILE"),
                      value_option("--job", arguments->job, "Which job of the data; else the newest", "ID"),
                      value_option("--steps", arguments->steps, "Only these steps", "A-B"),
                      value_option("--engine", arguments->engine, "duckdb (the usual), spark, or spark://HOST:PORT",
                                   "ENGINE"),
                      value_option("--trigger", arguments->trigger,
                                   "Has the agents that write into DATA ask all ranks to write that step out; next: as "
                                   "soon as all can",
                                   "STEP"),
                      value_option("--text", arguments->text, "With --trigger: what the reports say of it", "TEXT")},
          .notes = kJobNotes,
          .run = [arguments](const Words&) { return show_job(*arguments); }};
}

Command agent_command() {
  struct Arguments {
    Value listen, token_file, every, data, rows_cpu, keep_days, keep_mb;
    bool per_host = false;
  };
  auto arguments = std::make_shared<Arguments>();
  const auto run = [arguments](const Words&) {
    Words words;
    add("--listen", arguments->listen, words);
    add("--token-file", arguments->token_file, words);
    add("--every", arguments->every, words);
    if (arguments->per_host) words.emplace_back("--per-host");
    add("--data", arguments->data, words);
    add("--rows-cpu", arguments->rows_cpu, words);
    add("--keep-days", arguments->keep_days, words);
    add("--keep-mb", arguments->keep_mb, words);
    return become("hostprobe.agent", words);
  };
  return {
      .name = "agent",
      .summary = "Serves metrics of this host's recording processes to Prometheus.",
      .options =
          {value_option("--listen", arguments->listen, "ADDRESS:PORT or unix:PATH (127.0.0.1:9465)", "ADDRESS"),
           value_option("--token-file", arguments->token_file,
                        "Clients must send the token in this file; needed for any address beyond loopback", "FILE"),
           value_option("--every", arguments->every, "Seconds between two looks at the processes (5)", "SECONDS"),
           {.names = "--per-host",
            .target = &arguments->per_host,
            .meaning = "The largest and the median of the ranks, and none by itself: for very large jobs"},
           value_option("--data", arguments->data, "Also writes the step rows of their runs there, for `hostprobe job`",
                        "FOLDER"),
           value_option("--rows-cpu", arguments->rows_cpu, "What making rows may take of one CPU, percent (1)",
                        "PERCENT"),
           value_option("--keep-days", arguments->keep_days, "Older rows of this host are removed (30)", "N"),
           value_option("--keep-mb", arguments->keep_mb, "The oldest beyond this size are removed, MiB (1024)", "N")},
      .notes = kAgentNotes,
      .run = run};
}

}  // namespace hostprobe::cli
