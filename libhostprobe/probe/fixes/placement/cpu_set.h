// cpu_set.h: a set of CPUs, as sched_setaffinity takes it and as the kernel writes it: "0-3,8".
//
// Room 2 (probe/). Plain data, 256 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

inline constexpr unsigned kMostCpus = 2048;

struct CpuSet {
  std::uint64_t words[kMostCpus / 64];

  bool operator==(const CpuSet&) const = default;
  bool has(unsigned cpu) const { return cpu < kMostCpus && (words[cpu / 64] >> (cpu % 64) & 1) != 0; }
  void add(unsigned cpu) { words[cpu / 64] |= std::uint64_t{1} << (cpu % 64); }
  void remove(unsigned cpu) { words[cpu / 64] &= ~(std::uint64_t{1} << (cpu % 64)); }
  unsigned count() const {
    unsigned sum = 0;
    for (std::uint64_t word : words) sum += static_cast<unsigned>(__builtin_popcountll(word));
    return sum;
  }
  bool empty() const { return count() == 0; }
  // From `cpu` on; kMostCpus: none.
  unsigned next(unsigned cpu) const {
    while (cpu < kMostCpus && !has(cpu)) ++cpu;
    return cpu;
  }
  CpuSet both(const CpuSet& other) const {
    CpuSet out{};
    for (unsigned i = 0; i < kMostCpus / 64; ++i) out.words[i] = words[i] & other.words[i];
    return out;
  }
  CpuSet without(const CpuSet& other) const {
    CpuSet out{};
    for (unsigned i = 0; i < kMostCpus / 64; ++i) out.words[i] = words[i] & ~other.words[i];
    return out;
  }
};

inline CpuSet only(unsigned cpu) {
  CpuSet out{};
  out.add(cpu);
  return out;
}

// False: `text` is no list, or an empty one, or names a CPU beyond the last.
bool parse_cpus(const char* text, CpuSet& out);
// Cut, with dots at the end, where it is longer than that.
void write_cpus(const CpuSet& cpus, char* out, std::size_t bytes);

// Of a thread of this process, or of another one. Negative: an error number, -EINVAL: the machine has more CPUs than these.
int cpus_of_thread(int tid, CpuSet& out);
int set_cpus_of_thread(int tid, const CpuSet& cpus);

}  // namespace hostprobe::probe
