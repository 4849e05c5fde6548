// thread_answer.cpp: see thread_answer.h.
#include "thread_answer.h"

#include <algorithm>
#include <cstring>

#include "answer/file_name.h"
#include "model/window.h"
#include "run_delay.h"
#include "trace/symbols.h"
#include "waits.h"

namespace hostprobe::analysis {
namespace {

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

// A std::thread begins in libstdc++, where the code behind it is not known; then its creator says more.
std::string maker_of(const Trace& trace, const ThreadEntry& entry) {
  for (const std::uint64_t address : {entry.start_routine, entry.creator_site}) {
    const Module* module = address == 0 ? nullptr : trace.module_at(address);
    if (module == nullptr) continue;
    std::string library = base_name(module->path);
    if (!library.starts_with("libstdc++.so") && !library.starts_with("libc.so")) return library;
  }
  return {};
}

struct Life {
  std::uint64_t begin_ticks, end_ticks;
  bool is_known() const { return end_ticks > begin_ticks && begin_ticks != 0; }
};

Life life_of(const Trace& trace, const Thread& thread) {
  const bool first = thread.key.tid == trace.header.pid && trace.header.start.ticks != 0;
  return {first ? trace.header.start.ticks : thread.entry.start_ticks,
          thread.entry.end_ticks != 0 ? thread.entry.end_ticks : trace.last.ticks};
}

double lifetime_ms(const Trace& trace, const Thread& thread) {
  if (thread.entry.stands_for != 0) return 1e-6 * trace.clock.length_ns(static_cast<double>(thread.entry.lived_ticks));
  const Life life = life_of(trace, thread);
  return life.is_known() ? 1e-6 * trace.clock.span_ns(life.begin_ticks, life.end_ticks) : 0;
}

// Where nearly all of its life is covered; the writer begins a moment after the process.
std::optional<double> preempted_ms(const Timeline& timeline, const Thread& thread) {
  constexpr double kCovered = 0.97;
  const Life life = life_of(timeline.trace(), thread);
  if (!timeline.switches().any() || thread.entry.stands_for != 0 || !life.is_known()) return std::nullopt;
  TickReader ticks(timeline.trace().clock);
  const double begin_ns = ticks.since_first_ns(life.begin_ticks), end_ns = ticks.since_first_ns(life.end_ticks);
  if (timeline.switches().covered_part(thread.key.tid, begin_ns, end_ns) < kCovered) return std::nullopt;
  return 1e-6 * timeline.switches().of(thread.key).between(begin_ns, end_ns).preempted_ns;
}

std::optional<OpenWaitAnswer> open_wait(const Trace& trace, const Thread& thread) {
  const OpenWait& open = thread.entry.open;
  const Hook* hook = trace.hook_of(sum_hook(open.key));
  if (thread.entry.end_ticks != 0 || hook == nullptr) return std::nullopt;
  // One that began after the clock was read last has lasted no time that is known.
  const std::uint64_t end = std::max(open.begin_ticks, trace.last.ticks);
  const Module* module = trace.module_at(sum_site(open.key));
  return OpenWaitAnswer{hook->name, module == nullptr ? "unknown" : base_name(module->path),
                        trace.clock.monotonic_ns(open.begin_ticks), 1e-6 * trace.clock.span_ns(open.begin_ticks, end),
                        call_kind(hook->role)};
}

ThreadTime measured_time(const Timeline& timeline, const Thread& thread) {
  const Trace& trace = timeline.trace();
  ThreadTime time;
  time.wall_ms = lifetime_ms(trace, thread);
  if (thread.entry.cpu_ns == 0) return time;
  time.cpu_ms = 1e-6 * static_cast<double>(thread.entry.cpu_ns);
  time.preempted_ms = preempted_ms(timeline, thread);
  time.from_switches = time.preempted_ms.has_value();
  if (const std::optional<double> delay_ns = run_delay_ns(thread)) time.run_delay_ms = 1e-6 * *delay_ns;
  return time;
}

bool is_usual_name(std::string_view name) {
  return name == "MainThread" || name.starts_with("Thread-") || name.starts_with("Dummy-");
}

// What Python calls it, where the program said so; "" elsewhere. A number may have been another thread's before.
std::string_view python_name(const Trace& trace, const Thread& thread) {
  std::string_view name;
  for (const EventRow& row : trace.events)
    if (row.kind == kEventThreadName && row.number == thread.key.tid && row.ticks >= thread.key.start_ticks &&
        (thread.entry.end_ticks == 0 || row.ticks <= thread.entry.end_ticks))
      name = {row.text, strnlen(row.text, sizeof(row.text))};
  return is_usual_name(name) ? std::string_view() : name;
}

// CPython from 3.14 on tells the system the names that it has, line ends and all; the probe reads blanks there.
bool begins_with(std::string_view whole, std::string_view cut) {
  return whole.size() >= cut.size() && std::equal(cut.begin(), cut.end(), whole.begin(), [](char of_system, char own) {
           return of_system == own || (of_system == '\n' && own == ' ');
         });
}

// A thread that nobody named to the system has the name of the one that made it; what the system has is cut.
std::string name_of(const Trace& trace, const Thread& thread) {
  const std::string_view own = python_name(trace, thread);
  const auto main = std::find_if(trace.threads.begin(), trace.threads.end(),
                                 [&trace](const auto& one) { return one.first.tid == trace.header.pid; });
  const bool is_named = main != trace.threads.end() && thread.name != main->second.name;
  return own.empty() || (is_named && !begins_with(own, thread.name)) ? thread.name : std::string(own);
}

}  // namespace

ThreadAnswer describe_thread(const Timeline& timeline, const Track& track, const Blocked& blocked) {
  const Trace& trace = timeline.trace();
  const Thread& thread = *track.thread;
  ThreadAnswer answer;
  answer.tid = thread.key.tid;
  answer.start_ticks = thread.key.start_ticks;
  answer.name = name_of(trace, thread);
  answer.role = track.role;
  answer.type = demangle_type(std::string(trace.strings.text(thread.entry.type_name)));
  answer.made_by = maker_of(trace, thread.entry);
  answer.runs = thread.key.tid == trace.header.pid ? std::string() : python_entry(trace, thread);
  answer.in_data_loader = shows_data_loader(trace, thread);
  if (answer.runs.empty()) answer.runs = type_entry(answer.type);
  answer.open_wait = open_wait(trace, thread);
  Blocked all = blocked;
  all.ms += answer.open_wait ? answer.open_wait->ms : 0;
  answer.blocked_ms = all.ms;
  answer.wake_ms = all.wake_ms;
  answer.time = attribute_time(measured_time(timeline, thread), all);
  answer.records = thread.kept;
  answer.lost = thread.lost;
  answer.unfinished = thread.unfinished;
  answer.cpus = thread.entry.cpus;
  answer.merged = thread.entry.stands_for;
  if (timeline.switches().any() && answer.merged == 0 && !timeline.switches().leaves_out(thread.key.tid)) {
    const Window whole;
    answer.migrations = timeline.switches().of(thread.key).migrations_between(whole.begin_ns, whole.end_ns);
  }
  return answer;
}

}  // namespace hostprobe::analysis
