// scheduler.cpp: see scheduler.h.
#include "scheduler.h"

#include <map>
#include <set>

#include "model/kernel_file.h"
#include "trace/kernel_rows.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kBundleBytes = 1 << 16;

enum Bundle : std::uint32_t { kBundleCpu = 1, kBundleEvent = 2, kBundleLost = 3 };
enum FtraceEvent : std::uint32_t {
  kEventTime = 1,
  kEventTask = 2,
  kEventSwitch = 4,
  kEventWaking = 20,
  kEventSoftirqEntry = 24,
  kEventSoftirqExit = 25,
  kEventIrqEntry = 36,
  kEventIrqExit = 37,
};

// As the kernel itself writes how a task left its CPU.
std::uint64_t kernel_state(std::uint32_t left) {
  switch (left) {
    case kLeftSleeping:
      return 1;
    case kLeftUninterruptible:
      return 2;
    case kLeftStopped:
      return 4;
    case kLeftDead:
      return 16;
    default:
      return 0;
  }
}

class Bundles {
 public:
  Bundles(const Trace& trace, const TimeSpan& span, const PerfettoAxis& axis, PerfettoPackets& out)
      : trace_(trace), span_(span), names_(trace), pauses_(trace), axis_(axis), out_(out) {}

  void write() {
    out_.begin_sequence();
    KernelWalk walk(trace_);
    KernelStep step;
    while (walk.next(step)) add(step);
    for (auto& [number, cpu] : cpus_) flush(number, cpu);
  }

 private:
  struct Cpu {
    ProtobufMessage events;
    bool is_lossy = false;  // rows are missing before these
  };

  void add(const KernelStep& step) {
    if (pauses_.passed(step.row.ticks))
      for (auto& [number, cpu] : cpus_) flush(number, cpu, true);
    Cpu& cpu = cpus_[step.cpu];
    if (step.lost > 0) flush(step.cpu, cpu, true);
    const auto now = static_cast<std::int64_t>(trace_.clock.monotonic_ns(step.row.ticks));
    if (!span_.meets(now, now)) return;
    const auto [field, inner] = inner_of(step.row);
    if (field == 0) return;
    ProtobufMessage event;
    event.add(kEventTime, axis_.moment(trace_, now));
    event.add(kEventTask, step.row.tid);
    event.add(field, inner);
    cpu.events.add(kBundleEvent, event);
    if (cpu.events.bytes().size() > kBundleBytes) flush(step.cpu, cpu);
  }

  void flush(std::uint32_t number, Cpu& cpu, bool loses = false) {
    if (!cpu.events.empty()) {
      ProtobufMessage bundle = std::move(cpu.events);
      bundle.add(kBundleCpu, number);
      if (cpu.is_lossy) bundle.add(kBundleLost, 1);
      ProtobufMessage packet;
      packet.add(kPacketFtraceEvents, bundle);
      out_.add(std::move(packet));
      cpu = {};
    }
    cpu.is_lossy = cpu.is_lossy || loses;
  }

  std::pair<std::uint32_t, ProtobufMessage> inner_of(const KernelRow& row) {
    ProtobufMessage inner;
    switch (row.what) {
      case kKernelSwitch:
        add_task(inner, 1, 2, row.tid, row.ticks);
        inner.add(4, kernel_state(row.value));
        add_task(inner, 5, 6, row.other, row.ticks);
        return {kEventSwitch, inner};
      case kKernelWake:
        add_task(inner, 1, 2, row.other, row.ticks);
        inner.add(4, 1);
        if (row.value != UINT32_MAX) inner.add(5, row.value);
        return {kEventWaking, inner};
      case kKernelIrqBegin:
        inner.add(1, row.value);
        inner.add_text(2, printable(names_.irq(row.value)));
        return {kEventIrqEntry, inner};
      case kKernelIrqEnd:
        inner.add(1, row.value);
        inner.add(2, 1);  // handled
        return {kEventIrqExit, inner};
      case kKernelSoftirqBegin:
      case kKernelSoftirqEnd:
        inner.add(1, row.value);
        return {row.what == kKernelSoftirqBegin ? kEventSoftirqEntry : kEventSoftirqExit, inner};
      default:
        return {0, inner};
    }
  }

  // The name and the id of a task, in their fields. Perfetto cannot know of which process a task is.
  void add_task(ProtobufMessage& inner, std::uint32_t name_field, std::uint32_t id_field, std::uint32_t tid,
                std::uint64_t ticks) {
    const KernelTask task = names_.task(tid, ticks);
    inner.add_text(name_field, tid == 0 ? "swapper" : printable(task.name));
    inner.add(id_field, tid);
    if (tid == 0 || task.process == 0 || !tids_.insert(tid).second) return;
    ProtobufMessage tree, thread;
    if (!axis_.is_recorded(task.process) && pids_.insert(task.process).second) {
      ProtobufMessage process;
      process.add(1, task.process);
      process.add_text(3, printable(names_.task(task.process, ticks).name));
      tree.add(1, process);
    }
    thread.add(1, tid);
    thread.add_text(2, printable(task.name));
    thread.add(3, task.process);
    tree.add(2, thread);
    ProtobufMessage packet;
    packet.add(kPacketTimestamp, axis_.moment(trace_, static_cast<std::int64_t>(trace_.clock.monotonic_ns(ticks))));
    packet.add(kPacketProcessTree, tree);
    out_.add(std::move(packet));
  }

  const Trace& trace_;
  const TimeSpan span_;
  const KernelNames names_;
  KernelPauses pauses_;
  const PerfettoAxis& axis_;
  PerfettoPackets& out_;
  std::map<std::uint32_t, Cpu> cpus_;
  std::set<std::uint32_t> tids_, pids_;  // that were told of
};

}  // namespace

std::string PerfettoScheduler::add(const Trace& trace, const TimeSpan& span) {
  if (!axis_.is_here(trace)) return "the kernel of another host: Perfetto knows one";
  const KernelFile file = kernel_file(trace);
  for (const KernelFile& other : written_)
    if (other.begin_ns < file.end_ns && file.begin_ns < other.end_ns) return "another trace tells of the same moments";
  written_.push_back(file);
  Bundles(trace, span, axis_, out_).write();
  return {};
}

}  // namespace hostprobe::analysis
