// ctl.cpp: `hostprobe ctl`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>

#include "analysis/live/control_link.h"
#include "analysis/live/status.h"
#include "commands.h"
#include "output.h"

namespace hostprobe::cli {
namespace {

constexpr char kFooter[] =
    "VERB is one of\n"
    "  status           what it records, what that costs, the last trigger, the settings that can be set\n"
    "  trigger [TEXT]   the last seconds are to be written out; TEXT says why\n"
    "  stop, start      pauses recording, and goes on with it\n"
    "  fix on|off NAME  puts a fix in place, or takes it back: gc, pin, spin, batch_launch,\n"
    "                   timer_slack, nice, numa, or auto: docs/fixes.md\n"
    "  set NAME=VALUE   changes settings that can be changed while the process runs\n"
    "Asked of the process itself, through shared memory: the same user or root only; it looks four times a second.\n"
    "Examples:\n"
    "  hostprobe ctl 4711 status --json\n"
    "  hostprobe ctl 4711 trigger loss is NaN\n"
    "  hostprobe ctl 4711 fix on gc\n"
    "  hostprobe ctl 4711 set stack_us=200 slow_step_pct=150";

struct Arguments {
  int pid = 0;
  std::string verb;
  std::vector<std::string> words;
  double timeout_s = 5;
  bool json = false;
};

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// What is to be asked, one request after the other.
std::vector<std::string> requests_of(const Arguments& arguments) {
  const std::string& verb = arguments.verb;
  if (verb == "trigger") return {arguments.words.empty() ? verb : verb + " " + joined(arguments.words)};
  if (verb == "set") {
    if (arguments.words.empty()) throw UsageError("set wants NAME=VALUE; `hostprobe ctl PID status` lists the names");
    std::vector<std::string> requests;
    for (std::string word : arguments.words) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) throw UsageError(fmt::format("set wants NAME=VALUE, not '{}'", word));
      std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), '-', '_');
      requests.push_back("set " + word);
    }
    return requests;
  }
  if (verb == "fix") {
    if (arguments.words.size() != 2 || (arguments.words[0] != "on" && arguments.words[0] != "off"))
      throw UsageError("fix wants on or off, and a name: `hostprobe ctl PID fix on gc`");
    return {"fix " + joined(arguments.words)};
  }
  if (verb != "status" && verb != "start" && verb != "stop")
    throw UsageError(fmt::format("no verb '{}'; there are: status trigger stop start set fix", verb));
  if (!arguments.words.empty())
    throw UsageError(fmt::format("{} takes nothing behind it, not '{}'", verb, joined(arguments.words)));
  return {verb};
}

std::string done_text(const std::string& request) {
  if (request == "stop") return "recording is paused";
  if (request == "start") return "it records";
  if (request.starts_with("fix ")) return "asked for " + request;
  if (request.starts_with("set ")) return request.substr(4) + " is set";
  return "it will write its last seconds out";
}

void ask(const Arguments& arguments) {
  if (arguments.json && arguments.verb != "status") throw UsageError("--json belongs to status");
  if (!(arguments.timeout_s > 0) || arguments.timeout_s > 86400)
    throw UsageError("--timeout takes seconds, up to 86400");
  const std::vector<std::string> requests = requests_of(arguments);
  analysis::ControlLink link(arguments.pid,
                             std::chrono::milliseconds(std::lround(std::ceil(arguments.timeout_s * 1000))));
  for (const std::string& request : requests) {
    const std::string answer = link.ask(request);
    if (request == "status") {
      const analysis::ProcessStatus status = analysis::parse_status(answer);
      if (arguments.json)
        write_json(analysis::status_json(arguments.pid, status));
      else
        write_out(analysis::status_text(arguments.pid, status));
    } else {
      say(fmt::format("process {}: {}", arguments.pid, done_text(request)));
    }
  }
}

}  // namespace

void add_ctl(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("ctl", "Asks a running process's hostprobe: status, trigger, stop, start, set, fix.");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("PID", arguments->pid, "The process")->required();
  command->add_option("VERB", arguments->verb, "What is asked for, see below")->required();
  command->add_option("WORDS", arguments->words, "What the verb takes");
  command->add_option("--timeout", arguments->timeout_s, "How long to wait for an answer, seconds")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "status as a JSON document");
  command->footer(kFooter);
  command->callback([arguments, &context] {
    // Behind `--` stand words that look like flags.
    for (const std::string& word : context.words) arguments->words.push_back(word);
    ask(*arguments);
    context.status = kDone;
  });
}

}  // namespace hostprobe::cli
