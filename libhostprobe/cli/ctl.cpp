// ctl.cpp: `hostprobe ctl`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "commands.h"
#include "format/file.h"
#include "live/run_control.h"
#include "live/status.h"
#include "options.h"
#include "output.h"
#include "process_id.h"
#include "settings/profile_rule.h"
#include "trace/trace.h"
#include "unrecorded.h"

namespace hostprobe::cli {
namespace {

constexpr char kNotes[] =
    "VERB is one of\n"
    "  status           shows what it records, its cost, the last trigger, and the settings that can be changed\n"
    "  trigger [TEXT]   writes its last seconds to disk, now or with --at-step; the report shows TEXT as the reason\n"
    "  profile          records the next --steps steps with PyTorch's own profiler, into the run folder\n"
    "  stop, start      pauses recording, and continues it\n"
    "  fix on|off NAME  puts a fix in place, or takes it back: {} (docs/reference/fixes.md)\n"
    "  set NAME=VALUE   changes settings while the process runs: all that are given, or none\n"
    "With a RUN all its living processes are asked at the same time; exit 1 if one of them could not do it.\n"
    "The request goes through shared memory, so it needs the same user or root. A process looks for one four times a "
    "second.\n"
    "A folder whose name is a number is ./NUMBER.\n"
    "Examples:\n"
    "  hostprobe ctl 4711 status --json\n"
    "  hostprobe ctl RUN status                  every rank on a line\n"
    "  hostprobe ctl RUN trigger loss is NaN\n"
    "  hostprobe ctl RUN trigger --at-step 12000 the slow one\n"
    "  hostprobe ctl 4711 profile --steps 3 && hostprobe report RUN\n"
    "  hostprobe ctl RUN fix on auto\n"
    "  hostprobe ctl 4711 fix on gc\n"
    "  hostprobe ctl 4711 set stack_us=200 slow_step_pct=150";

// "gc, pin, …, or auto", with room before it on the first line.
std::string fix_list() {
  constexpr std::size_t kFirst = 58, kLongest = 87, kIndent = 19;
  std::string text;
  std::size_t column = kFirst;
  for (const FixName& fix : fix_names()) {
    const std::string word = fmt::format("{},", fix.name);
    if (column + word.size() > kLongest) {
      text.back() = '\n';
      text.append(column = kIndent, ' ');
    }
    text += word + " ";
    column += word.size() + 1;
  }
  return text + "or auto";
}

struct Arguments {
  std::string target;
  std::string verb;
  std::vector<std::string> words;
  double timeout_s = 5;
  std::optional<unsigned> steps;
  std::optional<unsigned> at_step;
  bool json = false;
};

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string request_to_trigger(const std::string& text, const std::optional<unsigned>& at_step) {
  constexpr std::size_t kMost = sizeof(EventRow::text) - 1, kStep = 29;  // the step stands before it
  const std::size_t most = at_step ? kMost - kStep : kMost;
  if (text.size() > most)
    throw std::runtime_error(fmt::format("{} bytes of text are too many; a trace keeps {}", text.size(), most));
  const std::string verb = at_step ? fmt::format("trigger_at_step {}", *at_step) : "trigger";
  return text.empty() ? verb : verb + " " + text;
}

std::string request_to_set(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("set wants NAME=VALUE; `hostprobe ctl PID status` lists the names");
  std::vector<std::string> lines;
  for (std::string word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || word.find('\n') != std::string::npos)
      throw UsageError(fmt::format("set wants NAME=VALUE, not '{}'", word));
    std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), '-', '_');
    lines.push_back(word);
  }
  return fmt::format("set {}", fmt::join(lines, "\n"));
}

std::string request_of(const Arguments& arguments) {
  const std::string& verb = arguments.verb;
  if (verb == "profile" && arguments.words.empty())
    return fmt::format("profile {}", arguments.steps.value_or(kUsualProfiledSteps));
  if (verb == "trigger") return request_to_trigger(joined(arguments.words), arguments.at_step);
  if (verb == "set") return request_to_set(arguments.words);
  if (verb == "fix") {
    if (arguments.words.size() != 2 || (arguments.words[0] != "on" && arguments.words[0] != "off"))
      throw UsageError("fix wants on or off, and a name: `hostprobe ctl PID fix on gc`");
    return "fix " + joined(arguments.words);
  }
  if (verb != "status" && verb != "start" && verb != "stop" && verb != "profile")
    throw UsageError(fmt::format("no verb '{}'; there are: status trigger profile stop start set fix", verb));
  if (!arguments.words.empty())
    throw UsageError(fmt::format("{} takes nothing behind it, not '{}'", verb, joined(arguments.words)));
  return verb;
}

std::string done_text(const std::string& request) {
  if (request == "stop") return "recording is paused";
  if (request == "start") return "it records";
  if (request.starts_with("fix ")) return "asked for " + request;
  if (request.starts_with("trigger_at_step ")) {
    const std::string step = request.substr(request.find(' ') + 1);
    return fmt::format("it will write its last seconds out once step {} has ended", step.substr(0, step.find(' ')));
  }
  if (request.starts_with("set ")) {
    std::string settings = request.substr(4);
    std::replace(settings.begin(), settings.end(), '\n', ' ');
    return settings + (settings.find(' ') == std::string::npos ? " is set" : " are set");
  }
  return "it will write its last seconds out";
}

// Why a process could not, in one line that names it.
std::string failure_text(const analysis::ControlAnswer& answer) {
  try {
    std::rethrow_exception(answer.failure);
  } catch (const analysis::NotRecorded& error) {
    const std::string why = why_unrecorded(answer.process.pid);
    return why.empty() ? error.what() : why;
  } catch (const std::exception& error) {
    return error.what();
  }
}

void say_failure(const analysis::ControlAnswer& answer) {
  const analysis::RunProcess& process = answer.process;
  const std::string who =
      process.rank ? fmt::format("{}rank {}: ", process.is_worker ? "worker of " : "", *process.rank) : "";
  say(who + failure_text(answer));
}

// Whom to ask. `left_out`: workers that cannot answer.
std::vector<analysis::RunProcess> asked_by(const Arguments& arguments, std::size_t& left_out) {
  if (is_process_id(arguments.target)) return {analysis::run_process(std::stoi(arguments.target))};
  if (std::error_code unreadable; !std::filesystem::exists(arguments.target, unreadable))
    throw UsageError(fmt::format("'{}' is neither a process id nor a run folder", arguments.target));
  std::vector<analysis::RunProcess> processes = analysis::processes_of_run(arguments.target);
  if (processes.empty())
    throw std::runtime_error(fmt::format("no process of {} records on this machine now", arguments.target));
  left_out = analysis::leave_out_silent_workers(processes);
  if (processes.empty())
    throw std::runtime_error(
        fmt::format("{} workers of {} record, but cannot answer: hostprobe's thread does not run in them", left_out,
                    arguments.target));
  return processes;
}

// Of a run with ranks nobody else.
void keep_ranks(std::vector<analysis::RunProcess>& processes) {
  std::vector<analysis::RunProcess> ranks = processes;
  std::erase_if(ranks, [](const analysis::RunProcess& each) { return !each.rank || each.is_worker; });
  if (!ranks.empty()) processes = std::move(ranks);
}

// Ranks alone take part in `auto`, and all of them have to.
void prepare_auto(std::vector<analysis::RunProcess>& processes, bool is_run) {
  if (is_run) keep_ranks(processes);
  const std::string obstacle = analysis::auto_obstacle(processes);
  if (!obstacle.empty())
    throw std::runtime_error(is_run ? obstacle + ": they must record into this run on this machine"
                                    : fmt::format("{}: ask them all with `hostprobe ctl {} fix on auto`", obstacle,
                                                  processes.front().folder));
}

void show_done(const Arguments& arguments, const std::string& request, const analysis::ControlAnswer& answer,
               bool is_run) {
  if (request != "status") {
    say(fmt::format("{}: {}", is_run ? answer.process.title() : fmt::format("process {}", answer.process.pid),
                    done_text(request)));
    return;
  }
  const analysis::ProcessStatus status = analysis::parse_status(answer.text);
  if (is_run)
    write_out(analysis::status_line(answer.process.title(), status));
  else if (arguments.json)
    write_json(analysis::status_json(answer.process, status));
  else
    write_out(analysis::status_text(answer.process.pid, status));
}

// Whether all could.
bool show(const Arguments& arguments, const std::string& request, const std::vector<analysis::ControlAnswer>& answers,
          bool is_run) {
  for (const analysis::ControlAnswer& answer : answers) {
    if (answer.failure == nullptr)
      show_done(arguments, request, answer, is_run);
    else if (!is_run)
      throw std::runtime_error(failure_text(answer));
    else
      say_failure(answer);
  }
  return analysis::all_done(answers);
}

// Nothing is set anywhere where one of the processes could not.
bool set_all(analysis::RunControl& control, const Arguments& arguments, const std::string& request) {
  const std::vector<analysis::ControlAnswer>& checked = control.ask("check" + request.substr(3));
  if (analysis::all_done(checked)) return show(arguments, request, control.ask(request), true);
  for (const analysis::ControlAnswer& answer : checked)
    if (answer.failure != nullptr) say_failure(answer);
  say("nothing is set in any process");
  return false;
}

// How far a window is that was asked for when so many had ended. Also of one that the process has not come to.
struct WindowEnd {
  bool is_over = false;
  std::string problem;  // "" = there is none
};
WindowEnd window_end(const analysis::ProcessStatus& asked, const analysis::ProcessStatus& now) {
  const std::string state = now.text("window_state");
  if (now.number("window_ended") <= asked.number("window_ended")) return {state == "armed" || state == "open", {}};
  return {true, now.number("window_refused") != 0 ? now.text("window_text") : std::string()};
}

void show_window(const analysis::ProcessStatus& asked, const analysis::ControlAnswer& answer, unsigned steps) {
  const analysis::ProcessStatus now = analysis::parse_status(answer.text);
  const WindowEnd end = window_end(asked, now);
  if (!end.problem.empty()) throw std::runtime_error("no window: " + end.problem);
  const std::string who = answer.process.title();
  if (!end.is_over)
    say(fmt::format(
        "{}: asked for {} steps; its interpreter has not come to it yet, `hostprobe ctl {} status` shows when", who,
        steps, answer.process.pid));
  else
    say(fmt::format("{}: PyTorch's profiler records its next {} step{} into {}/{}", who, steps, steps == 1 ? "" : "s",
                    answer.process.folder, now.text("window_file")));
}

// Until all have said, or the time is over.
std::vector<analysis::ControlAnswer> await_windows(analysis::RunControl& control, double timeout_s,
                                                   const std::vector<analysis::ProcessStatus>& asked) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {
    std::vector<analysis::ControlAnswer> answers = control.ask("window");
    bool is_waiting = false;
    for (std::size_t i = 0; i < answers.size(); ++i)
      is_waiting |=
          answers[i].failure == nullptr && !window_end(asked[i], analysis::parse_status(answers[i].text)).is_over;
    if (!is_waiting || std::chrono::steady_clock::now() >= end) return answers;
  }
}

// Whether all could.
bool open_windows(analysis::RunControl& control, const Arguments& arguments, const std::string& request, bool is_run) {
  std::vector<analysis::ProcessStatus> asked;
  for (const analysis::ControlAnswer& answer : control.ask(request))
    asked.push_back(analysis::parse_status(answer.text));
  bool all = true;
  const std::vector<analysis::ControlAnswer> answers = await_windows(control, arguments.timeout_s, asked);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const analysis::ControlAnswer& answer = answers[i];
    try {
      if (answer.failure != nullptr) throw std::runtime_error(failure_text(answer));
      show_window(asked[i], answer, arguments.steps.value_or(kUsualProfiledSteps));
    } catch (const std::runtime_error& error) {
      if (!is_run) throw;
      say(fmt::format("{}: {}", answer.process.title(), error.what()));
      all = false;
    }
  }
  return all;
}

void check(const Arguments& arguments) {
  if (arguments.steps && arguments.verb != "profile") throw UsageError("--steps belongs to profile");
  if (arguments.at_step && arguments.verb != "trigger") throw UsageError("--at-step belongs to trigger");
  if (arguments.at_step && *arguments.at_step == 0) throw UsageError("--at-step counts from 1");
  if (arguments.json && arguments.verb != "status") throw UsageError("--json belongs to status");
  if (!(arguments.timeout_s > 0) || arguments.timeout_s > 86400)
    throw UsageError("--timeout takes seconds, up to 86400");
}

// Whether all could.
bool ask(const Arguments& arguments) {
  check(arguments);
  const std::string request = request_of(arguments);
  const bool is_run = !is_process_id(arguments.target);
  std::size_t left_out = 0;
  std::vector<analysis::RunProcess> processes = asked_by(arguments, left_out);
  if (request.starts_with("fix on auto")) prepare_auto(processes, is_run);
  const bool is_profile = arguments.verb == "profile";
  if (is_profile && is_run) keep_ranks(processes);
  analysis::RunControl control(processes,
                               std::chrono::milliseconds(std::lround(std::ceil(arguments.timeout_s * 1000))));
  if (is_profile) return open_windows(control, arguments, request, is_run);
  if (is_run && arguments.json) {
    const std::vector<analysis::ControlAnswer>& answers = control.ask(request);
    write_json(analysis::statuses_json(answers, left_out));
    return analysis::all_done(answers);
  }
  const bool done = is_run && arguments.verb == "set" ? set_all(control, arguments, request)
                                                      : show(arguments, request, control.ask(request), is_run);
  if (left_out > 0) say(fmt::format("{} workers were not asked: hostprobe's thread does not run in them", left_out));
  return done;
}

}  // namespace

Command ctl_command() {
  auto arguments = std::make_shared<Arguments>();
  const auto run = [arguments](const Words& words) {
    // Behind `--` stand words that look like flags.
    arguments->words.insert(arguments->words.end(), words.begin(), words.end());
    return ask(*arguments) ? kDone : kCouldNot;
  };
  return {
      .name = "ctl",
      .summary =
          "Asks running processes for their status, or changes what they do: trigger, profile, stop, start, set, fix.",
      .options = {{.names = "TARGET",
                   .target = &arguments->target,
                   .meaning = "A process id, or the run folder of a job",
                   .required = true},
                  {.names = "VERB", .target = &arguments->verb, .meaning = "What to do, see below", .required = true},
                  {.names = "WORDS", .target = &arguments->words, .meaning = "What belongs to the verb"},
                  {.names = "--timeout",
                   .target = &arguments->timeout_s,
                   .meaning = "How long to wait for an answer, seconds",
                   .shows_usual = true},
                  {.names = "--at-step",
                   .target = &arguments->at_step,
                   .meaning = "With trigger: when that many steps have ended, as status counts them",
                   .value_name = "N"},
                  {.names = "--steps",
                   .target = &arguments->steps,
                   .meaning = fmt::format("profile: how many steps [{}]", kUsualProfiledSteps),
                   .value_name = "N",
                   .range = Range{1, static_cast<double>(kMostProfiledSteps)}},
                  {.names = "--json", .target = &arguments->json, .meaning = "status as a JSON document"}},
      .notes = fmt::format(kNotes, fix_list()),
      .run = run};
}

}  // namespace hostprobe::cli
