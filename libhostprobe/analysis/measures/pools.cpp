// pools.cpp: see pools.h.
#include "pools.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "quota.h"
#include "wait_purpose.h"

namespace hostprobe::analysis {
namespace {

constexpr double kBeyond = 0.5;      // threads at a time, by which there are more than CPUs
constexpr double kLeastDelay = 0.1;  // of what the pools want: so much they did not get
constexpr double kLeastSpinning = 0.2;
constexpr double kIdle = 0.05;  // of what the process's heaviest pool wants: who wants less does not share its work
constexpr std::uint64_t kFewestSamples = 8;  // of fewer nothing is certain
constexpr double kSwitchNs =
    10'000;  // what it takes at most to wait for another thread and to go on, in a virtual machine

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view beginning) { return text.starts_with(beginning); });
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

bool is_member(const ProcessAnswer& process, const ThreadAnswer& thread) {
  return thread.tid != process.pid && thread.merged == 0 && !thread.made_by.empty() &&
         (thread.role == Role::kOpenmp || thread.role == Role::kOther) && !is_python_library(thread.made_by) &&
         thread.time.cpu_ms && thread.time.run_delay_ms;
}

struct Members {
  Pool pool;
  double most_ms = 0;      // that one of them wanted
  double step_cpu_ns = 0;  // of all, in the mean step
  bool with_leader = false;
  std::map<std::string, std::uint64_t> places;
};

void add_samples(const RunningAnswer& running, double cpu_ms, Members& members) {
  SpinCount& count = members.pool.code;
  for (const RunningRow& row : running.code) {
    if (row.library == kInKernel) continue;
    count.samples += row.samples;
    if (!spins_in(row.function, row.library)) continue;
    count.spinning += row.samples;
    members.places[row.function.empty() ? row.library : row.function + " (" + row.library + ")"] += row.samples;
  }
  count.add_kernel(cpu_ms, {running.run_ns, running.kernel_part});
  members.step_cpu_ns += running.step_cpu_ns;
}

void add_member(const ProcessAnswer& process, const ThreadAnswer& thread, Members& members) {
  const double wanted_ms = *thread.time.cpu_ms + *thread.time.run_delay_ms;
  members.pool.cpu_ms += *thread.time.cpu_ms;
  members.pool.no_cpu_ms += *thread.time.run_delay_ms;
  members.most_ms = std::max(members.most_ms, wanted_ms);
  members.with_leader |= thread.role == Role::kOpenmp;
  ++members.pool.threads;
  if (const RunningAnswer* running = process.running_of(thread)) add_samples(*running, *thread.time.cpu_ms, members);
}

// Work is given to all of them together, so the one that wants most says for how long there was any.
Pool finished(Members& members) {
  Pool& pool = members.pool;
  const double leaders = members.with_leader ? 1 : 0;
  pool.threads += members.with_leader ? 1 : 0;
  if (pool.code.samples > 0) pool.work_step_ns = members.step_cpu_ns * (1 - pool.code.share().part);
  pool.at_a_time = leaders + (members.most_ms > 0 ? pool.wanted_ms() / members.most_ms : 0);
  const auto most = std::max_element(members.places.begin(), members.places.end(),
                                     [](const auto& l, const auto& r) { return l.second < r.second; });
  if (most != members.places.end()) pool.place = most->first;
  return std::move(pool);
}

// Of all threads but the first one, which gives pools their work.
double wanted_beside_main(const ProcessAnswer& process) {
  double ms = 0;
  for (const ThreadAnswer& thread : process.threads)
    if (thread.tid != process.pid && thread.role != Role::kHostprobe)
      ms += thread.time.cpu_ms.value_or(0) + thread.time.run_delay_ms.value_or(0);
  return ms;
}

double wanted_by_main(const ProcessAnswer& process) {
  const ThreadAnswer* main = process.main_thread();
  return main == nullptr ? 0 : main->time.cpu_ms.value_or(0) + main->time.run_delay_ms.value_or(0);
}

struct Totals {
  double cpu_ms = 0, no_cpu_ms = 0, most_ms = 0;
  double with_others_ms = 0;  // and what threads want that neither belong to a pool nor give it work
  SpinCount code;
};

void add_process(const ProcessAnswer& one, PoolDemand& demand, Totals& totals) {
  totals.with_others_ms += wanted_beside_main(one);
  const std::vector<Pool> pools = pools_of(one);
  if (pools.empty()) {
    totals.with_others_ms += wanted_by_main(one);
    return;
  }
  ++demand.processes;
  for (const Pool& pool : pools) {
    if (pool.wanted_ms() < kIdle * pools.front().wanted_ms()) continue;
    demand.threads += pool.threads;
    demand.at_a_time += pool.at_a_time;
    totals.cpu_ms += pool.cpu_ms;
    totals.no_cpu_ms += pool.no_cpu_ms;
    totals.code.add(pool.code);
    if (pool.wanted_ms() <= totals.most_ms) continue;
    totals.most_ms = pool.wanted_ms();
    demand.library = pool.library;
    demand.place = pool.place;
  }
}

bool are_too_many(const PoolDemand& demand, const Totals& totals) {
  const double wanted_ms = totals.cpu_ms + totals.no_cpu_ms;
  return demand.cpus > 0 && demand.at_a_time > demand.cpus + kBeyond && totals.no_cpu_ms >= kLeastDelay * wanted_ms &&
         2 * wanted_ms >= totals.with_others_ms && demand.spins_low >= kLeastSpinning;
}

}  // namespace

Switching switching_of(const std::vector<SupplySample>& supply) {
  double cpu_ns = 0, kernel_ns = 0, runs = 0;
  for (const SupplySample& one : supply) {
    cpu_ns += one.cpu_ns;
    kernel_ns += one.kernel_ns;
    runs += static_cast<double>(one.runs);
  }
  return runs > 0 && cpu_ns > 0 ? Switching{cpu_ns / runs, std::min(1.0, kernel_ns / cpu_ns)} : Switching{};
}

void SpinCount::add_kernel(double thread_cpu_ms, const Switching& switching) {
  if (switching.run_ns <= 0 || switching.kernel_part >= 1) return;
  cpu_ms += thread_cpu_ms;
  kernel_ms += thread_cpu_ms * switching.kernel_part;
  switching_ms += thread_cpu_ms * std::min(switching.kernel_part, kSwitchNs / switching.run_ns);
}

void SpinCount::add(const SpinCount& other) {
  samples += other.samples;
  spinning += other.spinning;
  cpu_ms += other.cpu_ms;
  kernel_ms += other.kernel_ms;
  switching_ms += other.switching_ms;
}

SampledShare SpinCount::share() const {
  SampledShare own = share_of_samples(spinning, samples);
  if (samples < kFewestSamples) own.low = 0;
  if (cpu_ms <= 0) return own;
  const double of_own = 1 - kernel_ms / cpu_ms, switching = switching_ms / cpu_ms;
  return {switching + of_own * own.part, switching + of_own * own.low, switching + of_own * own.high};
}

bool is_sharing_runtime(std::string_view library) { return begins_with_any(library, {"libgomp", "libomp", "libiomp"}); }

// By their names in OpenMP runtimes that are linked into other libraries, OpenBLAS, TBB, Rust's and Eigen's pools, and libc.
bool spins_in(std::string_view function, std::string_view library) {
  return is_sharing_runtime(library) ||
         begins_with_any(function, {"gomp_", "__kmp_", "__kmpc_barrier", "pthread_spin_", "__pthread_spin_",
                                    "blas_thread_server", "exec_blas"}) ||
         has_any(function, {"WaitForWork", "wait_for_work", "prolonged_pause", "spin_wait", "SpinWait", "spin_lock",
                            "SpinLock", "_yield", "::yield", "Backoff::snooze"});
}

std::vector<Pool> pools_of(const ProcessAnswer& process) {
  std::map<std::string, Members> all;
  for (const ThreadAnswer& thread : process.threads)
    if (is_member(process, thread)) add_member(process, thread, all[thread.made_by]);
  std::vector<Pool> pools;
  for (auto& [library, members] : all) {
    members.pool.library = library;
    Pool pool = finished(members);
    if (pool.threads > 1) pools.push_back(std::move(pool));
  }
  std::stable_sort(pools.begin(), pools.end(),
                   [](const Pool& l, const Pool& r) { return l.wanted_ms() > r.wanted_ms(); });
  return pools;
}

std::uint64_t PoolDemand::fitting_threads() const {
  const double each = cpus / static_cast<double>(std::max<std::uint64_t>(1, processes));
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::floor(each)));
}

std::optional<PoolDemand> pools_beyond_cpus(const std::vector<const ProcessAnswer*>& job,
                                            const ProcessAnswer& process) {
  PoolDemand demand;
  Totals totals;
  for (const ProcessAnswer* one : job)
    if (one->host == process.host && one->boot_id == process.boot_id) add_process(*one, demand, totals);
  demand.cpus = allowed_cpus(process);
  demand.of_quota = is_bound_by_quota(process);
  const SampledShare spins = totals.code.share();
  demand.spins_part = spins.part;
  demand.spins_low = spins.low;
  demand.spins_high = spins.high;
  if (!are_too_many(demand, totals)) return std::nullopt;
  for (const Pool& pool : pools_of(process)) demand.work_step_ns += pool.work_step_ns;
  return demand;
}

}  // namespace hostprobe::analysis
