// recorder_process.cpp: see recorder_process.h.
#include "recorder_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>

#include "recorded_processes.h"
#include "recorder.h"
#include "tasks.h"
#include "tracefs.h"
#include "tracefs_calls.h"

namespace hostprobe::kernel {
namespace {

constexpr int kBusyMs = 2, kIdleMs = 10;  // between two looks
constexpr std::uint64_t kPutDownNs = 500'000'000;
constexpr std::uint64_t kLookNs = 200'000'000;
constexpr char kSwitch[] = "sched/sched_switch";

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

class RecorderProcess {
 public:
  RecorderProcess(const SchedOptions& options, const RecorderPipes& pipes) : options_(options), pipes_(pipes) {}

  void run() {
    if (const std::string problem = reach_tracefs(); !problem.empty()) throw std::runtime_error(problem);
    if (!options_.all && !in_first_namespace())
      throw std::runtime_error(
          "inside a container the kernel's ids of tasks are not known: use --all, or record on its host");
    if (const int swept = sweep_instances(); swept > 0)
      tell(fmt::format("note removed {} instance{} of tracing that a killed recorder had left", swept,
                       swept == 1 ? "" : "s"));
    const std::unique_ptr<Instance> own = own_instance(), others = instance_of_switches();
    std::vector<Instance*> instances;
    for (Instance* one : {own.get(), others.get()})
      if (one != nullptr) instances.push_back(one);
    Recorder recorder(instances, options_);
    const std::string& unfinished = recorder.file().unfinished_path();
    tell(fmt::format("file {}\t{}/{}-{}.hptrace", unfinished, options_.run, "kernel", getpid()));
    std::vector<int> tids = own_tids();
    if (!options_.program) recorder.begin(tids, 0);
    tell("ready");
    if (options_.program && !begin_program(recorder, tids)) return;
    for (const Instance* instance : instances)
      for (const std::string& event : instance->missing()) tell(fmt::format("note this kernel has no event {}", event));
    const std::uint64_t switches = record(recorder);
    const RecorderTotals totals = recorder.finish(switches);
    tell(fmt::format("done {} {} {}", totals.rows, totals.lost, totals.path));
  }

  void tell(const std::string& line) {
    const std::string whole = line + "\n";
    std::size_t done = 0;
    while (done < whole.size()) {
      const ssize_t written = write(pipes_.news, whole.data() + done, whole.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;  // nobody is left to hear it
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  // Who had the CPU instead of a task is in the switches of others, which no limit by task lets through. So they have an
  // instance of their own, for all; the limit costs as much as what it keeps out (docs/decisions/0027).
  bool has_others() const {
    return !options_.all && std::find(options_.events.begin(), options_.events.end(), kSwitch) != options_.events.end();
  }
  std::unique_ptr<Instance> own_instance() const {
    std::vector<std::string> events = options_.events;
    if (has_others()) std::erase(events, kSwitch);
    if (events.empty()) return nullptr;
    return std::make_unique<Instance>(instance_name(getpid(), "own"), std::move(events), options_.cpus);
  }
  std::unique_ptr<Instance> instance_of_switches() const {
    if (!has_others()) return nullptr;
    return std::make_unique<Instance>(instance_name(getpid(), "all"), std::vector<std::string>{kSwitch}, options_.cpus);
  }

  std::vector<int> own_tids() const {
    std::vector<int> tids;
    for (const int pid : options_.pids) {
      const std::vector<int> threads = threads_of(pid);
      tids.insert(tids.end(), threads.begin(), threads.end());
    }
    if (tids.empty() && !options_.pids.empty()) throw std::runtime_error("none of the processes is alive");
    return tids;
  }

  // False: there is going to be no program.
  bool begin_program(Recorder& recorder, std::vector<int> tids) {
    int pid = 0;
    ssize_t got;
    do {
      got = read(pipes_.program, &pid, sizeof(pid));
    } while (got < 0 && errno == EINTR);
    if (got != sizeof(pid)) return false;
    tids.push_back(pid);
    recorder.begin(tids, pid);
    if (write(pipes_.go, "g", 1) != 1) return false;
    close(pipes_.go);
    return true;
  }

  // Until somebody says stop; returns how often the program was switched, 0 where that is not known.
  std::uint64_t record(Recorder& recorder) {
    const std::uint64_t begin = now_ns();
    std::uint64_t put_down = begin, looked = begin;
    const RecordedProcesses recorded(options_.pids);
    bool pauses = false;
    for (;;) {
      if (recorded.all_pause() != pauses) {
        pauses = !pauses;
        pauses ? recorder.pause() : recorder.go_on();
      }
      const bool busy = recorder.read();
      pollfd orders{pipes_.orders, POLLIN, 0};
      if (poll(&orders, 1, busy ? kBusyMs : kIdleMs) > 0) {
        std::uint64_t switches = 0;
        return ::read(pipes_.orders, &switches, sizeof(switches)) == sizeof(switches) ? switches : 0;
      }
      const std::uint64_t now = now_ns();
      if (now - put_down >= kPutDownNs) {
        recorder.put_down();
        put_down = now;
      }
      if (options_.seconds > 0 && static_cast<double>(now - begin) >= 1e9 * options_.seconds) return 0;
      if (now - looked < kLookNs || options_.program || options_.pids.empty() || options_.seconds > 0) continue;
      looked = now;
      if (!recorder.any_alive()) return 0;
    }
  }

  const SchedOptions& options_;
  const RecorderPipes pipes_;
};

}  // namespace

void run_recorder(const SchedOptions& options, const RecorderPipes& pipes) {
  RecorderProcess process(options, pipes);
  tracefs_set_loglevel(TEP_LOG_NONE);
  try {
    process.run();
  } catch (const std::exception& error) {
    process.tell(fmt::format("problem {}", error.what()));
  }
}

}  // namespace hostprobe::kernel
