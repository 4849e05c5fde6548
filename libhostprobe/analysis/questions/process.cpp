// process.cpp: see process.h.
#include "process.h"

#include <algorithm>

#include "analysis/timeline/ordered_records.h"
#include "analysis/timeline/steps.h"

namespace hostprobe::analysis {
namespace {

template <std::size_t N>
std::string field(const char (&text)[N]) {
  return std::string(text, strnlen(text, N));
}

// Time in blocking calls, where one may lie inside another (a synchronise that waits on a condition variable).
class WaitTime {
 public:
  explicit WaitTime(const TickClock& clock) : clock_(clock) {}
  // Calls come by begin time.
  void add(const Record& record) {
    const std::uint64_t from = std::max(record.begin_ticks, covered_to_);
    if (record.end_ticks > from) total_ns_ += clock_.span_ns(from, record.end_ticks);
    covered_to_ = std::max(covered_to_, record.end_ticks);
  }
  // Waits without a place in time. They are short, so one inside another one is not worth a look.
  void add_ns(double ns) { total_ns_ += ns; }
  double total_ms() const { return 1e-6 * total_ns_; }

 private:
  const TickClock& clock_;
  std::uint64_t covered_to_ = 0;
  double total_ns_ = 0;
};

// The outermost frame of a Python thread that is its own: those further out are threading.py's.
std::string python_entry(const Trace& trace, const Thread& thread) {
  for (const std::uint16_t id : thread.stacks) {
    const auto stack = trace.stacks.find(id - 1u);
    if (stack == trace.stacks.end()) continue;
    for (auto frame = stack->second.python.rbegin(); frame != stack->second.python.rend(); ++frame) {
      const std::string_view text = trace.strings.text(*frame);
      if (text.empty() || text.find("threading.py:") != std::string_view::npos) continue;
      return std::string(text.substr(0, text.find(" (")));
    }
  }
  return {};
}

bool shows_data_loader(const Trace& trace, const Thread& thread) {
  for (const std::uint16_t id : thread.stacks) {
    const auto stack = trace.stacks.find(id - 1u);
    if (stack == trace.stacks.end()) continue;
    for (const std::uint32_t frame : stack->second.python) {
      if (trace.strings.text(frame).find("dataloader.py:") != std::string_view::npos) return true;
    }
  }
  return false;
}

// "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (c10d::ProcessGroupGloo::*)(int), …" names the class
// whose member the thread runs.
std::string type_entry(const std::string& type) {
  const auto end = type.find("::*)");
  const auto begin = end == std::string::npos ? end : type.rfind('(', end);
  return begin == std::string::npos ? std::string() : type.substr(begin + 1, end - begin - 1);
}

bool is_family(const Hook& hook, Family family) { return hook.family == static_cast<std::uint8_t>(family); }

class Questions {
 public:
  Questions(const Trace& trace, Symbols& symbols, const std::map<ThreadKey, Role>& roles, ProcessAnswer& answer)
      : trace_(trace),
        symbols_(symbols),
        roles_(roles),
        answer_(answer),
        waits_(trace, roles),
        launches_(trace, roles),
        syncs_(trace, roles),
        collectives_(trace),
        progress_(trace, roles),
        steps_(trace) {
    answer_.hook_calls.assign(trace.hooks.size(), 0);
  }

  void ask(const Thread& thread) {
    WaitTime wait_time(trace_.clock);
    OrderedRecords records(
        thread, [&](const Record& record) { give(thread, record, wait_time); },
        [&](std::uint64_t) { launches_.missing(thread); }, [&](std::uint64_t) { launches_.summed(thread); });
    records.walk();
    for (const auto& [key, sum] : thread.short_waits) give_short(thread, key, sum, wait_time);
    for (const auto& [key, sum] : thread.sums) give_sum(thread, key, sum, wait_time);
    tell(thread, wait_time);
  }

  void finish() {
    answer_.waits = waits_.finish(symbols_);
    answer_.launches = launches_.finish();
    answer_.syncs = syncs_.finish();
    answer_.collective_calls = collectives_.finish();
    answer_.collective_sums = collectives_.finish_sums();
    answer_.progress = progress_.finish();
    answer_.steps = steps_.finish();
  }

 private:
  void tell(const Thread& thread, const WaitTime& wait_time) {
    ThreadAnswer answer;
    answer.tid = thread.key.tid;
    answer.start_ticks = thread.key.start_ticks;
    answer.name = thread.name;
    answer.role = roles_.at(thread.key);
    answer.type = demangle_type(std::string(trace_.strings.text(thread.entry.type_name)));
    answer.runs = thread.key.tid == trace_.header.pid ? std::string() : python_entry(trace_, thread);
    answer.in_data_loader = shows_data_loader(trace_, thread);
    if (answer.runs.empty()) answer.runs = type_entry(answer.type);
    if (thread.entry.cpu_ns != 0) {
      answer.cpu_ms = 1e-6 * static_cast<double>(thread.entry.cpu_ns);
      answer.run_delay_ms = 1e-6 * static_cast<double>(thread.entry.run_delay_ns);
    }
    answer.open_wait = open_wait(thread);
    answer.wall_ms = lifetime_ms(thread);
    answer.wait_ms = wait_time.total_ms();
    // In sums a wait inside another one cannot be told from one beside it.
    if (!thread.sums.empty() && answer.wall_ms > 0) answer.wait_ms = std::min(answer.wait_ms, answer.wall_ms);
    answer.wait_ms += answer.open_wait ? answer.open_wait->ms : 0;
    answer.records = thread.kept;
    answer.lost = thread.lost;
    answer.unfinished = thread.unfinished;
    answer_.threads.push_back(std::move(answer));
  }

  double lifetime_ms(const Thread& thread) const {
    const bool first = thread.key.tid == trace_.header.pid && trace_.header.start.ticks != 0;
    const std::uint64_t begin = first ? trace_.header.start.ticks : thread.entry.start_ticks;
    const std::uint64_t end = thread.entry.end_ticks != 0 ? thread.entry.end_ticks : trace_.last.ticks;
    return end > begin && begin != 0 ? 1e-6 * trace_.clock.span_ns(begin, end) : 0;
  }

  std::optional<OpenWaitAnswer> open_wait(const Thread& thread) const {
    const OpenWait& open = thread.entry.open;
    const Hook* hook = trace_.hook_of(sum_hook(open.key));
    if (thread.entry.end_ticks != 0 || hook == nullptr) return std::nullopt;
    // One that began after the clock was read last has lasted no time that is known.
    const std::uint64_t end = std::max(open.begin_ticks, trace_.last.ticks);
    const Module* module = trace_.module_at(sum_site(open.key));
    return OpenWaitAnswer{hook->name, module == nullptr ? "unknown" : base_name(module->path),
                          trace_.clock.monotonic_ns(open.begin_ticks),
                          1e-6 * trace_.clock.span_ns(open.begin_ticks, end)};
  }

  void give_short(const Thread& thread, std::uint64_t key, const SiteSum& sum, WaitTime& wait_time) {
    const Hook* hook = trace_.hook_of(sum_hook(key));
    if (hook == nullptr) return;
    answer_.hook_calls[sum_hook(key) - 1u] += sum.time.count();
    if (is_family(*hook, Family::kWait)) {
      wait_time.add_ns(trace_.clock.length_ns(static_cast<double>(sum.time.ticks)));
      waits_.add_sum(thread, *hook, sum_site(key), 0, sum);
    }
    if (ProgressThreads::is_poll(*hook)) progress_.add_short(thread, sum);
    if (hook->launch) launches_.add_skipped(*hook, sum.time.count());
  }

  void give_sum(const Thread& thread, const SumKey& key, const SiteSum& sum, WaitTime& wait_time) {
    const auto& [place, object] = key;
    const Hook* hook = trace_.hook_of(sum_hook(place));
    if (hook == nullptr) return;
    answer_.hook_calls[sum_hook(place) - 1u] += sum.time.count();
    if (hook->blocking) wait_time.add_ns(trace_.clock.length_ns(static_cast<double>(sum.time.ticks)));
    if (is_family(*hook, Family::kWait)) waits_.add_sum(thread, *hook, sum_site(place), object, sum);
    if (hook->launch) launches_.add_sum(thread, *hook, sum);
    if (is_family(*hook, Family::kNccl)) collectives_.add_sum(*hook, sum_site(place), object, sum);
    if (ProgressThreads::is_poll(*hook)) progress_.add_stalls(thread, sum);
    if (is_family(*hook, Family::kCuda) && hook->blocking) syncs_.add_sum(thread, *hook, sum);
    if (Steps::is_step(*hook)) steps_.add_sum(thread, sum);
  }

  void give(const Thread& thread, const Record& record, WaitTime& wait_time) {
    const Hook* hook = trace_.hook_of(record);
    if ((record.flags & kRecordAfterSkipped) != 0) launches_.missing(thread);
    if (hook == nullptr) return;
    if (!is_summed(record)) {
      ++answer_.hook_calls[record.hook - 1u];
      if (hook->blocking && (record.flags & kRecordAtOnce) == 0) wait_time.add(record);
    }
    if (is_family(*hook, Family::kWait)) waits_.add(thread, *hook, record);
    if (hook->launch) launches_.add(thread, *hook, record);
    if (is_family(*hook, Family::kNccl)) {
      collectives_.add(*hook, record);
      progress_.add_call(thread, *hook, record);
    }
    if (ProgressThreads::is_poll(*hook)) progress_.add(thread, record);
    if (is_family(*hook, Family::kCuda) && hook->blocking) syncs_.add(thread, *hook, record);
    if (Steps::is_step(*hook)) steps_.add(thread, record);
  }

  const Trace& trace_;
  Symbols& symbols_;
  const std::map<ThreadKey, Role>& roles_;
  ProcessAnswer& answer_;
  Waits waits_;
  Launches launches_;
  Syncs syncs_;
  CollectiveCalls collectives_;
  ProgressThreads progress_;
  Steps steps_;
};

EndState end_of(const Trace& trace) {
  if (trace.header.state == kFileRecovered) return EndState::kRecovered;
  if (trace.header.state != kFileOpen) return EndState::kEnded;
  return trace.alive ? EndState::kRunning : EndState::kKilled;
}

void describe(const Trace& trace, ProcessAnswer& answer) {
  const FileHeader& header = trace.header;
  answer.trace_path = trace.path;
  if (header.rank >= 0) answer.rank = header.rank;
  answer.kind = header.forked_from != 0 ? ProcessKind::kWorker
                : header.rank >= 0      ? ProcessKind::kRank
                                        : ProcessKind::kOther;
  answer.pid = header.pid;
  answer.parent_pid = header.parent_pid;
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
  answer.start_realtime_ns = answer.start_monotonic_ns + static_cast<std::uint64_t>(trace.clock.realtime_offset_ns());
  answer.wall_ms = end > start ? 1e-6 * trace.clock.span_ns(start, end) : 0;
  if (trace.process_cpu_ns != 0) answer.cpu_ms = 1e-6 * static_cast<double>(trace.process_cpu_ns);
  if (const auto error = trace.clock.error_ns()) answer.clock_error_us = 1e-3 * *error;
}

// A thread that has left records behind in sums is whole from its first call on that is not in them; all threads together
// from the latest such moment.
void tell_sums(const Trace& trace, ProcessAnswer& answer) {
  std::uint64_t whole_since = 0;
  bool any = false;
  for (const auto& [key, thread] : trace.threads) {
    answer.skipped += thread.entry.skipped;
    answer.summed_only += thread.summed_only;
    std::uint64_t first = UINT64_MAX;
    for (const Slice& slice : thread.slices) first = std::min(first, slice.least_end_ticks);
    if (first == UINT64_MAX) continue;
    any = true;
    if (!thread.sums.empty()) whole_since = std::max(whole_since, first);
  }
  if (!any) return;
  const std::uint64_t ns = whole_since == 0 ? 0 : trace.clock.monotonic_ns(whole_since);
  answer.whole_since_ms =
      ns < answer.start_monotonic_ns ? 0 : 1e-6 * static_cast<double>(ns - answer.start_monotonic_ns);
}

}  // namespace

const char* kind_name(ProcessKind kind) {
  return kind == ProcessKind::kRank ? "rank" : kind == ProcessKind::kWorker ? "worker" : "other";
}

const ThreadAnswer* ProcessAnswer::main_thread() const {
  for (const ThreadAnswer& thread : threads) {
    if (thread.tid == pid) return &thread;
  }
  return nullptr;
}

const ThreadAnswer* ProcessAnswer::thread(const ThreadKey& key) const {
  for (const ThreadAnswer& thread : threads) {
    if (thread.tid == key.tid && thread.start_ticks == key.start_ticks) return &thread;
  }
  return nullptr;
}

ProcessAnswer analyse_process(const Trace& trace, Symbols& symbols) {
  ProcessAnswer answer;
  describe(trace, answer);
  tell_times(trace, answer);
  std::map<ThreadKey, Role> roles;
  for (const auto& [key, thread] : trace.threads) roles[key] = role_of(trace, thread, symbols);
  Questions questions(trace, symbols, roles, answer);
  for (const auto& [key, thread] : trace.threads) {
    questions.ask(thread);
    answer.unfinished += thread.unfinished;
  }
  questions.finish();
  answer.records = trace.records();
  answer.lost = trace.lost();
  answer.own_cost = own_cost(trace);
  tell_sums(trace, answer);
  answer.actions = actions_of(trace, answer.start_monotonic_ns);
  answer.hooks = trace.hooks;
  std::stable_sort(answer.threads.begin(), answer.threads.end(),
                   [&answer](const ThreadAnswer& l, const ThreadAnswer& r) {
                     const bool l_main = l.tid == answer.pid, r_main = r.tid == answer.pid;
                     return std::tuple(!l_main, l.role, l.tid) < std::tuple(!r_main, r.role, r.tid);
                   });
  return answer;
}

}  // namespace hostprobe::analysis
