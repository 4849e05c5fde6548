// run_waits.cpp: see run_waits.h.
#include "run_waits.h"

#include "analysis/graph/parallel.h"
#include "analysis/graph/rank_waits.h"
#include "analysis/measures/waits.h"
#include "analysis/ranks/kernel_wakers.h"
#include "model/host_clocks.h"
#include "model/kernel_file.h"

namespace hostprobe::analysis {
namespace {

void count_kernel_wakers(const WakeChains& chains, ProcessAnswer& process) {
  std::map<ChainSite, WaitSite*> sites;
  for (WaitSite& site : process.waits) sites[{site.function, site.library, site.role}] = &site;
  for (const auto& [track, thread] : chains.threads())
    for (const BlockedCall& call : thread.calls) {
      if (call.kernel_waker == 0) continue;
      const auto site = sites.find(
          {wait_site_function(call.function->name, call.on_file), chains.library_of(call.site), track->role});
      if (site != sites.end()) ++site->second->kernel_wakers[chains.kernel_wakers()[call.kernel_waker - 1]];
    }
}

}  // namespace

void answer_kernel_wakers(const std::vector<Opened>& opened, ProcessWorks& works, RunAnswer& run) {
  bool any = false;
  for (const Opened& one : opened) {
    if (!one.is_kernel) continue;
    const std::string host = kernel_file(*one.trace).host;
    std::vector<WokenProcess> woken;
    for (const ProcessAnswer& process : run.processes)
      if (const auto& blocked = works.at(process.trace_path).blocked; blocked && (host.empty() || process.host == host))
        woken.push_back({blocked.get(), process.pid});
    find_kernel_wakers(*one.trace, woken);
    any = any || !woken.empty();
  }
  if (!any) return;
  for (ProcessAnswer& process : run.processes) {
    const auto& blocked = works.at(process.trace_path).blocked;
    if (!blocked) continue;
    count_kernel_wakers(*blocked, process);
    set_chains(follow_chains({{blocked.get()}}, 0), process);
  }
}

void follow_over_ranks(const std::vector<Opened>& opened, ProcessWorks& works, RunAnswer& run, unsigned cores) {
  const std::map<std::string, const Opened*> by_path = by_trace(opened);
  std::vector<ChainMember> members;
  std::vector<std::shared_ptr<const CollectiveKernels>> kernels;
  std::vector<ProcessAnswer*> answers;
  const std::uint64_t base_ns = run.processes.empty() ? 0 : run.processes.front().start_monotonic_ns;
  for (ProcessAnswer& process : run.processes) {
    const auto clock = run.host_clocks.find(process.host);
    const auto found = by_path.find(process.trace_path);
    const ProcessWork& work = works.at(process.trace_path);
    if (found == by_path.end() || !work.blocked || work.collectives.ranks.empty()) continue;
    if (run.hosts.size() > 1 && clock == run.host_clocks.end()) continue;
    const HostClock own = clock == run.host_clocks.end() ? HostClock{} : clock->second;
    members.push_back({work.blocked.get(), {}, process.pid, process.rank});
    members.back().axis = axis_of(*found->second->timeline, own, base_ns);
    for (const auto& [key, share] : work.collectives.shares) members.back().collectives += share.count;
    kernels.push_back(found->second->kernels);
    answers.push_back(&process);
  }
  try {
    if (members.size() > 1 && find_rank_waits(members, kernels))
      run_parallel(members.size(), cores, [&](std::size_t i) {
        set_chains(follow_chains(members, static_cast<std::uint32_t>(i)), *answers[i]);
      });
  } catch (const TraceError&) {
  }  // somebody changed a file since it was read: they end where they ended
  for (auto& [path, work] : works) work.blocked.reset();
}

}  // namespace hostprobe::analysis
