// recorder.cpp: see recorder.h.
#include "recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "task_names.h"
#include "trace/clock.h"
#include "tracefs_calls.h"

namespace hostprobe::kernel {
namespace {

constexpr std::size_t kRowsInBlock = 1 << 15;
constexpr int kPagesAtOnce = 512;  // of a CPU, before the next one's turn

}  // namespace

Recorder::Recorder(const std::vector<Instance*>& instances, const SchedOptions& options)
    : instances_(instances), options_(options) {
  const char* systems[] = {"sched", "irq", nullptr};
  events_ = tracefs_local_events_system(tracefs_tracing_dir(), systems);
  if (events_ == nullptr) throw std::runtime_error("the descriptions of the kernel's events cannot be read");
  formats_ = std::make_unique<Formats>(events_);
  if (formats_->empty()) throw std::runtime_error("this kernel describes none of the events");
  page_reader_ = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
  if (page_reader_ == nullptr) throw std::bad_alloc();
  header_ = kernel_header(options);
  header_.start = header_.last = now();
  out_ = std::make_unique<analysis::TraceWriter>(options.run, header_);
}

Recorder::~Recorder() {
  close_cpus();
  kbuffer_free(page_reader_);
  tep_free(events_);
}

// Where the counter of ticks is not the clock of the trace, its nanoseconds are.
ClockPair Recorder::now() const {
  ClockPair pair = analysis::read_clocks_now();
  if (!instances_.front()->has_ticks()) pair.ticks = pair.monotonic_ns;
  return pair;
}

void Recorder::add_clock() { out_->add_clock(header_.last = now()); }

void Recorder::open_cpus(const Instance& instance) {
  const int count = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int number = 0; number < count; ++number) {
    if (!options_.cpus.empty() && std::find(options_.cpus.begin(), options_.cpus.end(), number) == options_.cpus.end())
      continue;
    tracefs_cpu* pages = tracefs_cpu_open(instance.get(), number, true);
    if (pages == nullptr) continue;  // a CPU that is not there
    page_.resize(std::max(page_.size(), static_cast<std::size_t>(tracefs_cpu_read_size(pages))));
    cpus_.push_back({&instance, number, pages, {}, 0, 0, 0});
  }
  if (cpus_.empty()) throw std::runtime_error(fmt::format("no CPU's events can be read: {}", std::strerror(errno)));
}

// Before its instance goes: it stays as long as one of these is open.
void Recorder::close_cpus() {
  for (Cpu& cpu : cpus_)
    if (cpu.pages != nullptr) tracefs_cpu_close(cpu.pages);
  cpus_.clear();
}

void Recorder::begin(const std::vector<int>& tids, int program) {
  program_ = program;
  if (!options_.all && (instances_.size() > 1 || !is_wanted("sched/sched_switch"))) instances_.front()->limit_to(tids);
  for (Instance* instance : instances_) {
    instance->switch_events();
    open_cpus(*instance);
  }
  add_clock();
  turn(true);
  header_.start = now();
  since_ticks_ = header_.start.ticks;
  for (Cpu& cpu : cpus_) cpu.begin_ticks = since_ticks_;
  for (const int tid : tids) look_at(static_cast<std::uint32_t>(tid), 0);
  counts_.begin(tids, program);
}

void Recorder::turn(bool on) {
  for (Instance* instance : instances_) instance->turn(on);
}

// To the last event, also the part of a page that a reader without waiting does not get.
void Recorder::drain() {
  while (read()) {
  }
  for (Cpu& cpu : cpus_) {
    if (tracefs_cpu_flush(cpu.pages, page_.data()) > 0) add_page(cpu, page_.data());
    flush(cpu);
  }
}

void Recorder::note(std::uint32_t kind) {
  EventRow event{};
  event.ticks = now().ticks;
  event.kind = kind;
  out_->add_event(event);
}

// No row lies between the two events.
void Recorder::pause() {
  turn(false);
  note(kEventStopped);
  drain();
  has_paused_ = true;
}

void Recorder::go_on() {
  note(kEventStarted);
  turn(true);
}

bool Recorder::read() {
  bool any = false;
  for (Cpu& cpu : cpus_) any = read_cpu(cpu) || any;
  return any;
}

bool Recorder::read_cpu(Cpu& cpu) {
  int pages = 0;
  while (pages < kPagesAtOnce && tracefs_cpu_read(cpu.pages, page_.data(), true) > 0) {
    add_page(cpu, page_.data());
    ++pages;
  }
  return pages > 0;
}

void Recorder::add_page(Cpu& cpu, void* page) {
  if (kbuffer_load_subbuffer(page_reader_, page) != 0) {
    cpu.lost += 1;  // how many, nobody knows
    return;
  }
  if (const int missed = kbuffer_missed_events(page_reader_); missed != 0) {
    flush(cpu);
    cpu.lost += missed < 0 ? 1 : static_cast<std::uint64_t>(missed);
  }
  unsigned long long ticks = 0;
  for (void* record = kbuffer_read_event(page_reader_, &ticks); record != nullptr;
       record = kbuffer_next_event(page_reader_, &ticks)) {
    KernelRow row;
    const auto size = static_cast<unsigned>(kbuffer_event_size(page_reader_));
    if (formats_->read(record, size, ticks, row, names_)) add_row(cpu, row);
  }
}

void Recorder::add_row(Cpu& cpu, const KernelRow& row) {
  if (row.what == kKernelFork) {
    looked_.erase(row.other);  // whose number it was before has ended
    names_.renew(row.other);
    if (program_ != 0) forks_.emplace_back(row.tid, row.other);
  }
  if (row.what == kKernelSwitch) ++seen_counts_[row.tid];
  look_at(row.tid, row.ticks);
  if (row.what == kKernelSwitch || row.what == kKernelWake || row.what == kKernelFork) look_at(row.other, row.ticks);
  cpu.rows.push_back(row);
  if (cpu.rows.size() >= kRowsInBlock) flush(cpu);
}

// While it lives: of one that has ended nobody can tell its process any more.
void Recorder::look_at(std::uint32_t tid, std::uint64_t ticks) {
  if (tid == 0 || !looked_.insert(tid).second) return;
  add_task_name(tid, ticks, names_);
}

void Recorder::flush(Cpu& cpu) {
  if (cpu.rows.empty() && cpu.lost == 0) return;
  out_->add_kernel(static_cast<std::uint32_t>(cpu.number), cpu.begin_ticks, cpu.lost, cpu.rows);
  rows_ += cpu.rows.size();
  lost_ += cpu.lost;
  cpu.lost_seen += cpu.lost;
  if (!cpu.rows.empty()) cpu.begin_ticks = cpu.rows.back().ticks;
  cpu.rows.clear();
  cpu.lost = 0;
}

void Recorder::put_down() {
  for (Cpu& cpu : cpus_) flush(cpu);
  out_->add_kernel_names(names_.take());
  add_clock();
  out_->set_header(header_);
  out_->write_header();
}

bool Recorder::is_wanted(const char* event) const {
  return std::find(options_.events.begin(), options_.events.end(), event) != options_.events.end();
}

std::uint64_t Recorder::seen(std::uint32_t tid) const {
  const auto found = seen_counts_.find(tid);
  return found == seen_counts_.end() ? 0 : found->second;
}

// Who started whom was read CPU by CPU, so a child's own children may stand before it.
std::uint64_t Recorder::seen_of_program() const {
  std::unordered_set<std::uint32_t> tree{static_cast<std::uint32_t>(program_)};
  for (std::size_t before = 0; before != tree.size();) {
    before = tree.size();
    for (const auto& [parent, child] : forks_)
      if (tree.contains(parent)) tree.insert(child);
  }
  std::uint64_t sum = 0;
  for (const std::uint32_t tid : tree) sum += seen(tid);
  return sum;
}

// Only where every switch was to be in the trace.
std::uint64_t Recorder::missing_switches(std::uint64_t switches) const {
  if (has_paused_ || !options_.cpus.empty() || !is_wanted("sched/sched_switch")) return 0;
  if (program_ != 0 && !is_wanted("sched/sched_process_fork")) return 0;
  return counts_.missing(
      switches, [this](std::uint32_t tid) { return seen(tid); }, [this] { return seen_of_program(); });
}

SourceTotals Recorder::finish(std::uint64_t switches) {
  const std::uint64_t before = header_.last.ticks;
  counts_.end();
  turn(false);
  drain();
  for (Cpu& cpu : cpus_) {
    const std::uint64_t counted = cpu.of->lost(cpu.number);
    cpu.lost = counted - std::min(counted, cpu.lost_seen);
    flush(cpu);
  }
  const std::uint64_t missing = missing_switches(switches);
  if (missing > lost_) {
    cpus_.front().lost = missing - lost_;
    flush(cpus_.front());
  }
  add_clock();
  // A rate out of two readings that lie close together is none.
  if (header_.last.ticks == before) header_.last.ticks += 1;
  out_->add_kernel_names(names_.take());
  out_->set_header(header_);
  close_cpus();
  return {out_->finish(), rows_, lost_, 0};
}

}  // namespace hostprobe::kernel
