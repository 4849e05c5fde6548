// run_answer.cpp: see run_answer.h.
#include "run_answer.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>

#include "analysis/trace/file_bytes.h"
#include "analysis/trace/reader.h"
#include "endings.h"
#include "one_step.h"
#include "parallel.h"
#include "rank_waits.h"

namespace hostprobe::analysis {
namespace {

constexpr double kAgree = 0.1;        // two ranks' median steps, at most so far apart
constexpr double kReadingUs = 1;      // no two clocks are read closer together than that for sure
constexpr double kMostWallMs = 1e12;  // 30 years: more is a damaged clock, and would not fit 64 bits of nanoseconds

void tell_times(RunAnswer& run) {
  std::uint64_t end_ns = 0;
  std::set<std::string> hosts;
  std::set<int> ranks;
  for (const ProcessAnswer& process : run.processes) {
    if (run.start_realtime_ns == 0 || process.start_realtime_ns < run.start_realtime_ns) {
      run.start_realtime_ns = process.start_realtime_ns;
    }
    end_ns = std::max(
        end_ns, process.start_realtime_ns + static_cast<std::uint64_t>(std::min(process.wall_ms, kMostWallMs) * 1e6));
    if (!process.host.empty()) hosts.insert(process.host);
    if (process.kind == ProcessKind::kRank) ranks.insert(process.rank.value_or(0));
    if (run.mode.empty()) run.mode = process.mode;
    if (process.steps.lengths.count > run.steps.lengths.count) run.steps = process.steps;
    if (process.start_up) run.start_up_ms = std::max(run.start_up_ms.value_or(0), process.start_up->ms);
    if (process.clock_error_us) run.clock_error_us = std::max(run.clock_error_us.value_or(0), *process.clock_error_us);
  }
  run.wall_s = 1e-9 * static_cast<double>(end_ns - run.start_realtime_ns);
  run.hosts.assign(hosts.begin(), hosts.end());
  run.ranks = static_cast<std::uint32_t>(ranks.size());
  if (hosts.size() > 1) run.clock_error_us.reset();
}

// A run whose ranks are not all on one axis has no error to tell. Where there are none, every host counts.
void tell_clock_error(RunAnswer& run) {
  run.clock_error_us.reset();
  double most_ns = 0;
  for (const ProcessAnswer& process : run.processes) {
    if (run.ranks > 0 && process.kind != ProcessKind::kRank) continue;
    const auto clock = run.host_clocks.find(process.host);
    if (clock == run.host_clocks.end()) return;
    most_ns = std::max(most_ns, clock->second.error_ns);
  }
  run.clock_error_us = 1e-3 * most_ns;
}

// What a host's own clock says of the day is wrong by as much as its offset is.
void put_on_one_axis(RunAnswer& run) {
  const auto reference = std::find_if(run.processes.begin(), run.processes.end(), [&run](const ProcessAnswer& process) {
    const auto clock = run.host_clocks.find(process.host);
    return clock != run.host_clocks.end() && clock->second.moments == 0;
  });
  if (reference == run.processes.end()) return;
  const std::uint64_t realtime_offset_ns = reference->start_realtime_ns - reference->start_monotonic_ns;
  for (ProcessAnswer& process : run.processes)
    if (const auto clock = run.host_clocks.find(process.host); clock != run.host_clocks.end())
      process.start_realtime_ns = clock->second.to_reference(process.start_monotonic_ns) + realtime_offset_ns;
  run.start_realtime_ns = 0;
  tell_times(run);
}

// One trace file. What is open stays open where collectives are to be put together with other ranks'.
struct Opened {
  std::unique_ptr<Trace> trace;
  std::unique_ptr<Timeline> timeline;
  std::shared_ptr<const DeviceTimeline> device;  // nullptr: there is no room to hold it
  std::shared_ptr<const CollectiveKernels> kernels;
  std::optional<ProcessAnswer> answer;
  std::optional<Unreadable> unreadable;

  std::shared_ptr<const DeviceTimeline> read_device() const {
    return device ? device : std::make_shared<const DeviceTimeline>(device_timeline(*trace));
  }
};

StepChoice choice_of(const Trace& trace, const StepQuery& query) {
  if (query.choice != StepChoice::kAuto) return query.choice;
  return trace.header.steps == kStepsOff     ? StepChoice::kOff
         : trace.header.steps == kStepsMarks ? StepChoice::kMarks
                                             : StepChoice::kAuto;
}

Opened read_one(const std::string& path, Symbols& symbols, MemoryBudget& budget, unsigned cores,
                const StepQuery& query) {
  Opened opened;
  try {
    opened.trace = std::make_unique<Trace>(read_trace(path, &budget));
    opened.timeline = std::make_unique<Timeline>(*opened.trace, symbols);
    const StepPlan plan = plan_steps(*opened.timeline, choice_of(*opened.trace, query));
    const auto device = std::make_shared<const DeviceTimeline>(device_timeline(*opened.trace));
    opened.answer = analyse_process(*opened.timeline, symbols, cores, plan, {}, device.get());
    opened.kernels = std::make_shared<const CollectiveKernels>(*device);
    if (budget.take(device->activities.size() * sizeof(Activity))) opened.device = device;
    if (!budget.take(opened.answer->blocked->bytes())) opened.answer->blocked.reset();
    const bool works_for_job = !opened.answer->collectives.ranks.empty() || !device->activities.empty();
    if (query.is_one() || works_for_job) return opened;
    opened.answer->blocked.reset();
  } catch (const TraceError& error) {
    opened.unreadable = Unreadable{path, error.what(), error.offset};
  } catch (const std::system_error& error) {
    opened.unreadable = Unreadable{path, error.what(), 0};
  }
  opened.timeline.reset();
  opened.trace.reset();
  return opened;
}

std::vector<Opened> read_all(const std::vector<std::string>& paths, Symbols& symbols, MemoryBudget& budget,
                             const Progress& progress, unsigned cores, const StepQuery& query) {
  std::uint64_t all = 0, done = 0;
  for (const std::string& trace : paths) all += file_bytes(trace);
  std::mutex mutex;
  std::vector<Opened> opened(paths.size());
  // Where there are fewer traces than cores, the threads of a trace share the rest.
  const auto inner = static_cast<unsigned>(std::max<std::size_t>(1, cores / std::max<std::size_t>(1, paths.size())));
  run_parallel(paths.size(), cores, [&](std::size_t i) {
    const auto tell = [&](std::uint64_t more) {
      const std::lock_guard lock(mutex);
      done += more;
      if (progress) progress(done, all);
    };
    tell(0);
    opened[i] = read_one(paths[i], symbols, budget, inner, query);
    tell(file_bytes(paths[i]));
  });
  if (progress) progress(all, all);
  return opened;
}

// Ranks that make collectives together make steps of one length: one that seems to make others was misunderstood.
void drop_disagreeing(std::vector<Opened>& opened) {
  std::vector<StepAnswer*> detected;
  std::vector<double> medians;
  for (Opened& one : opened) {
    if (!one.answer || one.answer->collectives.ranks.empty()) continue;
    if (one.answer->steps.source != StepSource::kDetected) continue;
    detected.push_back(&one.answer->steps);
    medians.push_back(one.answer->steps.lengths.median_ns);
  }
  if (medians.size() < 2) return;
  const double usual_ns = lengths_of(medians).median_ns;
  const auto agrees = [usual_ns](double ns) { return std::abs(ns - usual_ns) <= kAgree * usual_ns; };
  const bool most_agree = 2 * std::count_if(medians.begin(), medians.end(), agrees) > std::ssize(medians);
  for (Opened& one : opened) {
    if (!one.answer || std::find(detected.begin(), detected.end(), &one.answer->steps) == detected.end()) continue;
    if (most_agree && agrees(one.answer->steps.lengths.median_ns)) continue;
    one.answer->steps = {};
    one.answer->start_up.reset();
    one.answer->steady.reset();
  }
}

void limit_to_one(std::vector<Opened>& opened, const StepQuery& query, Symbols& symbols, unsigned cores) {
  std::vector<SteppedProcess> processes;
  for (Opened& one : opened)
    if (one.answer) processes.push_back({one.timeline.get(), &*one.answer, one.device.get()});
  const std::optional<std::uint64_t> number = query.slowest ? slowest_step(processes) : query.number;
  if (!number) throw std::invalid_argument("no step of this run has a place in time");
  if (!limit_to_step(processes, *number, symbols, cores))
    throw std::invalid_argument("this run has no step " + std::to_string(*number));
}

// Only what the answer of its process is about.
CollectiveSource within(const ProcessCollectives& own, CollectiveSource all) {
  return [&own, all = std::move(all)](CollectiveCall& call) {
    while (all(call)) {
      const auto communicator = own.ranks.find(call.communicator);
      if (communicator == own.ranks.end()) continue;
      const auto span = communicator->second.find(call.rank);
      if (span == communicator->second.end()) continue;
      if (call.sequence >= span->second.first.sequence && call.sequence <= span->second.last.sequence) return true;
    }
    return false;
  };
}

std::map<std::string, const Opened*> by_trace(const std::vector<Opened>& opened) {
  std::map<std::string, const Opened*> by_path;
  for (const Opened& one : opened)
    if (one.timeline) by_path[one.answer->trace_path] = &one;
  return by_path;
}

// Alike on one host, whose processes share one clock.
void align(const std::vector<Opened>& opened, RunAnswer& run, unsigned cores) {
  if (run.hosts.size() < 2) return;
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  double slack_us = kReadingUs;
  std::vector<ProcessEnds> ends;
  std::vector<const Opened*> sources;
  for (const ProcessAnswer& process : run.processes) {
    slack_us = std::max(slack_us, process.clock_error_us.value_or(0));
    const auto found = by_path.find(process.trace_path);
    ends.push_back({process.host, {}});
    sources.push_back(found == by_path.end() ? nullptr : found->second);
  }
  run_parallel(ends.size(), cores, [&](std::size_t i) {
    if (sources[i] == nullptr) return;
    try {
      ends[i].ends = collective_ends(*sources[i]->timeline, sources[i]->kernels);
    } catch (const TraceError&) {
      return;  // somebody changed the file since it was read
    }
  });
  run.host_clocks = align_hosts(ends, 1e3 * slack_us);
  put_on_one_axis(run);
  tell_clock_error(run);
}

std::vector<CollectiveAnswer> join_ranks(const std::vector<Opened>& opened, const RunAnswer& run, bool is_part) {
  std::map<std::string, std::vector<CollectiveSource>> sources;
  std::map<std::string, CollectiveSamples> samples;
  for (const Opened& one : opened) {
    if (!one.timeline) continue;
    sources[one.answer->trace_path] = collective_sources(*one.timeline, one.kernels);
    samples[one.answer->trace_path] = collective_samples(*one.timeline);
  }
  std::vector<CollectiveMember> members;
  for (const ProcessAnswer& process : run.processes) {
    if (process.collectives.shares.empty()) continue;
    std::vector<CollectiveSource> own = std::move(sources[process.trace_path]);
    if (is_part)
      for (CollectiveSource& source : own) source = within(process.collectives, std::move(source));
    members.push_back({&process.collectives, process.host, process.rank, std::move(own)});
    if (const auto clock = run.host_clocks.find(process.host); clock != run.host_clocks.end())
      members.back().clock = clock->second;
    members.back().samples = std::move(samples[process.trace_path]);
  }
  return answer_collectives(members, run.steps.lengths.count);
}

// Of a process that works alone: its own.
std::optional<RunPath> path_of_one(const ProcessAnswer& process) {
  if (!process.path) return std::nullopt;
  RunPath run;
  run.path = *process.path;
  run.ranks = {{process.rank, process.pid, process.path->share_ns}};
  run.steps = run.looked_at = process.steps.steps.size();
  return run;
}

// Nothing where a rank's part in the job is not known, or where nobody knows who works for it.
std::optional<RunPath> path_of(const std::vector<Opened>& opened, const RunAnswer& run, unsigned cores) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  std::vector<RunPathMember> members;
  std::vector<const ProcessAnswer*> on_gpu;
  std::set<int> ranks;
  for (const ProcessAnswer& process : run.processes) {
    if (process.launches.hooked && process.gpu.source != ActivitySource::kNone) on_gpu.push_back(&process);
    if (process.kind != ProcessKind::kRank) continue;
    const auto found = by_path.find(process.trace_path);
    const auto clock = run.host_clocks.find(process.host);
    if (found == by_path.end() || !ranks.insert(process.rank.value_or(0)).second) return std::nullopt;
    if (run.hosts.size() > 1 && clock == run.host_clocks.end()) return std::nullopt;
    const Opened* own = found->second;
    members.push_back({own->timeline.get(), &process, [own] { return own->read_device(); }, own->kernels,
                       clock == run.host_clocks.end() ? HostClock{} : clock->second});
  }
  if (members.size() < 2) return on_gpu.size() == 1 ? path_of_one(*on_gpu[0]) : std::nullopt;
  try {
    return answer_run_path(members, cores);
  } catch (const TraceError&) {
    return std::nullopt;  // somebody changed a file since it was read
  }
}

// Chains that end in a wait for another rank go on there.
void follow_over_ranks(const std::vector<Opened>& opened, RunAnswer& run, unsigned cores) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  std::vector<ChainMember> members;
  std::vector<std::shared_ptr<const CollectiveKernels>> kernels;
  std::vector<ProcessAnswer*> answers;
  const std::uint64_t base_ns = run.processes.empty() ? 0 : run.processes.front().start_monotonic_ns;
  for (ProcessAnswer& process : run.processes) {
    const auto clock = run.host_clocks.find(process.host);
    const auto found = by_path.find(process.trace_path);
    if (found == by_path.end() || !process.blocked || process.collectives.ranks.empty()) continue;
    if (run.hosts.size() > 1 && clock == run.host_clocks.end()) continue;
    const HostClock own = clock == run.host_clocks.end() ? HostClock{} : clock->second;
    members.push_back({process.blocked.get(), {}, process.pid, process.rank});
    members.back().axis = axis_of(*found->second->timeline, own, base_ns);
    kernels.push_back(found->second->kernels);
    answers.push_back(&process);
  }
  try {
    if (members.size() > 1 && find_rank_waits(members, kernels))
      run_parallel(members.size(), cores, [&](std::size_t i) {
        answers[i]->set_chains(follow_chains(members, static_cast<std::uint32_t>(i)));
      });
  } catch (const TraceError&) {
  }  // somebody changed a file since it was read: they end where they ended
  for (ProcessAnswer& process : run.processes) process.blocked.reset();
}

}  // namespace

std::string RunAnswer::started() const {
  if (start_realtime_ns == 0) return {};
  const auto seconds = static_cast<time_t>(start_realtime_ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

RunAnswer analyse_run(const std::string& path, const Progress& progress, const Effort& effort, const StepQuery& query) {
  RunAnswer run;
  run.path = path;
  Symbols symbols;
  MemoryBudget budget(effort.held_bytes);
  const unsigned cores = effort.cores == 0 ? usable_cores() : effort.cores;
  std::vector<Opened> opened = read_all(trace_paths(path), symbols, budget, progress, cores, query);
  drop_disagreeing(opened);
  if (query.is_one()) limit_to_one(opened, query, symbols, cores);
  for (Opened& one : opened) {
    if (one.answer) run.processes.push_back(*one.answer);
    if (one.unreadable) run.unreadable.push_back(*one.unreadable);
  }
  tell_kinds(run.processes);
  std::stable_sort(run.processes.begin(), run.processes.end(), [](const ProcessAnswer& l, const ProcessAnswer& r) {
    const auto order = [](const ProcessAnswer& p) {
      return std::tuple(p.kind != ProcessKind::kRank, p.kind == ProcessKind::kRank ? p.rank.value_or(0) : 0,
                        p.start_monotonic_ns);
    };
    return order(l) < order(r);
  });
  tell_times(run);
  align(opened, run, cores);
  run.collectives = join_ranks(opened, run, query.is_one());
  follow_over_ranks(opened, run, cores);
  run.critical_path = path_of(opened, run, cores);
  if (!query.is_one()) tell_endings(run, job_ends(path));
  if (!query.is_one()) run.stuck = find_missing_ranks(run.processes);
  return run;
}

}  // namespace hostprobe::analysis
