// kernel_event.cpp: see kernel_event.h.
#include "kernel_event.h"

#include <charconv>

namespace hostprobe::analysis {
namespace {

// The value of `name=`, up to the next blank; of a name of a task, which may hold blanks, up to ` next=`.
std::optional<std::string_view> value_of(std::string_view text, std::string_view name, std::string_view next = {}) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool is_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t';
    if (!is_word || at + name.size() >= text.size() || text[at + name.size()] != '=') continue;
    const std::string_view value = text.substr(at + name.size() + 1);
    // The last one: a name may look like what stands behind it.
    const std::size_t end = next.empty() ? value.find_first_of(" \t") : value.rfind(next);
    if (!next.empty() && end == std::string_view::npos) return std::nullopt;
    return value.substr(0, end);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> number_of(std::string_view text, std::string_view name) {
  auto value = value_of(text, name);
  if (!value) return std::nullopt;
  const auto number = take_number(*value, kMostTid);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

// "comm:pid [prio] rest": the name may hold colons and brackets, so it is read from the back.
struct PrintedTask {
  std::string_view name, rest;
  std::uint32_t tid = 0;
};

std::optional<PrintedTask> printed_task(std::string_view text) {
  for (std::size_t at = text.rfind(" ["); at != std::string_view::npos && at > 0; at = text.rfind(" [", at - 1)) {
    std::string_view before = text.substr(0, at);
    const std::size_t colon = before.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view number = before.substr(colon + 1);
    const auto tid = take_number(number, kMostTid);
    const std::size_t end = text.find(']', at);
    if (!tid || !number.empty() || end == std::string_view::npos) continue;
    return PrintedTask{before.substr(0, colon), trimmed(text.substr(end + 1)), static_cast<std::uint32_t>(*tid)};
  }
  return std::nullopt;
}

bool read_printed_switch(std::string_view text, KernelEvent& event) {
  const std::size_t arrow = text.rfind("==>");
  if (arrow == std::string_view::npos) return false;
  const auto before = printed_task(text.substr(0, arrow)), after = printed_task(text.substr(arrow + 3));
  if (!before || !after) return false;
  event.row.tid = before->tid;
  event.row.other = after->tid;
  event.row.value = left_of(before->rest);
  event.tasks = {{before->tid, before->name}, {after->tid, trimmed(after->name)}};
  return true;
}

std::uint32_t left_of_value(std::string_view value) {
  const bool is_hex = value.starts_with("0x");
  std::string_view digits = is_hex ? value.substr(2) : value;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, is_hex ? 16 : 10);
  return error == std::errc() && end != digits.data() ? left_of(number) : left_of(value);
}

// Where the next task begins: its name may hold what looks like the words before it, those before it too.
bool read_switch(std::string_view text, KernelEvent& event) {
  event.row.what = kKernelSwitch;
  std::size_t second = text.rfind(" next_comm=");
  if (second == std::string_view::npos) return read_printed_switch(text, event);
  const std::string_view before = text.substr(0, second), after = text.substr(second + 1);
  const std::size_t own = before.rfind(" prev_pid=");
  if (own == std::string_view::npos) return false;
  const auto tid = number_of(before.substr(own), "prev_pid"), next = number_of(after, "next_pid");
  const auto state = value_of(before.substr(own), "prev_state");
  if (!tid || !next || !state) return false;
  event.row.tid = *tid;
  event.row.other = *next;
  event.row.value = left_of_value(*state);
  if (before.starts_with("prev_comm=")) event.tasks.push_back({*tid, before.substr(10, own - 10)});
  if (const auto name = value_of(after, "next_comm", " next_pid=")) event.tasks.push_back({*next, *name});
  return true;
}

// Of a wake, a migration: the task, its name, and a CPU.
bool read_moved(std::string_view text, std::string_view cpu_name, KernelEvent& event) {
  const std::size_t own = text.rfind(" pid=");
  const auto tid = own == std::string_view::npos ? std::nullopt : number_of(text.substr(own), "pid");
  if (tid) {
    const auto cpu = number_of(text.substr(own), cpu_name);
    event.row.other = *tid;
    event.row.value = cpu.value_or(UINT32_MAX);
    if (text.starts_with("comm=")) event.tasks.push_back({*tid, text.substr(5, own - 5)});
    return cpu.has_value();
  }
  const auto task = printed_task(text);
  if (!task) return false;
  event.row.other = task->tid;
  event.tasks.push_back({task->tid, task->name});
  std::string_view cpu = task->rest.substr(std::min(task->rest.find("CPU:"), task->rest.size()));
  if (!cpu.starts_with("CPU:")) return false;
  cpu.remove_prefix(4);
  const auto number = take_number(cpu, kMostTid);
  event.row.value = static_cast<std::uint32_t>(number.value_or(UINT32_MAX));
  return number.has_value();
}

bool read_irq(std::string_view text, KernelEvent& event) {
  const auto number = number_of(text, "irq");
  if (!number) return false;
  event.row.value = *number;
  if (const auto name = text.find("name="); name != std::string_view::npos && event.row.what == kKernelIrqBegin)
    event.irq_name = trimmed(text.substr(name + 5));
  return true;
}

bool read_softirq(std::string_view text, KernelEvent& event) {
  const auto vector = number_of(text, "vec");
  if (vector) event.row.value = *vector;
  return vector.has_value();
}

bool read_fork(std::string_view text, KernelEvent& event) {
  const std::size_t own = text.rfind(" child_pid=");
  const auto child = own == std::string_view::npos ? std::nullopt : number_of(text.substr(own), "child_pid");
  if (!child) return false;
  event.row.other = *child;
  const std::size_t name = text.rfind("child_comm=", own);
  if (name != std::string_view::npos) event.tasks.push_back({*child, text.substr(name + 11, own - name - 11)});
  return true;
}

struct KnownEvent {
  std::string_view name;
  KernelWhat what;
};
constexpr KnownEvent kKnown[] = {
    {"sched_switch", kKernelSwitch},     {"sched_waking", kKernelWake},          {"sched_wakeup", kKernelWake},
    {"sched_wakeup_new", kKernelWake},   {"sched_migrate_task", kKernelMigrate}, {"irq_handler_entry", kKernelIrqBegin},
    {"irq_handler_exit", kKernelIrqEnd}, {"softirq_entry", kKernelSoftirqBegin}, {"softirq_exit", kKernelSoftirqEnd},
    {"sched_process_fork", kKernelFork}, {"sched_process_exec", kKernelExec},    {"sched_process_exit", kKernelExit}};

// irqs-off, need-resched, hardirq/softirq, preempt-depth and, since 5.15, migrate-disable. Longer ones are of kernels that add
// columns before the third.
KernelContext context_of(std::string_view flags) {
  if (flags.size() != 4 && flags.size() != 5) return kContextUnknown;
  switch (flags[2]) {
    case '.':
      return kContextTask;
    case 'h':
    case 'H':
      return kContextHardirq;
    case 's':
      return kContextSoftirq;
    default:
      return kContextUnknown;
  }
}

bool read_fields(const KernelLine& line, KernelEvent& event) {
  switch (event.row.what) {
    case kKernelSwitch:
      return read_switch(line.text, event);
    case kKernelWake:
      return read_moved(line.text, "target_cpu", event);
    case kKernelMigrate:
      return read_moved(line.text, "dest_cpu", event);
    case kKernelIrqBegin:
    case kKernelIrqEnd:
      return read_irq(line.text, event);
    case kKernelSoftirqBegin:
    case kKernelSoftirqEnd:
      return read_softirq(line.text, event);
    case kKernelFork:
      return read_fork(line.text, event);
    default:
      return true;
  }
}

}  // namespace

std::uint32_t left_of(std::string_view state) {
  state = trimmed(state);
  if (state.empty() || state.front() == 'R' || state.find('+') != std::string_view::npos) return kLeftRunnable;
  switch (state.front()) {
    case 'D':
    case 'I':
      return kLeftUninterruptible;
    case 'T':
    case 't':
      return kLeftStopped;
    case 'X':
    case 'Z':
    case 'x':
      return kLeftDead;
    default:
      return kLeftSleeping;
  }
}

std::uint32_t left_of(std::uint64_t state) {
  constexpr std::uint64_t kInterruptible = 1, kUninterruptible = 2, kStopped = 4 | 8, kDead = 0x10 | 0x20,
                          kParked = 0x40, kIdle = 0x80;
  if ((state & 0xff) == 0 || (state & 0x100) != 0) return kLeftRunnable;
  if ((state & kDead) != 0) return kLeftDead;
  if ((state & kStopped) != 0) return kLeftStopped;
  if ((state & (kUninterruptible | kIdle)) != 0) return kLeftUninterruptible;
  return (state & (kInterruptible | kParked)) != 0 ? kLeftSleeping : kLeftRunnable;
}

EventReading read_kernel_event(const KernelLine& line, KernelEvent& event) {
  event.row = {};
  event.tasks.clear();
  event.irq_name = {};
  for (const KnownEvent& known : kKnown)
    if (line.event == known.name) event.row.what = known.what;
  if (event.row.what == 0) return EventReading::kUnknown;
  event.row.tid = line.tid;
  if (line.event == "sched_waking") event.row.context = context_of(line.flags);
  if (!read_fields(line, event)) return EventReading::kUnreadable;
  return EventReading::kDone;
}

}  // namespace hostprobe::analysis
