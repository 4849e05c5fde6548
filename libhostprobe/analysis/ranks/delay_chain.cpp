// delay_chain.cpp: see delay_chain.h.
#include "delay_chain.h"

#include <algorithm>
#include <functional>

namespace hostprobe::analysis {
namespace {

using AddTimes = std::function<void(const ProcessAnswer&, Histogram&)>;

DelayRow of_ranks(const RunAnswer& run, DelayLink link, const AddTimes& add) {
  DelayRow row;
  row.link = link;
  std::size_t ranks = 0;
  for (const ProcessAnswer& process : run.processes) {
    if (process.kind != ProcessKind::kRank) continue;
    Histogram own;
    add(process, own);
    if (own.count() == 0) continue;
    ++ranks;
    row.time.add(own);
    const double p99_ns = own.percentile_ns(99);
    if (ranks > 1 && p99_ns <= row.worst_p99_ns) continue;
    row.worst = process.rank;
    row.worst_p99_ns = p99_ns;
  }
  if (ranks < 2) row.worst.reset();
  return row;
}

DelayRow of_collectives(const RunAnswer& run, DelayLink link, Histogram CollectiveAnswer::*time) {
  DelayRow row;
  row.link = link;
  for (const CollectiveAnswer& one : run.collectives) row.time.add(one.*time);
  return row;
}

void add_polls(const ProcessAnswer& process, Histogram& all) {
  for (const ProgressAnswer& thread : process.progress) all.add(thread.poll);
}

void add_progress_io(const ProcessAnswer& process, Histogram& all) {
  for (const WaitSite& site : process.in_steps().waits)
    if (site.role == Role::kNcclProgress) all.add(site.time);
}

void add_wakes(const ProcessAnswer& process, Histogram& all) {
  for (const WaitSite& site : process.in_steps().waits)
    if (site.role == Role::kMain) all.add(site.wake);
}

void add_gaps(const ProcessAnswer& process, Histogram& all) { all.add(process.in_steps().launches.gap); }

}  // namespace

std::vector<DelayRow> answer_delay_chain(const RunAnswer& run) {
  if (run.collectives.empty()) return {};
  std::vector<DelayRow> rows = {of_ranks(run, DelayLink::kPoll, add_polls),
                                of_ranks(run, DelayLink::kProgressIo, add_progress_io),
                                of_ranks(run, DelayLink::kWake, add_wakes),
                                of_ranks(run, DelayLink::kLaunchGap, add_gaps),
                                of_collectives(run, DelayLink::kArrival, &CollectiveAnswer::skew),
                                of_collectives(run, DelayLink::kOthersWait, &CollectiveAnswer::gpu_wait)};
  std::erase_if(rows, [](const DelayRow& row) { return row.time.count() == 0; });
  return rows;
}

}  // namespace hostprobe::analysis
