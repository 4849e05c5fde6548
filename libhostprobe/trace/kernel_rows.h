// kernel_rows.h: what the kernel told of a machine (format/kernel.h), all CPUs in time order, and what its numbers are called.
//
// Room 3. Rows stay where they are, in the mapped file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "format/kernel.h"
#include "trace.h"

namespace hostprobe::analysis {

inline bool is_kernel_trace(const Trace& trace) { return trace.header.source == kFromKernel; }

// One block, or of a damaged file what is left of it.
struct KernelPart {
  KernelHead head;
  const std::byte* rows = nullptr;

  hostprobe::KernelRow row(std::uint32_t number) const;
};

std::vector<KernelPart> kernel_parts(const Trace& trace);

struct KernelStep {
  hostprobe::KernelRow row;
  std::uint32_t cpu = 0;
  std::uint64_t lost = 0;  // on that CPU, since the row before
};

// Rows of all CPUs by time; of one moment in the order of the CPUs.
class KernelWalk {
 public:
  explicit KernelWalk(const Trace& trace);
  // False: there is none any more.
  bool next(KernelStep& step);

 private:
  struct Place {
    std::uint64_t ticks;
    std::uint32_t cpu;
    std::size_t part;
    std::uint32_t row;
    bool operator>(const Place& other) const {
      return std::tie(ticks, cpu, part) > std::tie(other.ticks, other.cpu, other.part);
    }
  };
  void open(std::size_t part);
  void add(std::size_t part, std::uint32_t row);

  std::vector<KernelPart> parts_;        // by CPU and begin
  std::vector<std::size_t> next_parts_;  // of each part, the one to open when it is read; 0 = none
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places_;
};

// Times in which nothing was recorded, because the processes that it was recorded for paused.
class KernelPauses {
 public:
  explicit KernelPauses(const Trace& trace);
  // Whether one ended since the row that was asked for before; rows come by time.
  bool passed(std::uint64_t ticks);
  // Of the time between the two, the part that lies in pauses; the last one may have no end.
  double inside_ns(std::uint64_t begin_monotonic_ns, std::uint64_t end_monotonic_ns) const;

 private:
  struct Pause {
    std::uint64_t begin_ticks, end_ticks;
  };
  const Trace& trace_;
  std::vector<Pause> pauses_;
  std::size_t next_ = 0;
};

// Names are cut to 31 bytes and may hold anything.
struct KernelTask {
  std::string name;
  std::uint32_t process = 0;  // 0 = not known
};

class KernelNames {
 public:
  explicit KernelNames(const Trace& trace);

  // "" = not known. 0 is no task: what a CPU does that has none.
  KernelTask task(std::uint32_t tid, std::uint64_t ticks) const;
  // Its process as far as it was ever told, else itself.
  std::uint32_t process_of(std::uint32_t tid) const;
  // Its id in the container that it lives in, itself where it lives in none.
  std::uint32_t inside(std::uint32_t tid) const;
  const std::map<std::uint32_t, std::uint32_t>& all_inside() const { return inside_; }
  std::string irq(std::uint32_t number) const;
  static const char* softirq(std::uint32_t vector);  // "" = not known

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, KernelTask> tasks_;  // by number and since when
  std::map<std::uint32_t, std::uint32_t> processes_, inside_;
  std::map<std::uint32_t, std::string> irqs_;
};

const char* kernel_event_name(std::uint16_t what);  // as tracefs calls it
const char* kernel_left_name(std::uint32_t left);

}  // namespace hostprobe::analysis
