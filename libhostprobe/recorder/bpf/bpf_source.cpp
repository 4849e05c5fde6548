// bpf_source.cpp: see source.h: totals that programs in the kernel keep, read at the end and once in a while.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "recorder/bpf/bpf_totals.h"
#include "recorder/source.h"
#include "recorder/switch_counts.h"
#include "recorder/task_names.h"
#include "recorder/tasks.h"
#include "trace/clock.h"

namespace hostprobe::kernel {
namespace {

constexpr std::uint64_t kFirstNs = 100'000'000, kLongestNs = 10'000'000'000;

class BpfSource : public Source {
 public:
  explicit BpfSource(const SchedOptions& options) : options_(options), totals_(options.all), header_(header(options)) {
    out_ = std::make_unique<analysis::TraceWriter>(options.run, header_);
  }

  const analysis::TraceWriter& file() const override { return *out_; }

  void begin(const std::vector<int>& tids, int program) override {
    program_ = program;
    for (const int tid : tids)
      if (const auto status = task_status(tid)) processes_.push_back(status->process);
    std::sort(processes_.begin(), processes_.end());
    processes_.erase(std::unique(processes_.begin(), processes_.end()), processes_.end());
    header_.start = header_.last = analysis::read_clocks_now();
    totals_.attach(processes_);
    since_ticks_ = header_.start.ticks;
    out_->add_clock(header_.start);
    for (const std::uint32_t process : processes_) add_task_name(process, 0, names_);
    counts_.begin(tids, program);
  }

  void pause() override {
    totals_.detach();
    note(kEventStopped);
    has_paused_ = true;
  }

  void go_on() override {
    note(kEventStarted);
    totals_.attach({});
  }

  bool read() override {
    if (totals_.is_crowded()) write_totals();
    return false;
  }
  int idle_ms() const override { return 50; }

  std::uint64_t put_down() override {
    write_totals();
    out_->write_header();
    next_ns_ = std::min(2 * next_ns_, kLongestNs);
    return next_ns_;
  }

  SourceTotals finish(std::uint64_t switches) override {
    counts_.end();
    write_totals();
    if (!options_.all) write_missing(switches);
    return {out_->finish(), rows_, lost_, cost_ns_};
  }

 private:
  static FileHeader header(const SchedOptions& options) {
    FileHeader header = kernel_header(options);
    header.start = header.last = analysis::read_clocks_now();
    return header;
  }

  void note(std::uint32_t kind) {
    EventRow event{};
    event.ticks = analysis::read_clocks_now().ticks;
    event.kind = kind;
    out_->add_event(event);
  }

  void write_totals() {
    const TakenTotals taken = totals_.take();
    header_.last = analysis::read_clocks_now();
    header_.last.ticks = std::max(header_.last.ticks, since_ticks_ + 1);
    for (const KernelThreadTotals& row : taken.threads) {
      seen_[row.tid] += row.switches;
      rows_ += row.switches;
    }
    KernelTotalsHead head{};
    head.begin_ticks = since_ticks_;
    head.end_ticks = header_.last.ticks;
    head.cost_ns = taken.cost_ns;
    head.lost = taken.lost;
    lost_ += taken.lost;
    cost_ns_ += taken.cost_ns;
    out_->add_kernel_totals(head, taken.threads, taken.took, taken.irqs);
    write_names(taken);
    since_ticks_ = head.end_ticks;
    out_->add_clock(header_.last);
    out_->set_header(header_);
  }

  // What the kernel counted and no sum shows, beside what is known to be lost.
  void write_missing(std::uint64_t switches) {
    if (has_paused_) return;
    const auto seen = [this](std::uint32_t tid) {
      const auto found = seen_.find(tid);
      return found == seen_.end() ? 0 : found->second;
    };
    // With a program nobody but it and what it started is recorded.
    const std::uint64_t missing = counts_.missing(switches, seen, [this] { return rows_; });
    if (missing <= lost_) return;
    KernelTotalsHead head{};
    head.begin_ticks = head.end_ticks = since_ticks_;
    head.lost = missing - lost_;
    lost_ = missing;
    out_->add_kernel_totals(head, {}, {}, {});
  }

  void write_names(const TakenTotals& taken) {
    for (const KernelThreadTotals& row : taken.threads) name_process(row.process);
    for (const KernelTookTotals& row : taken.took) name_process(row.process);
    for (const KernelIrqTotals& row : taken.irqs)
      if (row.soft == 0) add_irq_name(row.number, names_);
    out_->add_kernel_names(names_.take());
  }

  void name_process(std::uint32_t process) {
    if (add_task_name(process, since_ticks_, names_)) return;
    if (const std::string name = totals_.name_of_dead(process); !name.empty())
      names_.add_task(process, since_ticks_, name, process);
  }

  const SchedOptions& options_;
  BpfTotals totals_;
  FileHeader header_;
  std::unique_ptr<analysis::TraceWriter> out_;
  analysis::KernelNameTable names_;
  std::vector<std::uint32_t> processes_;
  std::unordered_map<std::uint32_t, std::uint64_t> seen_;  // switches, by thread
  SwitchCounts counts_;
  int program_ = 0;
  std::uint64_t since_ticks_ = 0, next_ns_ = kFirstNs;
  std::uint64_t rows_ = 0, lost_ = 0, cost_ns_ = 0;
  bool has_paused_ = false;
};

}  // namespace

std::unique_ptr<Source> open_bpf_source(const SchedOptions& options) { return std::make_unique<BpfSource>(options); }

}  // namespace hostprobe::kernel
