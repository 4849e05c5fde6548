// run_answer.cpp: see run_answer.h.
#include "run_answer.h"

#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "analysis/findings/run_findings.h"
#include "analysis/graph/parallel.h"
#include "analysis/graph/rank_waits.h"
#include "analysis/measures/import_answer.h"
#include "analysis/measures/process_task.h"
#include "analysis/measures/steps.h"
#include "analysis/measures/waits.h"
#include "analysis/ranks/delay_chain.h"
#include "analysis/ranks/endings.h"
#include "analysis/ranks/kernel_wakers.h"
#include "analysis/ranks/open_waits.h"
#include "model/kernel_file.h"
#include "one_step.h"
#include "trace/file_bytes.h"
#include "trace/kernel_rows.h"
#include "trace/kernel_totals.h"
#include "trace/reader.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
namespace {

constexpr double kAgree = 0.1;        // two ranks' mean steps, at most so far apart
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
  std::string path;
  std::unique_ptr<Trace> trace;
  std::unique_ptr<Timeline> timeline;
  std::shared_ptr<const DeviceTimeline> device;  // nullptr: there is no room to hold it
  std::shared_ptr<const CollectiveKernels> kernels;
  std::optional<ProcessAnswer> answer;
  ProcessWork work;
  std::optional<Unreadable> unreadable;
  bool is_kernel = false;  // of a machine, no process: there is a trace and nothing else
  bool is_absent = false;  // it did not live during the step that is asked about

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

void hold_collectives(Opened& opened, const MemoryBudget& budget) {
  const auto records = std::exchange(opened.work.collective_records, nullptr);
  if (!budget.has_room()) return;
  for (auto& [track, own] : *records) own.shrink_to_fit();
  opened.timeline->hold_collectives(std::move(*records));
}

// What a trace was unpacked into lies scattered in the heap; the next one takes it again, so it is given back to the system
// only where it would stand in the way of the budget.
void give_back_scattered(const MemoryBudget& budget) {
  std::size_t all = 0, resident = 0, of_files = 0;  // pages
  std::ifstream("/proc/self/statm") >> all >> resident >> of_files;
  if ((resident - of_files) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) > budget.bytes() / 2) malloc_trim(0);
}

Opened read_one(const std::string& path, Symbols& symbols, MemoryBudget& budget, unsigned cores, const StepQuery& query,
                bool has_kernel) {
  Opened opened;
  opened.path = path;
  try {
    opened.trace = std::make_unique<Trace>(read_trace(path, &budget));
    if (is_kernel_trace(*opened.trace)) {
      opened.is_kernel = true;
      return opened;
    }
    opened.timeline = std::make_unique<Timeline>(*opened.trace, symbols);
    const StepPlan plan = plan_steps(*opened.timeline, choice_of(*opened.trace, query));
    const auto device = std::make_shared<const DeviceTimeline>(device_timeline(*opened.trace));
    opened.answer = analyse_process(*opened.timeline, symbols, cores, plan, {}, device.get(), &opened.work);
    opened.kernels = std::make_shared<const CollectiveKernels>(*device);
    if (budget.has_room()) opened.device = device;
    hold_collectives(opened, budget);
    const bool works_for_job = !opened.work.collectives.ranks.empty() || !device->activities.empty() ||
                               !opened.answer->steps.steps.empty() ||
                               task_of(*opened.answer) == ProcessTask::kDataLoader;
    if (query.is_one() || works_for_job || has_kernel) {
      opened.trace->release();
      give_back_scattered(budget);
      return opened;
    }
    opened.work.blocked.reset();
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
                             const Progress& progress, unsigned cores, const StepQuery& query, bool has_kernel) {
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
    opened[i] = read_one(paths[i], symbols, budget, inner, query, has_kernel);
    tell(file_bytes(paths[i]));
  });
  if (progress) progress(all, all);
  return opened;
}

// In the middle, or of so many of them: by the mean, because a median is another one where one rank alone is now and then held up at
// the end of a step, and the others in the next; or by the median, because where steps are left out (calls are missing) long ones are
// so more often.
struct UsualStep {
  double mean_ns = 0, median_ns = 0;
  bool agrees_with(const UsualStep& other) const {
    const auto is_near = [](double l, double r) { return std::abs(l - r) <= kAgree * r; };
    return is_near(mean_ns, other.mean_ns) || is_near(median_ns, other.median_ns);
  }
};

UsualStep usual_step(const StepAnswer& steps) {
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, steps.lengths.count));
  return {steps.lengths.total_ns / count, steps.lengths.median_ns};
}

UsualStep middle_of(const std::vector<UsualStep>& all) {
  std::vector<double> means, medians;
  for (const UsualStep& one : all) {
    means.push_back(one.mean_ns);
    medians.push_back(one.median_ns);
  }
  return {lengths_of(std::move(means)).median_ns, lengths_of(std::move(medians)).median_ns};
}

bool is_detected_of_job(const Opened& one) {
  return one.answer && !one.work.collectives.ranks.empty() && one.answer->steps.source == StepSource::kDetected;
}

// Ranks that make collectives together make steps of one length: one that seems to make others was misunderstood.
void drop_disagreeing(std::vector<Opened>& opened) {
  std::vector<UsualStep> all;
  for (const Opened& one : opened)
    if (is_detected_of_job(one)) all.push_back(usual_step(one.answer->steps));
  if (all.size() < 2) return;
  const UsualStep middle = middle_of(all);
  const auto agrees = [&middle](const UsualStep& one) { return one.agrees_with(middle); };
  const bool most_agree = 2 * std::count_if(all.begin(), all.end(), agrees) > std::ssize(all);
  for (Opened& one : opened) {
    if (!is_detected_of_job(one) || (most_agree && agrees(usual_step(one.answer->steps)))) continue;
    one.answer->steps = {};
    one.answer->start_up.reset();
    one.answer->steady.reset();
  }
}

OneStep limit_to_one(std::vector<Opened>& opened, const StepQuery& query, Symbols& symbols, unsigned cores) {
  std::vector<SteppedProcess> processes;
  std::vector<Opened*> stepped;
  for (Opened& one : opened) {
    if (!one.answer) continue;
    processes.push_back({one.timeline.get(), &*one.answer, &one.work, one.device.get()});
    stepped.push_back(&one);
  }
  const std::optional<std::uint64_t> number = query.slowest ? slowest_step(processes) : query.number;
  if (!number) throw std::invalid_argument("no step of this run has a place in time");
  const std::string known = known_steps_text(processes);
  std::optional<OneStep> step = limit_to_step(processes, *number, symbols, cores);
  if (!step)
    throw std::invalid_argument(
        "this run has no step " + std::to_string(*number) +
        (known.empty() ? ", and no other that has a place in time" : "; those that have a place in time are " + known));
  for (std::size_t i = 0; i < stepped.size(); ++i) stepped[i]->is_absent = !processes[i].lived_then;
  return std::move(*step);
}

// Once it is known which processes are ranks: parents say so too.
void drop_absent(const std::vector<Opened>& opened, RunAnswer& run) {
  std::set<std::string> absent;
  for (const Opened& one : opened)
    if (one.is_absent) absent.insert(one.path);
  std::erase_if(run.processes, [&](const ProcessAnswer& process) { return absent.contains(process.trace_path); });
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
    if (one.timeline) by_path[one.path] = &one;
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

std::vector<CollectiveAnswer> join_ranks(const std::vector<Opened>& opened, const RunAnswer& run,
                                         const ProcessWorks& works, bool is_part) {
  std::map<std::string, std::vector<CollectiveSource>> sources;
  std::map<std::string, CollectiveSamples> samples;
  for (const Opened& one : opened) {
    if (!one.timeline) continue;
    sources[one.path] = collective_sources(*one.timeline, one.kernels);
    samples[one.path] = collective_samples(*one.timeline);
  }
  std::vector<CollectiveMember> members;
  for (const ProcessAnswer& process : run.processes) {
    const ProcessCollectives& collectives = works.at(process.trace_path).collectives;
    if (collectives.shares.empty()) continue;
    std::vector<CollectiveSource> own = std::move(sources[process.trace_path]);
    if (is_part)
      for (CollectiveSource& source : own) source = within(collectives, std::move(source));
    members.push_back({&collectives, process.host, process.rank, std::move(own)});
    if (const auto clock = run.host_clocks.find(process.host); clock != run.host_clocks.end())
      members.back().clock = clock->second;
    members.back().samples = std::move(samples[process.trace_path]);
  }
  return answer_collectives(members, run.steps.lengths.count);
}

bool is_on_gpu(const ProcessAnswer& process) {
  return process.launches.hooked && process.gpu.source != ActivitySource::kNone;
}

// Of a process that works alone: its own.
std::optional<RunPath> path_of_one(const ProcessAnswer& process) {
  if (!process.path) return std::nullopt;
  RunPath run;
  run.path = *process.path;
  run.ranks = {{process.rank, process.pid, process.path->share_ns}};
  run.steps = process.steps.steps.size();
  run.looked_at = run.steps == 0 ? 0 : process.path->stretches;
  return run;
}

// Of each process that was traced and profiled, the one that knows less of its GPU; where neither does, of its waits.
std::set<const ProcessAnswer*> known_twice(const RunAnswer& run) {
  std::set<const ProcessAnswer*> known;
  for (const ProcessAnswer& process : run.processes)
    if (const ProcessAnswer* traced = run.traced(process))
      known.insert(is_on_gpu(process) && !is_on_gpu(*traced) ? traced : &process);
  return known;
}

// Whose speed is the job's: the ranks; without ranks the only process on a GPU, else the one that makes most steps. Empty: two
// processes say they are the same rank.
std::vector<const ProcessAnswer*> workers_of_job(const RunAnswer& run) {
  std::vector<const ProcessAnswer*> workers;
  std::set<int> ranks;
  const std::set<const ProcessAnswer*> twice = known_twice(run);
  for (const ProcessAnswer& process : run.processes) {
    if (process.kind != ProcessKind::kRank || twice.contains(&process)) continue;
    if (!ranks.insert(process.rank.value_or(0)).second) return {};
    workers.push_back(&process);
  }
  if (!workers.empty()) return workers;
  for (const ProcessAnswer& process : run.processes)
    if (is_on_gpu(process)) workers.push_back(&process);
  if (workers.size() == 1) return workers;
  const auto most = std::max_element(
      run.processes.begin(), run.processes.end(),
      [](const ProcessAnswer& l, const ProcessAnswer& r) { return l.steps.steps.size() < r.steps.steps.size(); });
  if (most == run.processes.end() || most->steps.steps.empty()) return {};
  return {&*most};
}

// Where a rank's part in the job is not known there is no answer.
void answer_job_of(const std::vector<Opened>& opened, RunAnswer& run, Symbols& symbols, unsigned cores) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  const auto on_gpu = std::count_if(run.processes.begin(), run.processes.end(), is_on_gpu);
  std::vector<RunPathMember> members;
  for (const ProcessAnswer* process : workers_of_job(run)) {
    const auto found = by_path.find(process->trace_path);
    const auto clock = run.host_clocks.find(process->host);
    if (run.hosts.size() > 1 && clock == run.host_clocks.end()) run.step_time_unknown = TimeUnknown::kClocks;
    if (found == by_path.end() || run.step_time_unknown == TimeUnknown::kClocks) return;
    const Opened* own = found->second;
    members.push_back({own->timeline.get(), process, [own] { return own->read_device(); }, own->kernels,
                       clock == run.host_clocks.end() ? HostClock{} : clock->second});
    run.step_members.push_back(process->trace_path);
    for (const ProcessAnswer& worker : run.processes)
      if (const auto of_worker = by_path.find(worker.trace_path);
          of_worker != by_path.end() && loads_for(worker, *process))
        members.back().workers.push_back({of_worker->second->timeline.get(), &worker});
  }
  const auto is_in_part = [](const RunPathMember& member) { return is_read_in_part(*member.answer); };
  if (std::any_of(members.begin(), members.end(), is_in_part)) {
    run.step_time_unknown = TimeUnknown::kLostRecords;
    return;
  }
  if (members.size() < 2 && on_gpu == 1)
    run.critical_path = path_of_one(*std::find_if(run.processes.begin(), run.processes.end(), is_on_gpu));
  try {
    JobAnswer answer = answer_job(members, symbols, cores);
    if (members.size() > 1) run.critical_path = std::move(answer.path);
    run.step_time = std::move(answer.time);
    run.step_time_unknown = answer.unknown;
  } catch (const TraceError&) {
    run.step_time_unknown = TimeUnknown::kChanged;  // somebody changed a file since it was read
  }
}

void count_kernel_wakers(const WakeChains& chains, ProcessAnswer& process) {
  std::map<ChainSite, WaitSite*> sites;
  for (WaitSite& site : process.waits) sites[{site.function, site.library, site.role}] = &site;
  for (const auto& [track, thread] : chains.threads())
    for (const BlockedCall& call : thread.calls) {
      if (call.kernel_waker == 0) continue;
      const auto site = sites.find(
          {wait_site_function(call.function->name, call.on_file), chains.library_of(call.site), track->role});
      if (site != sites.end()) ++site->second->kernel_wakers[chains.kernel_wakers()[call.kernel_waker - 1]];
    }
}

// Waits that the probe knows no waker of. A kernel's trace whose host is not known is taken for one of the only host.
void answer_kernel_wakers(const std::vector<Opened>& opened, ProcessWorks& works, RunAnswer& run) {
  bool any = false;
  for (const Opened& one : opened) {
    if (!one.is_kernel) continue;
    const std::string host = kernel_file(*one.trace).host;
    std::vector<WokenProcess> woken;
    for (const ProcessAnswer& process : run.processes)
      if (const auto& blocked = works.at(process.trace_path).blocked; blocked && (host.empty() || process.host == host))
        woken.push_back({blocked.get(), process.pid});
    find_kernel_wakers(*one.trace, woken);
    any = any || !woken.empty();
  }
  if (!any) return;
  for (ProcessAnswer& process : run.processes) {
    const auto& blocked = works.at(process.trace_path).blocked;
    if (!blocked) continue;
    count_kernel_wakers(*blocked, process);
    set_chains(follow_chains({{blocked.get()}}, 0), process);
  }
}

// Chains that end in a wait for another rank go on there.
void follow_over_ranks(const std::vector<Opened>& opened, ProcessWorks& works, RunAnswer& run, unsigned cores) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  std::vector<ChainMember> members;
  std::vector<std::shared_ptr<const CollectiveKernels>> kernels;
  std::vector<ProcessAnswer*> answers;
  const std::uint64_t base_ns = run.processes.empty() ? 0 : run.processes.front().start_monotonic_ns;
  for (ProcessAnswer& process : run.processes) {
    const auto clock = run.host_clocks.find(process.host);
    const auto found = by_path.find(process.trace_path);
    const ProcessWork& work = works.at(process.trace_path);
    if (found == by_path.end() || !work.blocked || work.collectives.ranks.empty()) continue;
    if (run.hosts.size() > 1 && clock == run.host_clocks.end()) continue;
    const HostClock own = clock == run.host_clocks.end() ? HostClock{} : clock->second;
    members.push_back({work.blocked.get(), {}, process.pid, process.rank});
    members.back().axis = axis_of(*found->second->timeline, own, base_ns);
    for (const auto& [key, share] : work.collectives.shares) members.back().collectives += share.count;
    kernels.push_back(found->second->kernels);
    answers.push_back(&process);
  }
  try {
    if (members.size() > 1 && find_rank_waits(members, kernels))
      run_parallel(members.size(), cores, [&](std::size_t i) {
        set_chains(follow_chains(members, static_cast<std::uint32_t>(i)), *answers[i]);
      });
  } catch (const TraceError&) {
  }  // somebody changed a file since it was read: they end where they ended
  for (auto& [path, work] : works) work.blocked.reset();
}

// What the kernel told of the machines that the processes ran on.
void answer_kernel(const std::vector<Opened>& opened, RunAnswer& run) {
  std::vector<KernelSubject> subjects;
  for (const ProcessAnswer& process : run.processes) {
    KernelSubject subject{process.trace_path, process.host, process.pid, {}, process.start_monotonic_ns, 0};
    subject.end_ns =
        process.start_monotonic_ns + static_cast<std::uint64_t>(1e6 * std::clamp(process.wall_ms, 0.0, kMostWallMs));
    for (const ThreadAnswer& thread : process.threads) subject.tids.push_back(thread.tid);
    subjects.push_back(std::move(subject));
  }
  std::vector<const Trace*> traces;
  for (const Opened& one : opened)
    if (one.is_kernel) traces.push_back(one.trace.get());
  // Of two that tell of the same moments the one that tells more.
  std::stable_sort(traces.begin(), traces.end(),
                   [](const Trace* l, const Trace* r) { return kernel_file(*l).rows > kernel_file(*r).rows; });
  for (const Trace* trace : traces) {
    add_kernel_trace(*trace, subjects, run.kernel);
    for (const Damage& damage : trace->damages) run.unreadable.push_back({trace->path, damage.what, damage.offset});
    if (has_later_totals(*trace))
      run.unreadable.push_back({trace->path, "the kernel's totals in it are of a later hostprobe; use that one", 0});
  }
}

}  // namespace

void tell_of_the_whole(RunAnswer& run) {
  run.deaths = deaths_of(run);
  run.restarts = restarts_of(run);
  run.long_waits = long_waits(run);
  run.delay_chain = answer_delay_chain(run);
  run.findings = find_causes(run);
  run.worst_waits = worst_waits(run);
}

RunAnswer analyse_run(const ChosenJob& chosen, const Progress& progress, const Effort& effort, const StepQuery& query) {
  RunAnswer run;
  run.path = chosen.path;
  run.job = chosen.number;
  run.jobs = chosen.all;
  Symbols symbols;
  MemoryBudget unlimited(PTRDIFF_MAX);
  MemoryBudget& budget = effort.memory != nullptr ? *effort.memory : unlimited;
  const unsigned cores = effort.cores == 0 ? usable_cores() : effort.cores;
  const std::vector<RunFile> files = run_files(chosen.traces);
  const bool has_kernel =
      std::any_of(files.begin(), files.end(), [](const RunFile& one) { return one.header.source == kFromKernel; });
  std::vector<Opened> opened = read_all(chosen.traces, symbols, budget, progress, cores, query, has_kernel);
  drop_disagreeing(opened);
  if (query.is_one()) run.one_step = limit_to_one(opened, query, symbols, cores);
  ProcessWorks works;
  for (Opened& one : opened) {
    if (one.answer) works.emplace(one.answer->trace_path, std::move(one.work));
    if (one.answer) run.processes.push_back(std::move(*one.answer));
    if (one.unreadable) run.unreadable.push_back(*one.unreadable);
  }
  tell_kinds(run.processes);
  drop_absent(opened, run);
  std::stable_sort(run.processes.begin(), run.processes.end(), [](const ProcessAnswer& l, const ProcessAnswer& r) {
    const auto order = [](const ProcessAnswer& p) {
      return std::tuple(p.kind != ProcessKind::kRank, p.kind == ProcessKind::kRank ? p.rank.value_or(0) : 0,
                        p.start_monotonic_ns);
    };
    return order(l) < order(r);
  });
  tell_times(run);
  align(opened, run, cores);
  run.collectives = join_ranks(opened, run, works, query.is_one());
  answer_kernel_wakers(opened, works, run);
  follow_over_ranks(opened, works, run, cores);
  answer_job_of(opened, run, symbols, cores);
  answer_kernel(opened, run);
  if (!query.is_one()) tell_endings(run, works, chosen.files);
  if (!query.is_one()) run.stuck = find_missing_ranks(run.processes, works);
  tell_of_the_whole(run);
  return run;
}

}  // namespace hostprobe::analysis
