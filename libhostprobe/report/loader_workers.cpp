// loader_workers.cpp: see loader_workers.h.
#include "loader_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "answer/telling_frames.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr double kLeastPct = 20;         // of the workers' lives, for a place to be named
constexpr double kLeastHandingPct = 40;  // the largest of few parts
constexpr std::size_t kWorkerPlaceWidth = 64;

// What all workers did with the lives of their main threads.
struct WorkerTime {
  std::size_t workers = 0;
  double wall_ms = 0, cpu_ms = 0, no_cpu_ms = 0;
  std::map<std::string, double> waits_ms, runs_ms;  // by place
  std::map<std::string, std::string> callers;       // of places that run, where one is known

  double pct(double ms) const { return wall_ms > 0 ? 100 * ms / wall_ms : 0; }
};

// A worker that waits in these has nothing to do.
bool is_idle_file(std::string_view file) {
  constexpr std::array<std::string_view, 6> kWays = {"queues.py", "connection.py",  "selectors.py",
                                                     "worker.py", "synchronize.py", "popen_fork.py"};
  return std::find(kWays.begin(), kWays.end(), file.substr(file.rfind('/') + 1)) != kWays.end();
}
bool is_idle_place(std::string_view frame) { return is_idle_file(file_of_frame(frame)); }

void add_worker(const ProcessAnswer& process, WorkerTime& time) {
  const ThreadAnswer* main = process.main_thread();
  if (main == nullptr || main->time.wall_ms <= 0) return;
  ++time.workers;
  time.wall_ms += main->time.wall_ms;
  time.cpu_ms += main->time.cpu_ms.value_or(0);
  time.no_cpu_ms += main->time.run_delay_ms.value_or(0);
  for (const WaitSite& site : process.waits)
    if (site.role == main->role && !site.python.empty() && !is_idle_place(site.python.front().text))
      time.waits_ms[site.python.front().text] += site.own_ms;
  const RunningAnswer* running = process.running_of(*main);
  if (running == nullptr) return;
  for (const RunningRow& row : running->python) {
    if (row.file.empty() || is_idle_file(row.file)) continue;
    const std::string place = fmt::format("{} ({}:{})", row.function, row.file, row.line);
    time.runs_ms[place] += 1e-6 * row.ns;
    if (!row.caller.empty() && !is_idle_place(row.caller) && row.caller.find("fetch.py") == std::string::npos)
      time.callers.emplace(place, row.caller);
  }
}

std::pair<std::string, double> heaviest(const std::map<std::string, double>& places) {
  std::pair<std::string, double> most;
  for (const auto& [place, ms] : places)
    if (ms > most.second) most = {place, ms};
  return most;
}

// A frame of a library says what is done; the line that called it is the one that can be changed.
std::string code_text(const WorkerTime& time, const std::string& code) {
  if (code.empty()) return "";
  const auto caller = time.callers.find(code);
  return ", most of it in " + shortened_place(code, kWorkerPlaceWidth) +
         (caller == time.callers.end() ? "" : ", called from " + shortened_place(caller->second, kWorkerPlaceWidth));
}

std::string workers_text(std::size_t workers) {
  return workers == 1 ? "its worker process" : fmt::format("its {} worker processes", workers);
}

// Where they spend more of their time than anywhere else.
std::string place_of(const WorkerTime& time) {
  const auto [wait, wait_ms] = heaviest(time.waits_ms);
  return shortened_place(wait_ms > time.cpu_ms ? wait : heaviest(time.runs_ms).first, kWorkerPlaceWidth);
}

// Of remedies that follow from when the workers had something to do.
Advice turn_advice(const WorkerTime& time, const Finding& finding) {
  const LoaderWaitsEvidence& seen = finding.evidence.of<LoaderWaitsEvidence>();
  if (finding.fix == Fix::kPersistentWorkers)
    return {fmt::format("{:.0f} % of that is the end of workers and the beginning of new ones, {} of them",
                        seen.loader_restarting_pct, seen.loader_restarts),
            fix_text(finding)};
  if (finding.fix == Fix::kNone && seen.loader_handing_pct >= kLeastHandingPct)
    return {
        fmt::format("for {:.0f} % of that {} {} nothing to do: the batch is on its way", seen.loader_handing_pct,
                    workers_text(time.workers), time.workers == 1 ? "has" : "have"),
        "make batches quicker to hand over: fewer and larger tensors, or a thread that takes them (pin_memory=True)"};
  if (finding.fix != Fix::kInOrder) return {};
  const std::string place = place_of(time);
  return {fmt::format("for {:.0f} % of that some of {} have nothing to do, while another is not done{}; one is busy "
                      "for {:.0f} % of the "
                      "time, another for {:.0f}",
                      seen.loader_held_pct, workers_text(time.workers), place.empty() ? "" : " in " + place,
                      seen.loader_most_busy_pct.value_or(0), seen.loader_least_busy_pct.value_or(0)),
          fix_text(finding)};
}

}  // namespace

Advice loader_worker_advice(const RunAnswer& run, const Finding& finding) {
  WorkerTime time;
  for (const ProcessAnswer& process : run.processes)
    if (process.task == ProcessTask::kDataLoader && (!finding.rank || process.rank == finding.rank))
      add_worker(process, time);
  if (Advice advice = turn_advice(time, finding); !advice.because.empty()) return advice;
  const std::string who = workers_text(time.workers);
  const char* verb = time.workers == 1 ? "spends" : "spend";
  if (time.workers == 0) return {};
  if (time.pct(time.no_cpu_ms) >= std::max(kLeastPct, time.pct(time.cpu_ms)))
    return {fmt::format("{} {} {:.0f} % of {} ready to run but without a CPU", who, verb, time.pct(time.no_cpu_ms),
                        time.workers == 1 ? "its time" : "their time"),
            "give them CPUs, or start fewer threads; more workers would need more CPUs"};
  const auto [wait, wait_ms] = heaviest(time.waits_ms);
  const auto [code, code_ms] = heaviest(time.runs_ms);
  const bool waits = wait_ms > time.cpu_ms;
  const double pct = time.pct(waits ? wait_ms : time.cpu_ms);
  if (pct < kLeastPct) return {};
  const std::string whose = time.workers == 1 ? "its time" : "their time";
  if (waits)
    return {fmt::format("{} {} {:.0f} % of {} waiting in {}", who, verb, pct, whose,
                        shortened_place(wait, kWorkerPlaceWidth)),
            "make samples faster there, or use more workers (num_workers)"};
  return {fmt::format("{} {} {:.0f} % of {} computing{}", who, verb, pct, whose, code_text(time, code)),
          finding.fix == Fix::kNumWorkers
              ? "make samples cheaper there, or use more workers (num_workers) where CPUs are free"
              : "make samples cheaper there"};
}

}  // namespace hostprobe::analysis
