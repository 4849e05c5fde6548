// numa.cpp: the fix `numa`: threads and memory of this process are on the node of its GPU.
//
// Room 2 (probe/). Threads that may run anywhere may run on that node only, so that what they allocate lies there (a policy of its own
// can be set by each thread only for itself); pages that lie elsewhere are moved there once. What cannot be undone: where the pages
// were before is not known.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "probe/fixes/placement/gpu_of_process.h"
#include "probe/fixes/placement/machine.h"
#include "probe/fixes/row/fix.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/own_threads.h"
#include "probe/writer/file/events.h"

extern char** environ;

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN std::atomic<bool> g_wanted{false};
HP_OF_PROCESS std::atomic<FixState> g_settled{FixState::kOff};

struct Numa {
  CpuSet base, near;
  LookSeldom looks;
};
HP_OF_PROCESS Numa g_numa{};
HP_OF_PROCESS Machine g_numa_machine{};

void settle(FixState state, const char* text) {
  g_settled.store(state, std::memory_order_release);
  note_event(kEventFix, 0, state == FixState::kOn, 0, text);
}

const char* device_root() {
  const char* simulated = value_of(environ, "SIMNODE_SYSFS");
  return simulated != nullptr ? simulated : "/sys";
}

// Pages that could not be moved, or a negative error number.
long move_pages_to(int node, std::uint64_t nodes) {
  const std::uint64_t to = std::uint64_t{1} << node, from = nodes & ~to;
  return system_call(SYS_migrate_pages, 0, 64, word_of_pointer(&from), word_of_pointer(&to));
}

unsigned change_all(const CpuSet& from, const CpuSet& to) {
  unsigned changed = 0;
  const int self = own_task();
  for_each_thread([&](int tid) {
    CpuSet mask;
    if (tid != self && cpus_of_thread(tid, mask) == 0 && mask == from && set_cpus_of_thread(tid, to) == 0) ++changed;
  });
  return changed;
}

// False: there is nothing to do, or no way to; which is said.
bool can_begin(int& node, std::uint64_t& nodes) {
  char bus_id[32], text[96];
  const unsigned count = memory_nodes("/sys", nodes);
  if (count < 2) return settle(FixState::kStandsBack, "numa stands back: one node, nothing to do"), false;
  find_bus_id(environ, bus_id, sizeof bus_id);
  node = node_of_device(device_root(), bus_id);
  if (node < 0 || node > 63)
    return settle(FixState::kStandsBack, "numa stands back: the node of the GPU is not known"), false;
  if (cpus_of_thread(0, g_numa.base) != 0) return settle(FixState::kRefused, "numa refused: too many CPUs"), false;
  read_machine({device_root(), "/sys"}, bus_id, g_numa.base, g_numa_machine);
  g_numa.near = g_numa.base.both(g_numa_machine.near);
  if (!g_numa.near.empty()) return true;
  snprintf(text, sizeof text, "numa stands back: no CPU of node %d is allowed to this process", node);
  return settle(FixState::kStandsBack, text), false;
}

void begin() {
  int node = -1;
  std::uint64_t nodes = 0;
  if (!process_uses_gpu() && memory_nodes("/sys", nodes) > 1) return;
  if (!can_begin(node, nodes)) return;
  char text[96];
  const long left = move_pages_to(node, nodes);
  if (left < 0) {
    snprintf(text, sizeof text, "numa refused: the system does not let pages be moved (%.40s)",
             strerrordesc_np(static_cast<int>(-left)));
    return settle(FixState::kRefused, text);
  }
  const unsigned threads = change_all(g_numa.base, g_numa.near);
  snprintf(text, sizeof text, "numa on: node %d, %u threads; %ld pages could not be moved there", node, threads, left);
  settle(FixState::kOn, text);
}

void end(FixState settled) {
  char text[96];
  const unsigned threads = settled == FixState::kOn ? change_all(g_numa.near, g_numa.base) : 0;
  snprintf(text, sizeof text, "numa off: %u threads may run anywhere again, pages stay where they are", threads);
  g_settled.store(FixState::kOff, std::memory_order_release);
  if (settled == FixState::kOn) note_event(kEventFix, 0, 0, 0, text);
}

void want(bool on) { g_wanted.store(on, std::memory_order_release); }

void tend(bool last) {
  if (last) return;
  const FixState settled = g_settled.load(std::memory_order_relaxed);
  const bool wanted = g_wanted.load(std::memory_order_acquire);
  if (wanted && settled == FixState::kOff) begin();
  if (wanted && settled == FixState::kOn) g_numa.looks.now_and_then([] { change_all(g_numa.base, g_numa.near); });
  if (!wanted && settled != FixState::kOff) end(settled);
}

FixState state() { return state_of(g_wanted, g_settled); }

}  // namespace

const Fix kNumaFix{fix_name::numa, want, state, tend};

}  // namespace hostprobe::probe
