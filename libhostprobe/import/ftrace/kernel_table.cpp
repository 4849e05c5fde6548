// kernel_table.cpp: see kernel_table.h.
#include "kernel_table.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostCpus = 8192;
constexpr std::size_t kMostNames = 1 << 20;
constexpr std::size_t kRowsInBlock = 1 << 15;

}  // namespace

bool KernelNameTable::add_task(std::uint32_t tid, std::uint64_t ticks, std::string_view name, std::uint32_t process) {
  if (tid == 0 || name == "<...>" || (name.empty() && process == 0)) return false;
  const auto known = tasks_.find(tid);
  if (known == tasks_.end()) {
    if (tasks_.size() >= kMostNames) return false;
    tasks_[tid] = {std::string(name), process};
    put(tid, 0, name, process, kNamedTask);
    return true;
  }
  Known& own = known->second;
  if (own.is_gone) own = {};
  const bool is_told = name.empty() || own.name == name;
  if (is_told && (process == 0 || own.process == process)) return false;
  if (rows_.size() >= kMostNames) return false;
  if (!name.empty()) own.name = name;
  if (process != 0) own.process = process;
  put(tid, ticks, own.name, own.process, kNamedTask);
  return true;
}

void KernelNameTable::renew(std::uint32_t tid) {
  if (const auto known = tasks_.find(tid); known != tasks_.end()) known->second.is_gone = true;
}

void KernelNameTable::add_irq(std::uint32_t number, std::string_view name) {
  if (name.empty() || irqs_.size() >= kMostNames) return;
  if (irqs_.try_emplace(number, name).second) put(number, 0, name, 0, kNamedIrq);
}

void KernelNameTable::add_inside(std::uint32_t tid, std::uint32_t inside) { put(tid, 0, {}, inside, kNamedInside); }

void KernelNameTable::put(std::uint32_t number, std::uint64_t ticks, std::string_view name, std::uint32_t process,
                          KernelNamed named) {
  KernelNameRow row{};
  row.ticks = ticks;
  row.number = number;
  row.process = process;
  row.named = named;
  set_field(row.name, name);
  rows_.push_back(row);
}

std::vector<KernelNameRow> KernelNameTable::take() {
  std::vector<KernelNameRow> rows;
  rows.swap(rows_);
  return rows;
}

void KernelTable::add(std::uint32_t number, std::uint64_t ticks, KernelRow row) {
  const auto found = cpus_.find(number);
  if (found == cpus_.end() && cpus_.size() >= kMostCpus) return left_out_.add("events of more CPUs than there can be");
  Cpu& cpu = found == cpus_.end() ? cpus_[number] : found->second;
  row.ticks = ticks;
  if (cpu.pending_lost != 0) cpu.lost[ticks] += cpu.pending_lost;
  cpu.pending_lost = 0;
  cpu.is_sorted = cpu.is_sorted && (cpu.rows.empty() || cpu.rows.back().ticks <= ticks);
  cpu.rows.push_back(row);
  first_ticks_ = std::min(first_ticks_, ticks);
  last_ticks_ = std::max(last_ticks_, ticks);
  ++rows_;
}

void KernelTable::add_lost(std::uint32_t number, std::uint64_t count) {
  if (cpus_.size() < kMostCpus || cpus_.contains(number)) cpus_[number].pending_lost += count;
}

std::uint64_t KernelTable::lost() const {
  std::uint64_t sum = 0;
  for (const auto& [number, cpu] : cpus_) {
    sum += cpu.pending_lost;
    for (const auto& [ticks, count] : cpu.lost) sum += count;
  }
  return sum;
}

// A block ends where something is missing, so that its head can say so.
void KernelTable::write_cpu(std::uint32_t number, Cpu& cpu, TraceWriter& out) {
  if (!cpu.is_sorted)
    std::stable_sort(cpu.rows.begin(), cpu.rows.end(),
                     [](const KernelRow& l, const KernelRow& r) { return l.ticks < r.ticks; });
  std::vector<KernelRow> block;
  std::uint64_t begin = cpu.rows.empty() ? 0 : cpu.rows.front().ticks, lost = 0;
  auto gap = cpu.lost.begin();
  const auto flush = [&](std::uint64_t next_lost) {
    if (block.empty() && lost == 0) {
      lost = next_lost;
      return;
    }
    out.add_kernel(number, begin, lost, block);
    if (!block.empty()) begin = block.back().ticks;
    block.clear();
    lost = next_lost;
  };
  for (const KernelRow& row : cpu.rows) {
    if (gap != cpu.lost.end() && row.ticks >= gap->first) flush((gap++)->second);
    if (block.size() >= kRowsInBlock) flush(0);
    block.push_back(row);
  }
  flush(cpu.pending_lost);
  if (lost != 0) flush(0);
  cpu.rows = {};
}

void KernelTable::write(TraceWriter& out) {
  for (auto& [number, cpu] : cpus_) write_cpu(number, cpu, out);
  out.add_kernel_names(names_.take());
}

}  // namespace hostprobe::analysis
