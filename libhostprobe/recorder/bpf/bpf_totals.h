// bpf_totals.h: the programs in the kernel that add up per thread (sched_totals.bpf.c), and their maps.
//
// Room kernel/bpf/. Programs and maps belong to this process: when it ends, however it does, the kernel removes them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/kernel_totals.h"

struct sched_totals;
struct ThreadTotals;
struct CpuState;

namespace hostprobe::kernel {

// Since the last time.
struct TakenTotals {
  std::vector<KernelThreadTotals> threads;
  std::vector<KernelTookTotals> took;
  std::vector<KernelIrqTotals> irqs;
  std::uint64_t lost = 0;
  std::uint64_t cost_ns = 0;
};

class BpfTotals {
 public:
  // Loads them. Throws std::runtime_error with what keeps it.
  explicit BpfTotals(bool everybody);
  ~BpfTotals();
  BpfTotals(const BpfTotals&) = delete;
  BpfTotals& operator=(const BpfTotals&) = delete;

  // From now on they run. Recorded are these processes and whom they have started, or start later.
  void attach(const std::vector<std::uint32_t>& processes);
  // They run no more; the totals stay.
  void detach();
  TakenTotals take();
  // Many places are those of threads that have ended: it is time to take.
  bool is_crowded() const;
  // "" = it lives, or nobody knows.
  std::string name_of_dead(std::uint32_t process) const;

 private:
  struct Costs {
    std::uint64_t runs = 0, ns = 0, missed = 0;
  };
  struct Before {
    KernelThreadTotals totals{};
    std::vector<KernelIrqTotals> softirqs;
  };
  void map_memory();
  void forget_moments();
  void adopt();
  Costs costs() const;
  void sample_cost();
  std::uint64_t events() const;
  void take_thread(std::uint32_t place, TakenTotals& taken);
  void take_softirqs(const ThreadTotals& now, Before& before, TakenTotals& taken) const;
  void take_took(TakenTotals& taken);
  void take_irqs(TakenTotals& taken);
  void free_places();
  std::uint64_t losses();

  sched_totals* programs_ = nullptr;
  std::size_t cpu_count_ = 0;
  volatile ThreadTotals* threads_ = nullptr;
  volatile CpuState* cpus_ = nullptr;
  bool attached_ = false;
  std::unordered_map<std::uint32_t, Before> before_;  // by place
  std::unordered_map<std::uint64_t, std::uint64_t> took_before_;
  std::unordered_map<std::uint64_t, KernelIrqTotals> irqs_before_;
  std::vector<std::uint32_t> ended_places_;
  std::unordered_set<std::uint32_t> ended_tids_;
  std::uint32_t ended_before_ = 0;
  std::uint64_t lost_before_ = 0, events_before_ = 0;
  std::uint64_t sampled_runs_ = 0, sampled_ns_ = 0;
};

}  // namespace hostprobe::kernel
