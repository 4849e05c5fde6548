// wait_shares.cpp: see wait_shares.h.
#include "wait_shares.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

WaitSite& site_of(ProcessAnswer& process, const ThreadAnswer& thread) {
  const OpenWaitAnswer& open = *thread.open_wait;
  for (WaitSite& site : process.waits)
    if (site.function == open.function && site.library == open.library && site.role == thread.role) return site;
  WaitSite& site = process.waits.emplace_back();
  site.function = open.function;
  site.library = open.library;
  site.role = thread.role;
  site.kind = open.kind;
  return site;
}

// In the time that the answer is about.
double wall_of(const ProcessAnswer& process, const ThreadAnswer& thread) {
  return process.wall_ms > 0 ? std::min(thread.time.wall_ms, process.wall_ms) : thread.time.wall_ms;
}

// Of the threads of one role.
struct Together {
  double wall_ms = 0;
  double wait_ms = 0;
  double blocked_ms = 0;  // without the delay behind known wakes
  double delayed_ms = 0;  // ready to run in the rest

  void add(const ProcessAnswer& process, const ThreadAnswer& thread) {
    wall_ms += wall_of(process, thread);
    wait_ms += thread.time.wait_ms;
    blocked_ms += thread.blocked_ms - thread.wake_ms;
    delayed_ms += std::max(0.0, thread.time.run_queue_ms.value_or(0) - thread.wake_ms);
  }
  double own_part() const { return blocked_ms > 0 ? std::min(1.0, wait_ms / blocked_ms) : 1; }
  // A driver waits by spinning unless it is told otherwise: on a CPU, and yet for the GPU.
  double spinning_part() const { return blocked_ms > 0 ? std::clamp(1 - delayed_ms / blocked_ms, 0.0, 1.0) : 1; }
};

Together together(const ProcessAnswer& process, Role role) {
  Together all;
  for (const ThreadAnswer& thread : process.threads)
    if (thread.role == role) all.add(process, thread);
  return all;
}

double life_of(const ProcessAnswer& process, const WaitSite& site) {
  double wall_ms = 0;
  for (const ThreadKey& key : site.threads)
    if (const ThreadAnswer* thread = process.thread(key)) wall_ms += wall_of(process, *thread);
  return wall_ms > 0 ? wall_ms : process.wall_ms;
}

double share(double ms, double wall_ms) { return wall_ms > 0 ? std::clamp(100 * ms / wall_ms, 0.0, 100.0) : 0; }

// Of the role that waits most, by its threads' lives.
double greatest_share(const ProcessAnswer& process, const std::map<Role, double>& ms_by_role) {
  double most = 0;
  for (const auto& [role, ms] : ms_by_role) {
    const Together threads = together(process, role);
    most = std::max(most, share(ms * threads.spinning_part(), threads.wall_ms > 0 ? threads.wall_ms : process.wall_ms));
  }
  return most;
}

}  // namespace

void add_open_waits(ProcessAnswer& process) {
  for (const ThreadAnswer& thread : process.threads) {
    if (!thread.open_wait) continue;
    WaitSite& site = site_of(process, thread);
    ++site.open;
    site.open_ms += thread.open_wait->ms;
    site.threads.insert({thread.tid, thread.start_ticks});
  }
}

void share_out_waits(ProcessAnswer& process) {
  for (WaitSite& site : process.waits) {
    const double behind_posts_ms = site.wake.count() > 0 ? 1e-6 * site.wake.total_ns() : 0;
    const double raw_ms = 1e-6 * site.time.total_ns() + site.open_ms - behind_posts_ms;
    site.own_ms = std::max(0.0, raw_ms) * together(process, site.role).own_part();
    site.share_pct = share(site.own_ms, life_of(process, site));
  }
  SyncAnswer& syncs = process.syncs;
  syncs.share_pct = greatest_share(process, syncs.total_ms_by_role);
  for (GpuStall* stall : {&syncs.memory, &syncs.copies}) stall->share_pct = greatest_share(process, stall->ms_by_role);
  std::stable_sort(process.waits.begin(), process.waits.end(),
                   [](const WaitSite& l, const WaitSite& r) { return l.own_ms > r.own_ms; });
}

}  // namespace hostprobe::analysis
