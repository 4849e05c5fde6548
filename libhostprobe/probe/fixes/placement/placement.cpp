// placement.cpp: see placement.h.
#include "probe/fixes/placement/placement.h"

namespace hostprobe::probe {
namespace {

CpuSet cores_of(const Machine& machine, const CpuSet& cpus) {
  CpuSet cores{};
  for (unsigned cpu = cpus.next(0); cpu < kMostCpus; cpu = cpus.next(cpu + 1)) cores.add(machine.core[cpu]);
  return cores;
}

CpuSet cpus_of_core(const Machine& machine, const CpuSet& among, unsigned core) {
  CpuSet cpus{};
  for (unsigned cpu = among.next(0); cpu < kMostCpus; cpu = among.next(cpu + 1))
    if (machine.core[cpu] == core) cpus.add(cpu);
  return cpus;
}

// What one rank chooses from, and how.
struct Choice {
  CpuSet candidates;
  bool is_near;
  bool whole_cores;  // no two of the ranks share a core
  unsigned share;    // CPUs, or whole cores, of one rank
};

Choice choice_of(const Machine& machine, const Demand& demand) {
  Choice choice{machine.allowed.both(machine.near), true, true, 0};
  if (choice.candidates.empty()) choice.candidates = machine.allowed, choice.is_near = false;
  const unsigned all = machine.allowed.count(), count = choice.candidates.count();
  const unsigned ranks = demand.ranks == 0 ? 1 : demand.ranks;
  // The others' GPUs are taken to be spread as the CPUs are.
  const unsigned here = all == 0 ? 1 : (ranks * count + all - 1) / all;
  const unsigned cores = cores_of(machine, choice.candidates).count();
  choice.whole_cores = cores >= 2 * here;
  choice.share = (choice.whole_cores ? cores : count) / (here == 0 ? 1 : here);
  return choice;
}

// The next CPU that nobody has; kMostCpus: none is left. CPU 0 comes last: what the kernel does by itself, it does there first.
unsigned free_cpu(const Machine& machine, const Choice& choice, const CpuSet& taken) {
  const CpuSet taken_cores = cores_of(machine, taken);
  const unsigned first = choice.candidates.next(0);
  for (unsigned cpu = choice.candidates.next(1); cpu < kMostCpus; cpu = choice.candidates.next(cpu + 1)) {
    if (choice.whole_cores && machine.core[cpu] == machine.core[0]) continue;
    if (!taken.has(cpu) && !(choice.whole_cores && taken_cores.has(machine.core[cpu]))) return cpu;
  }
  for (unsigned cpu = first; cpu < kMostCpus; cpu = choice.candidates.next(cpu + 1))
    if (!taken.has(cpu) && !(choice.whole_cores && taken_cores.has(machine.core[cpu]))) return cpu;
  return kMostCpus;
}

void claim_cpu(const Machine& machine, const Choice& choice, unsigned cpu, CpuSet& claimed) {
  claimed.add(cpu);
  if (!choice.whole_cores) return;
  const CpuSet all = cpus_of_core(machine, machine.allowed, machine.core[cpu]);
  for (unsigned each = all.next(0); each < kMostCpus; each = all.next(each + 1)) claimed.add(each);
}

CpuSet united(const CpuSet& a, const CpuSet& b) {
  CpuSet out = a;
  for (unsigned i = 0; i < kMostCpus / 64; ++i) out.words[i] |= b.words[i];
  return out;
}

bool add_progress(const Machine& machine, const Choice& choice, const CpuSet& taken, Placement& out) {
  if (out.progress_count == kMostProgress) return false;
  const unsigned cpu = free_cpu(machine, choice, united(taken, out.claimed));
  if (cpu == kMostCpus) return false;
  out.progress[out.progress_count++] = cpu;
  claim_cpu(machine, choice, cpu, out.claimed);
  return true;
}

}  // namespace

CpuSet Placement::progress_cpus() const {
  CpuSet cpus{};
  for (unsigned i = 0; i < progress_count; ++i) cpus.add(progress[i]);
  return cpus;
}

bool place_rank(const Machine& machine, const CpuSet& taken, const Demand& demand, Placement& out, Shortage& shortage) {
  out = Placement{};
  const unsigned ranks = demand.ranks == 0 ? 1 : demand.ranks;
  shortage = {2 * ranks, machine.allowed.count(), false};
  if (shortage.there < shortage.wanted) return false;
  const Choice choice = choice_of(machine, demand);
  shortage = {2, choice.candidates.without(taken).count(), choice.is_near};
  out.main = free_cpu(machine, choice, taken);
  if (out.main == kMostCpus) return false;
  claim_cpu(machine, choice, out.main, out.claimed);
  if (!add_progress(machine, choice, taken, out)) return false;
  while (out.progress_count < demand.progress && 1 + out.progress_count < choice.share)
    if (!add_progress(machine, choice, taken, out)) break;
  return true;
}

bool place_one_more(const Machine& machine, const CpuSet& taken, const Demand& demand, Placement& out) {
  const Choice choice = choice_of(machine, demand);
  return 1 + out.progress_count < choice.share && add_progress(machine, choice, taken, out);
}

}  // namespace hostprobe::probe
