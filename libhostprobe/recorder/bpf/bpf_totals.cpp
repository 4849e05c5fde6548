// bpf_totals.cpp: see bpf_totals.h.
#include "bpf_totals.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "recorder/bpf_problem.h"
#include "totals.h"

// After totals.h: it has variables of its types.
#include <sched_totals.skel.h>

namespace hostprobe::kernel {
namespace {

constexpr std::size_t kRowsAtOnce = 4096;
constexpr unsigned kSampleUs = 20'000;
std::string g_said;  // by libbpf, last

int note_message(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char text[512];
  vsnprintf(text, sizeof(text), format, arguments);
  g_said.assign(text, strcspn(text, "\n"));
  return 0;
}

template <typename T>
volatile T* mapped(const bpf_map* map, std::size_t count) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (count * sizeof(T) + page - 1) / page * page;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
  if (memory == MAP_FAILED)
    throw std::runtime_error(fmt::format("totals in the kernel cannot be read: {}", std::strerror(errno)));
  return static_cast<volatile T*>(memory);
}

// All of a map, whatever changes meanwhile.
template <typename Key, typename Value, typename Visit>
void for_each_row(const bpf_map* map, Visit visit) {
  std::vector<Key> keys(kRowsAtOnce);
  std::vector<Value> values(kRowsAtOnce);
  std::uint32_t place = 0;
  bool first = true;
  for (;;) {
    std::uint32_t count = kRowsAtOnce;
    const int error = bpf_map_lookup_batch(bpf_map__fd(map), first ? nullptr : &place, &place, keys.data(),
                                           values.data(), &count, nullptr);
    if (error != 0 && error != -ENOENT) return;
    for (std::uint32_t i = 0; i < count; ++i) visit(keys[i], values[i]);
    if (error != 0) return;
    first = false;
  }
}

std::uint64_t word(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

}  // namespace

BpfTotals::BpfTotals(bool everybody) : cpu_count_(static_cast<std::size_t>(std::max(1, libbpf_num_possible_cpus()))) {
  if (const std::string problem = bpf_problem(); !problem.empty()) throw std::runtime_error(problem);
  libbpf_set_print(note_message);
  programs_ = sched_totals::open();
  if (programs_ == nullptr) throw std::runtime_error("the programs for the kernel cannot be read: " + g_said);
  programs_->rodata->everybody = everybody;
  bpf_map__set_max_entries(programs_->maps.cpus, static_cast<std::uint32_t>(cpu_count_));
  if (const int error = sched_totals::load(programs_); error != 0) {
    const std::string why =
        fmt::format("this kernel refuses the programs ({}; {}): use --source tracefs", std::strerror(-error), g_said);
    sched_totals::destroy(programs_);
    throw std::runtime_error(why);
  }
  threads_ = mapped<ThreadTotals>(programs_->maps.threads, kThreadsMost);
  cpus_ = mapped<CpuState>(programs_->maps.cpus, cpu_count_);
}

BpfTotals::~BpfTotals() { sched_totals::destroy(programs_); }

// What was so before nothing ran: who was where, who waited, what ran.
void BpfTotals::forget_moments() {
  for (std::size_t i = 0; i < cpu_count_; ++i) {
    cpus_[i].known = 0;
    cpus_[i].current = 0;
    cpus_[i].depth = 0;
    for (auto& run : cpus_[i].runs) run.begin_ns = 0;
  }
  const std::uint32_t used = std::min<std::uint32_t>(programs_->bss->places_used, kThreadsMost);
  for (std::uint32_t place = 0; place < used; ++place) {
    if (threads_[place].used == 0 || threads_[place].state == kEnded) continue;
    const bool lives = access(fmt::format("/proc/{}", threads_[place].tid + 0).c_str(), F_OK) == 0;
    threads_[place].state = lives ? kUnknown : kEnded;
  }
}

void BpfTotals::attach(const std::vector<std::uint32_t>& processes) {
  if (attached_) return;
  forget_moments();
  for (const std::uint32_t process : processes) {
    const std::uint8_t yes = 1;
    if (bpf_map__update_elem(programs_->maps.wanted, &process, sizeof(process), &yes, sizeof(yes), BPF_ANY) != 0)
      throw std::runtime_error(
          fmt::format("more than {} processes cannot be named at once: use --all", std::size_t{kWantedMost}));
  }
  if (const int error = sched_totals::attach(programs_); error != 0)
    throw std::runtime_error(
        fmt::format("the programs cannot be attached ({}; {}): use --source tracefs", std::strerror(-error), g_said));
  attached_ = true;
  adopt();
  // Those that were on a CPU when they got their place are looked for when they leave it.
  for (std::size_t i = 0; i < cpu_count_; ++i) cpus_[i].known = 0;
}

void BpfTotals::adopt() {
  const int walk = bpf_iter_create(bpf_link__fd(programs_->links.adopt));
  if (walk < 0) throw std::runtime_error(fmt::format("the kernel's tasks cannot be walked: {}", std::strerror(errno)));
  char nothing[64];
  while (::read(walk, nothing, sizeof(nothing)) > 0 || errno == EAGAIN) {
  }
  close(walk);
}

void BpfTotals::detach() {
  if (attached_) sched_totals::detach(programs_);
  attached_ = false;
}

BpfTotals::Costs BpfTotals::costs() const {
  Costs costs;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, programs_->obj) {
    bpf_prog_info info{};
    std::uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) != 0) continue;
    costs.runs += info.run_cnt;
    costs.ns += info.run_time_ns;
    costs.missed += info.recursion_misses;
  }
  return costs;
}

// The kernel takes the time of programs only while somebody asks, for that costs too.
void BpfTotals::sample_cost() {
  if (!attached_) return;
  const int asked = bpf_enable_stats(BPF_STATS_RUN_TIME);
  if (asked < 0) return;
  const Costs before = costs();
  usleep(kSampleUs);
  const Costs after = costs();
  close(asked);
  sampled_runs_ += after.runs - before.runs;
  sampled_ns_ += after.ns - before.ns;
}

std::uint64_t BpfTotals::events() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < cpu_count_; ++i) sum += cpus_[i].events;
  return sum;
}

std::uint64_t BpfTotals::losses() {
  const Losses& lost = programs_->bss->losses;
  const std::uint64_t all = lost.threads + lost.irqs + costs().missed;
  const std::uint64_t since = all - std::min(all, lost_before_);
  lost_before_ = all;
  return since;
}

bool BpfTotals::is_crowded() const { return programs_->bss->threads_ended - ended_before_ > kThreadsMost / 4; }

TakenTotals BpfTotals::take() {
  sample_cost();
  TakenTotals taken;
  ended_before_ = programs_->bss->threads_ended;
  const std::uint32_t used = std::min<std::uint32_t>(programs_->bss->places_used, kThreadsMost);
  for (std::uint32_t place = 0; place < used; ++place)
    if (threads_[place].used != 0) take_thread(place, taken);
  take_took(taken);
  take_irqs(taken);
  free_places();
  taken.lost = losses();
  const std::uint64_t runs = events();
  if (sampled_runs_ > 0)
    taken.cost_ns = static_cast<std::uint64_t>(static_cast<double>(runs - events_before_) *
                                               static_cast<double>(sampled_ns_) / static_cast<double>(sampled_runs_));
  events_before_ = runs;
  return taken;
}

void BpfTotals::take_thread(std::uint32_t place, TakenTotals& taken) {
  // Ended first: what comes after the state was read is the next time's.
  const bool ended = threads_[place].state == kEnded;
  ThreadTotals now;
  std::memcpy(&now, const_cast<const ThreadTotals*>(&threads_[place]), sizeof(now));
  Before& before = before_[place];
  const KernelThreadTotals all{now.tid,          now.process, now.switches,  now.woken_ns,
                               now.preempted_ns, now.own_ns,  now.unknown_ns};
  const KernelThreadTotals& old = before.totals;
  const KernelThreadTotals row{now.tid,
                               now.process,
                               all.switches - old.switches,
                               all.woken_ns - old.woken_ns,
                               all.preempted_ns - old.preempted_ns,
                               all.own_ns - old.own_ns,
                               all.unknown_ns - old.unknown_ns};
  const std::size_t irqs = taken.irqs.size();
  take_softirqs(now, before, taken);
  before.totals = all;
  if (row.switches + row.woken_ns + row.preempted_ns > 0 || taken.irqs.size() > irqs) taken.threads.push_back(row);
  if (!ended) return;
  ended_places_.push_back(place);
  ended_tids_.insert(now.tid);
}

void BpfTotals::take_softirqs(const ThreadTotals& now, Before& before, TakenTotals& taken) const {
  before.softirqs.resize(kSoftirqs);
  for (std::uint32_t vector = 0; vector < kSoftirqs; ++vector) {
    KernelIrqTotals& old = before.softirqs[vector];
    const IrqTotal& all = now.softirqs[vector];
    if (all.count != old.count) taken.irqs.push_back({now.tid, vector, all.count - old.count, all.ns - old.ns, 1});
    old.count = all.count;
    old.ns = all.ns;
  }
}

void BpfTotals::take_took(TakenTotals& taken) {
  std::vector<TookKey> gone;
  for_each_row<TookKey, std::uint64_t>(programs_->maps.took, [&](const TookKey& key, std::uint64_t ns) {
    std::uint64_t& before = took_before_[word(key.tid, key.process)];
    if (ns != before) taken.took.push_back({key.tid, key.process, ns - before});
    before = ns;
    if (ended_tids_.contains(key.tid)) gone.push_back(key);
  });
  for (const TookKey& key : gone) {
    bpf_map__delete_elem(programs_->maps.took, &key, sizeof(key), 0);
    took_before_.erase(word(key.tid, key.process));
  }
}

void BpfTotals::take_irqs(TakenTotals& taken) {
  std::vector<IrqKey> gone;
  for_each_row<IrqKey, IrqTotal>(programs_->maps.irqs, [&](const IrqKey& key, const IrqTotal& all) {
    KernelIrqTotals& before = irqs_before_[word(key.tid, key.number)];
    if (all.count != before.count)
      taken.irqs.push_back({key.tid, key.number, all.count - before.count, all.ns - before.ns, 0});
    before.count = all.count;
    before.ns = all.ns;
    if (ended_tids_.contains(key.tid)) gone.push_back(key);
  });
  for (const IrqKey& key : gone) {
    bpf_map__delete_elem(programs_->maps.irqs, &key, sizeof(key), 0);
    irqs_before_.erase(word(key.tid, key.number));
  }
}

// Of threads that have ended, for others.
void BpfTotals::free_places() {
  for (const std::uint32_t place : ended_places_) {
    std::memset(const_cast<ThreadTotals*>(&threads_[place]), 0, sizeof(ThreadTotals));
    before_.erase(place);
    bpf_map__update_elem(programs_->maps.free_places, nullptr, 0, &place, sizeof(place), BPF_ANY);
  }
  ended_places_.clear();
  ended_tids_.clear();
}

std::string BpfTotals::name_of_dead(std::uint32_t process) const {
  DeadName name{};
  if (bpf_map__lookup_elem(programs_->maps.dead_names, &process, sizeof(process), &name, sizeof(name), 0) != 0)
    return {};
  return {name.comm, strnlen(name.comm, sizeof(name.comm))};
}

}  // namespace hostprobe::kernel
