// recorder.h: reads the ring buffers of instances of tracing and writes a trace file of the run, until it is told to stop.
//
// Room kernel/. In a process of its own (recording.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats.h"
#include "import/ftrace/kernel_table.h"
#include "sched_options.h"
#include "source.h"
#include "switch_counts.h"
#include "trace/trace_writer.h"
#include "tracefs.h"

struct kbuffer;
struct tracefs_cpu;

namespace hostprobe::kernel {

class Recorder {
 public:
  // Everything but the switch to on. The first instance is the one that is limited to some tasks.
  Recorder(const std::vector<Instance*>& instances, const SchedOptions& options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Records these tasks and what they start; of the whole machine nobody in particular. The program is `program`, 0 = none.
  void begin(const std::vector<int>& tids, int program);
  // Nothing is recorded until it goes on; what was missed meanwhile is no loss.
  void pause();
  void go_on();
  // Reads what there is; true: there was something.
  bool read();
  // So that a file that is cut off here can be read.
  void put_down();
  // `switches`: of the program and all that it started and waited for; 0 = not known.
  SourceTotals finish(std::uint64_t switches);

  const analysis::TraceWriter& file() const { return *out_; }

 private:
  struct Cpu {
    const Instance* of = nullptr;
    int number = 0;
    tracefs_cpu* pages = nullptr;
    std::vector<KernelRow> rows;
    std::uint64_t begin_ticks = 0;
    std::uint64_t lost = 0;       // before the first of `rows`
    std::uint64_t lost_seen = 0;  // altogether
  };
  void open_cpus(const Instance& instance);
  void close_cpus();
  void turn(bool on);
  void drain();
  void note(std::uint32_t kind);
  bool read_cpu(Cpu& cpu);
  void add_page(Cpu& cpu, void* page);
  void add_row(Cpu& cpu, const KernelRow& row);
  void look_at(std::uint32_t tid, std::uint64_t ticks);
  void flush(Cpu& cpu);
  void add_clock();
  ClockPair now() const;
  std::uint64_t missing_switches(std::uint64_t switches) const;
  bool is_wanted(const char* event) const;
  std::uint64_t seen(std::uint32_t tid) const;
  std::uint64_t seen_of_program() const;

  const std::vector<Instance*> instances_;
  const SchedOptions& options_;
  struct tep_handle* events_ = nullptr;
  std::unique_ptr<Formats> formats_;
  kbuffer* page_reader_ = nullptr;
  std::vector<char> page_;
  std::vector<Cpu> cpus_;
  std::unique_ptr<analysis::TraceWriter> out_;
  FileHeader header_{};
  analysis::KernelNameTable names_;
  std::unordered_set<std::uint32_t> looked_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> forks_;    // who started whom, CPU by CPU
  std::unordered_map<std::uint32_t, std::uint64_t> seen_counts_;  // of switches
  SwitchCounts counts_;                                           // the kernel's
  int program_ = 0;
  std::uint64_t rows_ = 0, lost_ = 0;
  bool has_paused_ = false;
  std::uint64_t since_ticks_ = 0;
};

}  // namespace hostprobe::kernel
