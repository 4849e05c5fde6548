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

#include "live/own_thread.h"
#include "recorded_processes.h"
#include "source.h"
#include "tasks.h"

namespace hostprobe::kernel {
namespace {

constexpr int kBusyMs = 2;  // between two looks
constexpr std::uint64_t kLookNs = 200'000'000;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

class RecorderProcess {
 public:
  RecorderProcess(const SchedOptions& options, const RecorderPipes& pipes) : options_(options), pipes_(pipes) {}

  void run() {
    if (!options_.all && !in_first_namespace())
      throw std::runtime_error(
          "inside a container the kernel's ids of tasks are not known: use --all, or record on its host");
    const std::unique_ptr<Source> source = open_source();
    const std::string& unfinished = source->file().unfinished_path();
    tell(fmt::format("file {}\t{}/{}-{}.hptrace", unfinished, options_.run, "kernel", getpid()));
    std::vector<int> tids = own_tids();
    if (!options_.program) source->begin(tids, 0);
    tell("ready");
    if (options_.program && !begin_program(*source, tids)) return;
    for (const std::string& note : source->notes()) tell("note " + note);
    const std::uint64_t switches = record(*source, tids);
    const SourceTotals totals = source->finish(switches);
    tell(fmt::format("done {} {} {} {}", totals.rows, totals.lost, totals.cost_ns, totals.path));
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
  std::unique_ptr<Source> open_source() {
    if (options_.source == SourceKind::kBpf) return open_bpf_source(options_);
    return open_tracefs_source(options_, [this](const std::string& note) { tell("note " + note); });
  }

  std::vector<int> own_tids() const {
    std::vector<int> tids;
    for (const int pid : options_.pids) {
      const std::vector<pid_t> threads = analysis::threads_of(pid);
      tids.insert(tids.end(), threads.begin(), threads.end());
    }
    if (tids.empty() && !options_.pids.empty()) throw std::runtime_error("none of the processes is alive");
    return tids;
  }

  // False: there is going to be no program.
  bool begin_program(Source& source, std::vector<int> tids) {
    int pid = 0;
    ssize_t got;
    do {
      got = read(pipes_.program, &pid, sizeof(pid));
    } while (got < 0 && errno == EINTR);
    if (got != sizeof(pid)) return false;
    tids.push_back(pid);
    source.begin(tids, pid);
    if (write(pipes_.go, "g", 1) != 1) return false;
    close(pipes_.go);
    return true;
  }

  // Until somebody says stop; returns how often the program was switched, 0 where that is not known.
  std::uint64_t record(Source& source, const std::vector<int>& tids) {
    const std::uint64_t begin = now_ns();
    std::uint64_t put_down = begin, looked = begin;
    const RecordedProcesses recorded(options_.pids);
    bool pauses = false;
    for (;;) {
      if (recorded.all_pause() != pauses) {
        pauses = !pauses;
        pauses ? source.pause() : source.go_on();
      }
      const bool busy = source.read();
      pollfd orders{pipes_.orders, POLLIN, 0};
      if (poll(&orders, 1, busy ? kBusyMs : source.idle_ms()) > 0) {
        std::uint64_t switches = 0;
        return ::read(pipes_.orders, &switches, sizeof(switches)) == sizeof(switches) ? switches : 0;
      }
      const std::uint64_t now = now_ns();
      if (now >= put_down) put_down = now + source.put_down();
      if (options_.seconds > 0 && static_cast<double>(now - begin) >= 1e9 * options_.seconds) return 0;
      if (now - looked < kLookNs || options_.program || options_.pids.empty() || options_.seconds > 0) continue;
      looked = now;
      if (std::none_of(tids.begin(), tids.end(), is_alive)) return 0;
    }
  }

  const SchedOptions& options_;
  const RecorderPipes pipes_;
};

}  // namespace

void run_recorder(const SchedOptions& options, const RecorderPipes& pipes) {
  RecorderProcess process(options, pipes);
  try {
    process.run();
  } catch (const std::exception& error) {
    process.tell(fmt::format("problem {}", error.what()));
  }
}

}  // namespace hostprobe::kernel
