// run_answer.cpp: see run_answer.h.
#include "run_answer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/findings/run_findings.h"
#include "analysis/graph/parallel.h"
#include "analysis/measures/process_task.h"
#include "analysis/ranks/collective_join.h"
#include "analysis/ranks/delay_chain.h"
#include "analysis/ranks/endings.h"
#include "analysis/ranks/missing_ranks.h"
#include "analysis/ranks/neighbours.h"
#include "analysis/ranks/open_waits.h"
#include "model/kernel_file.h"
#include "profile_check.h"
#include "run_job.h"
#include "run_times.h"
#include "run_waits.h"
#include "stack_trees.h"
#include "trace/kernel_totals.h"
#include "trace/symbols.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
namespace {

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

RunAnswer analyse_run(const ChosenJob& chosen, const Progress& progress, const Effort& effort, const StepQuery& query,
                      const LivingLook& look) {
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
  answer_profile_checks(opened, run);
  tell_times(run);
  align(opened, run, cores);
  run.collectives = join_ranks(opened, run, works, query.is_one());
  answer_kernel_wakers(opened, works, run);
  follow_over_ranks(opened, works, run, cores);
  answer_job_of(opened, run, symbols, cores);
  answer_kernel(opened, run);
  if (!query.is_one()) tell_endings(run, works, chosen.files);
  if (!query.is_one()) run.stuck = find_missing_ranks(run.processes, works);
  if (look) look(run);
  tell_of_the_whole(run);
  if (effort.stacks && !query.is_one()) add_stack_trees(opened, run, symbols);
  return run;
}

}  // namespace hostprobe::analysis
