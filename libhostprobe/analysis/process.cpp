// process.cpp: see process.h.
#include "process.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "analysis/graph/critical_path.h"
#include "analysis/graph/parallel.h"
#include "analysis/measures/actions.h"
#include "analysis/measures/frequency.h"
#include "analysis/measures/gpu_busy.h"
#include "analysis/measures/halts.h"
#include "analysis/measures/machine_load.h"
#include "analysis/measures/quota.h"
#include "analysis/measures/thread_answer.h"
#include "analysis/measures/wait_shares.h"
#include "questions.h"

namespace hostprobe::analysis {
namespace {

template <std::size_t N>
std::string field(const char (&text)[N]) {
  return std::string(text, strnlen(text, N));
}

// Threads with so many records are worth a task of their own; what is one task must not depend on the machine, because
// the order in which counters are added shows in their last digit.
constexpr std::uint64_t kOwnTask = 200'000;

std::vector<std::vector<const Track*>> tasks_of(const Timeline& timeline) {
  std::vector<std::vector<const Track*>> tasks(1);
  for (const Track& track : timeline.tracks()) {
    if (track.thread->kept >= kOwnTask)
      tasks.push_back({&track});
    else
      tasks.front().push_back(&track);
  }
  return tasks;
}

Questions ask(const Timeline& timeline, unsigned cores, const StepPlan& plan, const Window& window) {
  const std::vector<std::vector<const Track*>> tasks = tasks_of(timeline);
  std::vector<Questions> parts;
  parts.reserve(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) parts.emplace_back(timeline, window, plan);
  run_parallel(tasks.size(), cores, [&](std::size_t i) {
    for (const Track* track : tasks[i]) {
      if (window.is_whole())
        timeline.walk(*track, [&](const auto& event_or_run) { parts[i].add(event_or_run); });
      else
        timeline.walk(*track, timeline.slices_between(*track, window.begin_ns, window.end_ns),
                      [&](const Event& event) { parts[i].add(event); });
    }
  });
  for (std::size_t i = 1; i < parts.size(); ++i) parts[0].merge(std::move(parts[i]));
  return std::move(parts[0]);
}

EndState end_of(const Trace& trace) {
  if (trace.header.state == kFileRecovered) return EndState::kRecovered;
  if (trace.header.state != kFileOpen) return EndState::kEnded;
  return trace.alive || trace.header.source == kFromDump ? EndState::kRunning : EndState::kUnseen;
}

void describe(const Trace& trace, ProcessAnswer& answer) {
  const FileHeader& header = trace.header;
  answer.trace_path = trace.path;
  if (header.rank >= 0) answer.rank = header.rank;
  answer.kind = header.forked_from != 0 ? ProcessKind::kWorker
                : header.rank >= 0      ? ProcessKind::kRank
                                        : ProcessKind::kOther;
  answer.forked_from = header.forked_from;
  answer.cpus = header.cpus;
  answer.machine_cpus = header.machine_cpus;
  if (header.idle_of_ns > 0)
    answer.idle_cpus = static_cast<double>(header.idle_ns) / static_cast<double>(header.idle_of_ns);
  if (header.incarnation != 0) answer.restart = static_cast<int>(header.incarnation - 1);
  answer.pid = header.pid;
  answer.parent_pid = header.parent_pid;
  answer.job = field(header.job);
  if ((header.source == kFromProbe || header.source == kFromProfile) && header.world_size > 0)
    answer.world_size = static_cast<std::uint32_t>(header.world_size);
  answer.host = field(header.host);
  answer.boot_id = field(header.boot_id);
  answer.program = field(header.program);
  answer.command = field(header.command);
  answer.mode = field(header.mode);
  answer.hostprobe_version = field(header.hostprobe_version);
  answer.end = end_of(trace);
  answer.tail_gone = trace.segment == SegmentState::kGone;
  answer.lost_in_file = header.lost_in_file;
  std::copy(std::begin(header.lost_by), std::end(header.lost_by), answer.lost_by.begin());
  answer.file_errno = header.file_errno;
  answer.damages = trace.damages;
}

void tell_times(const Trace& trace, ProcessAnswer& answer) {
  const std::uint64_t start = trace.header.start.ticks != 0 ? trace.header.start.ticks : trace.clock.first_ticks();
  std::uint64_t end = trace.last.ticks;
  for (const auto& [key, thread] : trace.threads) end = std::max(end, thread.entry.end_ticks);
  answer.start_monotonic_ns = trace.clock.monotonic_ns(start);
  answer.start_since_first_ns = trace.clock.span_ns(trace.clock.first_ticks(), start);
  answer.start_realtime_ns = answer.start_monotonic_ns + static_cast<std::uint64_t>(trace.clock.realtime_offset_ns());
  answer.wall_ms = end > start ? 1e-6 * trace.clock.span_ns(start, end) : 0;
  if (trace.process_cpu_ns != 0) answer.cpu_ms = 1e-6 * static_cast<double>(trace.process_cpu_ns);
  if (const auto error = trace.clock.error_ns()) answer.clock_error_us = 1e-3 * *error;
}

std::vector<ChildEnd> children_ended(const Trace& trace) {
  std::vector<ChildEnd> ends;
  for (const EventRow& row : trace.events) {
    if (row.kind != kEventChildEnded) continue;
    const std::uint64_t monotonic_ns = trace.clock.monotonic_ns(row.ticks);
    ends.push_back({static_cast<std::uint32_t>(row.number), static_cast<int>(row.amount),
                    monotonic_ns + static_cast<std::uint64_t>(trace.clock.realtime_offset_ns())});
  }
  return ends;
}

// Calls of the thread that are only in counters are before that moment; 0: none is. What a dump kept is in counters and has records.
// Of a thread that has rested since, calls behind its last record are in counters; nothing is asked of it then.
std::uint64_t whole_since_ticks(const Thread& thread) {
  auto first = std::prev(thread.slices.end());
  if (thread.summed_only == 0 || first->end_sequence() + thread.unfinished < thread.entry.records) return 0;
  while (first != thread.slices.begin() && std::prev(first)->end_sequence() == first->first_sequence) --first;
  return first->least_end_ticks;
}

// All threads together are whole from the latest such moment.
void tell_sums(const Trace& trace, ProcessAnswer& answer) {
  std::uint64_t whole_since = 0;
  bool any = false;
  for (const auto& [key, thread] : trace.threads) {
    answer.skipped += thread.entry.skipped;
    answer.summed_only += thread.summed_only;
    if (thread.slices.empty()) continue;
    any = true;
    whole_since = std::max(whole_since, whole_since_ticks(thread));
  }
  if (!any) return;
  const std::uint64_t ns = whole_since == 0 ? 0 : trace.clock.monotonic_ns(whole_since);
  answer.whole_since_ms =
      ns < answer.start_monotonic_ns ? 0 : 1e-6 * static_cast<double>(ns - answer.start_monotonic_ns);
}

// A window is one step.
void ask_device(const Timeline& timeline, const DeviceTimeline& device, const Track* step_thread, const Window& window,
                ProcessAnswer& answer) {
  std::vector<Window> steps;
  for (const Step& step : answer.steps.steps) steps.push_back({step.begin_ns, step.end_ns});
  if (!window.is_whole()) steps = {window};
  answer.gpu = answer_gpu(device, window, steps);
  // A profile may begin and end between a launch and its kernel.
  if (answer.gpu.source == ActivitySource::kAccount && window.is_whole() && !answer.launches.kernels)
    answer.launches.kernels = answer.gpu.kernels;
  if (!window.is_whole()) answer.certain_idle = answer_certain_idle(timeline, window);
  answer.gaps = answer_gaps(timeline, device, window, steps);
  answer.path = answer_critical_path(timeline, device, window, steps, step_thread);
  answer.kernels = kernel_times(device);
}

std::uint64_t records_of(const std::vector<HookAnswer>& hooks) {
  return std::accumulate(hooks.begin(), hooks.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const HookAnswer& hook) { return sum + hook.calls; });
}

// What the process itself saw of steps that left neither records nor counters of marks.
void tell_seen_steps(const Trace& trace, const StepPlan& plan, StepAnswer& steps) {
  if (!trace.steps_seen || steps.lengths.count > 0) return;
  const StepsSeen& seen = *trace.steps_seen;
  const bool calls = seen.from == kStepsFromCalls;
  if (plan.choice == StepChoice::kOff || plan.choice == (calls ? StepChoice::kMarks : StepChoice::kDetected)) return;
  const Histogram lengths = histogram_of(seen.lengths.time, trace.clock);
  steps.source = calls ? StepSource::kDetected : StepSource::kMarks;
  steps.by_optimizer = seen.from == kStepsFromOptimizer;
  steps.thread = seen.thread;
  steps.lengths = {lengths.count(), lengths.total_ns(), lengths.percentile_ns(50), lengths.percentile_ns(99),
                   lengths.max_ns()};
}

// A part of its life, of which totals of the kernel tell nothing.
void tell_window(const Timeline& timeline, const Window& window, ProcessAnswer& answer) {
  const TickClock& clock = timeline.trace().clock;
  const std::uint64_t before_ns = answer.start_monotonic_ns;
  answer.start_monotonic_ns = clock.monotonic_ns_of(window.begin_ns);
  answer.start_realtime_ns += answer.start_monotonic_ns - before_ns;
  answer.wall_ms = 1e-6 * window.length_ns();
  answer.cpu_ms.reset();
}

// Of the process's life, or of the step that is looked at.
double covered_pct(const Timeline& timeline, const ProcessAnswer& answer) {
  const double begin_ns = answer.start_since_first_ns;
  return 100 * timeline.switches().covered_part(begin_ns, begin_ns + 1e6 * answer.wall_ms);
}

// Of a part of its life totals of the kernel tell nothing; switches do.
void tell_switches(const Switches& switches, const ThreadKey& key, double begin_ns, double end_ns, ThreadTime& time) {
  const ThreadSwitches* own = end_ns > begin_ns && switches.any() ? switches.in(key, begin_ns, end_ns) : nullptr;
  if (own == nullptr) return;
  const OffTime off = own->between(begin_ns, end_ns);
  time.from_switches = true;
  time.preempted_ms = 1e-6 * off.preempted_ns;
  time.cpu_ms = std::max(0.0, time.wall_ms - 1e-6 * (off.preempted_ns + off.waiting_ns));
}

void limit_threads(const Timeline& timeline, const Window& window, const std::map<ThreadKey, Blocked>& blocked,
                   ProcessAnswer& answer) {
  const Trace& trace = timeline.trace();
  TickReader ticks(trace.clock);
  for (ThreadAnswer& thread : answer.threads) {
    const ThreadEntry& entry = trace.threads.at({thread.tid, thread.start_ticks}).entry;
    const double start_ns = entry.start_ticks == 0 ? window.begin_ns : ticks.since_first_ns(entry.start_ticks);
    const double gone_ns = entry.end_ticks == 0 ? window.end_ns : ticks.since_first_ns(entry.end_ticks);
    const double begin_ns = std::max(start_ns, window.begin_ns), end_ns = std::min(gone_ns, window.end_ns);
    ThreadTime lived;
    lived.wall_ms = std::max(0.0, 1e-6 * (end_ns - begin_ns));
    const ThreadKey key{thread.tid, thread.start_ticks};
    tell_switches(timeline.switches(), key, begin_ns, end_ns, lived);
    if (thread.migrations) thread.migrations = timeline.switches().of(key).migrations_between(begin_ns, end_ns);
    const auto own = blocked.find({thread.tid, thread.start_ticks});
    const Blocked part = own == blocked.end() ? Blocked{} : own->second;
    thread.time = attribute_time(lived, part);
    thread.blocked_ms = part.ms;
    thread.wake_ms = part.wake_ms;
    thread.open_wait.reset();
  }
}

// Where a process that did not end was in its last collective of each communicator.
void name_last_stacks(const Trace& trace, Symbols& symbols, ProcessCollectives& collectives) {
  for (auto& [communicator, ranks] : collectives.ranks)
    for (auto& [rank, span] : ranks)
      if (const auto stack = trace.stacks.find(span.last.stack - 1u);
          span.last.stack != 0 && stack != trace.stacks.end())
        span.last_stack = stack_text(trace, stack->second, symbols);
}

// Of those that were not collected behind that: these had an end.
std::vector<StuckChild> stuck_children(const Trace& trace, Symbols& symbols) {
  std::vector<StuckChild> stuck;
  for (const EventRow& row : trace.events) {
    const auto pid = static_cast<std::uint32_t>(row.number);
    if (row.kind == kEventChildEnded) std::erase_if(stuck, [pid](const StuckChild& one) { return one.pid == pid; });
    if (row.kind == kEventStuckChild)
      stuck.push_back({pid, symbols.place(trace, row.amount, false).caller_text(),
                       std::string(row.text, strnlen(row.text, sizeof(row.text)))});
  }
  return stuck;
}

}  // namespace

ProcessAnswer analyse_process(const Timeline& timeline, Symbols& symbols, unsigned cores, const StepPlan& plan,
                              Window window, const DeviceTimeline* device, ProcessWork* work) {
  const Trace& trace = timeline.trace();
  ProcessAnswer answer;
  describe(trace, answer);
  tell_times(trace, answer);
  if (!window.is_whole()) tell_window(timeline, window, answer);
  Questions questions = ask(timeline, cores, plan, window);
  ProcessWork own_work;
  if (work == nullptr) work = &own_work;
  const std::map<ThreadKey, Blocked> blocked = questions.finish(symbols, answer, *work);
  if (answer.end != EndState::kEnded || trace.header.source == kFromDump)
    name_last_stacks(trace, symbols, work->collectives);
  if (window.is_whole()) tell_seen_steps(trace, plan, answer.steps);
  for (const Track& track : timeline.tracks()) {
    const auto own = blocked.find(track.key());
    answer.threads.push_back(describe_thread(timeline, track, own == blocked.end() ? Blocked{} : own->second));
    answer.unfinished += track.thread->unfinished;
  }
  // Not by a conditional expression, which would copy all activities of the one that is there.
  std::optional<DeviceTimeline> own_device;
  if (device == nullptr) device = &own_device.emplace(gpu_timeline(timeline));
  ask_device(timeline, *device, plan.track, window, answer);
  if (window.is_whole()) {
    answer.records = trace.records();
    answer.own_cost = own_cost(trace);
  } else {
    answer.records = records_of(answer.hooks);
    limit_threads(timeline, window, blocked, answer);
  }
  answer.lost = trace.lost();
  if (!trace.switches.empty())
    answer.scheduler = SchedulerAnswer{timeline.switches().count(), timeline.switches().lost(),
                                       covered_pct(timeline, answer), timeline.switches().threads_left_out()};
  tell_sums(trace, answer);
  answer.actions = actions_of(trace, answer.start_monotonic_ns);
  answer.imported = answer_import(answer.actions);
  if (is_read_in_part(answer)) forget_what_may_be_missing(answer);
  answer.halts = halts_of(timeline);
  answer.quota = answer_quota(trace);
  answer.frequency = answer_frequency(trace);
  answer.machine = answer_machine(trace, window, answer.steps.steps);
  answer.stuck_children = stuck_children(trace, symbols);
  work->children_ended = children_ended(trace);
  add_open_waits(answer);
  share_out_waits(answer);
  std::stable_sort(answer.threads.begin(), answer.threads.end(),
                   [&answer](const ThreadAnswer& l, const ThreadAnswer& r) {
                     const bool l_main = l.tid == answer.pid, r_main = r.tid == answer.pid;
                     return std::tuple(!l_main, l.role, l.tid) < std::tuple(!r_main, r.role, r.tid);
                   });
  questions.finish_steady(timeline, symbols, answer);
  return answer;
}

ProcessAnswer analyse_process(const Trace& trace, Symbols& symbols) {
  const Timeline timeline(trace, symbols);
  return analyse_process(timeline, symbols, 1, plan_steps(timeline, StepChoice::kAuto));
}

}  // namespace hostprobe::analysis
