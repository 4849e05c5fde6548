// sched.cpp: `hostprobe sched`.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "commands.h"
#include "live/process_stacks.h"
#include "output.h"
#include "program.h"
#include "recorder/recording.h"
#include "trace/reader.h"

namespace hostprobe::cli {
namespace {

struct SchedArguments {
  std::string run, cpus, events, source = "tracefs";
  int pid = 0;
  bool of_run = false, all = false;
  double seconds = 0;
};

// The recorded processes of the folder that are alive on this machine.
std::vector<int> living_processes(const std::string& run) {
  std::vector<int> pids;
  for (const std::string& path : analysis::trace_paths(run))
    if (const auto pid = analysis::living_process_of(path)) pids.push_back(*pid);
  if (pids.empty()) throw std::runtime_error("sched: no recorded process of " + run + " lives on this machine");
  return pids;
}

kernel::SchedOptions options_of(const SchedArguments& arguments, const Words& words) {
  kernel::SchedOptions options;
  options.program = !words.empty();
  if ((arguments.pid != 0) + arguments.of_run + arguments.all > 1)
    throw UsageError("sched: one of --pid, --run and --all");
  if (arguments.pid == 0 && !arguments.of_run && !arguments.all && !options.program)
    throw UsageError("sched: say what to record, one of --pid PID, --run, --all and `-- PROGRAM`");
  options.source = arguments.source == "bpf" ? kernel::SourceKind::kBpf : kernel::SourceKind::kTracefs;
  if (options.source == kernel::SourceKind::kBpf && !(arguments.cpus.empty() && arguments.events.empty()))
    throw UsageError("sched: --cpus and --events choose events, and --source bpf has none, only totals");
  try {
    options.cpus = kernel::parse_cpus(arguments.cpus, static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
    options.events = kernel::parse_events(arguments.events);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("sched: ") + error.what());
  }
  options.run = std::filesystem::absolute(arguments.run).lexically_normal().string();
  options.all = arguments.all;
  options.seconds = arguments.seconds;
  if (arguments.pid != 0) options.pids = {arguments.pid};
  if (arguments.of_run) options.pids = living_processes(arguments.run);
  options.command = fmt::format("hostprobe sched{}", options.program ? " -- " : "");
  for (std::size_t i = 0; i < words.size(); ++i) options.command += (i == 0 ? "" : " ") + words[i];
  return options;
}

void say_end(const kernel::RecordingEnd& end, kernel::SourceKind source) {
  for (const std::string& note : end.notes) say(note);
  if (!end.problem.empty()) say("sched: " + end.problem);
  if (end.path.empty()) return;
  if (end.rows == 0 && !end.problem.empty())
    say(end.path + ": what had been written until then");
  else if (source == kernel::SourceKind::kBpf)
    say(fmt::format(
        "{}: {} switches added up by the kernel{}, {} lost", end.path, end.rows,
        end.cost_ns == 0 ? "" : fmt::format(" in {:.1f} ms of CPU time", 1e-6 * static_cast<double>(end.cost_ns)),
        end.lost));
  else
    say(fmt::format("{}: {} events of the kernel, {} lost", end.path, end.rows, end.lost));
}

std::uint64_t switches_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
}

int with_program(kernel::Recording& recording, kernel::SourceKind source, const Words& words) {
  const std::uint64_t before = switches_of_children();
  const ProgramEnd end = run_program(
      words,
      [&recording] {
        if (!recording.hold()) _exit(kCouldNot);
      },
      [&recording](int, int) { recording.let_go(); });
  const kernel::RecordingEnd recorded = recording.stop(switches_of_children() - before);
  say_end(recorded, source);
  if (end.start_error == 0) return end.status;
  say(fmt::format("cannot start {}: {}", words.front(), std::strerror(end.start_error)));
  return end.start_error == ENOENT ? kNotFound : kNotExecutable;
}

int sched(const SchedArguments& arguments, const Words& words) {
  const kernel::SchedOptions options = options_of(arguments, words);
  kernel::Recording recording(options);
  try {
    recording.start();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("sched: ") + error.what());
  }
  if (!words.empty()) return with_program(recording, options.source, words);
  recording.wait();
  const kernel::RecordingEnd end = recording.stop(0);
  say_end(end, options.source);
  if (!end.path.empty()) write_out(end.path + "\n");
  return end.path.empty() || !end.problem.empty() ? kCouldNot : kDone;
}

std::vector<Option> options_into(SchedArguments& arguments) {
  return {{.names = "-o,--out",
           .target = &arguments.run,
           .meaning = "The run folder; made if missing, what is in it stays",
           .value_name = "RUN",
           .required = true},
          {.names = "--pid",
           .target = &arguments.pid,
           .meaning = "Record this process and what it starts",
           .value_name = "PID",
           .range = Range{1, 1 << 30}},
          {.names = "--run",
           .target = &arguments.of_run,
           .meaning = "Record the processes of the run folder that are alive"},
          {.names = "--all", .target = &arguments.all, .meaning = "Record the whole machine"},
          {.names = "--source",
           .target = &arguments.source,
           .meaning = "What records: tracefs (events) or bpf (totals that the kernel keeps)",
           .value_name = "NAME",
           .choices = {"tracefs", "bpf"},
           .shows_usual = true},
          {.names = "--cpus", .target = &arguments.cpus, .meaning = "Only on these CPUs", .value_name = "LIST"},
          {.names = "--events",
           .target = &arguments.events,
           .meaning = "Only these events: sched, irq, softirq, or names such as sched_switch",
           .value_name = "LIST"},
          {.names = "--for",
           .target = &arguments.seconds,
           .meaning = "Seconds to record; without it until Ctrl-C, or until all processes have ended",
           .value_name = "S",
           .range = Range{0.001, 1e7}}};
}

}  // namespace

Command sched_command() {
  auto arguments = std::make_shared<SchedArguments>();
  return {
      .name = "sched",
      .summary = "Records the kernel's scheduler and interrupts: hostprobe sched -o RUN [OPTIONS] [-- PROGRAM ARGS…]",
      .options = options_into(*arguments),
      .notes =
          "Needs root. Exits with the program's status, as `run` does. While it records it slows the whole "
          "machine. "
          "With --pid and\n"
          "--run it pauses while all of these processes do (hostprobe_stop, hostprobe.stop(), `hostprobe ctl PID "
          "stop`).\n"
          "Examples:\n  hostprobe sched -o RUN -- hostprobe run -o RUN --mode trace -- python3 train.py\n"
          "  hostprobe sched -o RUN --run --for 30 && hostprobe report RUN machine\n"
          "  hostprobe sched -o RUN --all --for 5\n"
          "  hostprobe sched -o RUN --source bpf --run        # totals until the job ends: cheaper, no history",
      .run = [arguments](const Words& words) { return sched(*arguments, words); }};
}

}  // namespace hostprobe::cli
