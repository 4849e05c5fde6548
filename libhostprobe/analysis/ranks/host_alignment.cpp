// host_alignment.cpp: see host_alignment.h.
#include "host_alignment.h"

#include <algorithm>
#include <tuple>

namespace hostprobe::analysis {
namespace {

// An exact end and the return of a wait are not alike, so a collective that one rank knows this way and another that way
// counts by neither.
using Collective = std::tuple<std::uint64_t, std::uint32_t, bool>;  // communicator, running number, exact

void add_end(std::vector<SharedMoment>& moments, std::uint32_t host, const CollectiveEnd& end) {
  const auto own =
      std::find_if(moments.begin(), moments.end(), [host](const SharedMoment& m) { return m.host == host; });
  if (own == moments.end()) {
    moments.push_back({host, end.arrival_ns, end.end_ns});
    return;
  }
  own->last_arrival_ns = std::max(own->last_arrival_ns, end.arrival_ns);
  own->first_end_ns = std::min(own->first_end_ns, end.end_ns);
}

}  // namespace

std::map<std::string, HostClock> align_hosts(const std::vector<ProcessEnds>& processes, double slack_ns) {
  std::vector<std::string> hosts;
  std::map<Collective, std::vector<SharedMoment>> collectives;
  for (const ProcessEnds& process : processes) {
    auto host = std::find(hosts.begin(), hosts.end(), process.host);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), process.host);
    const auto number = static_cast<std::uint32_t>(host - hosts.begin());
    for (const CollectiveEnd& end : process.ends)
      add_end(collectives[{end.communicator, end.sequence, end.exact}], number, end);
  }
  HostClocks clocks(static_cast<std::uint32_t>(hosts.size()));
  for (const auto& [collective, moments] : collectives) clocks.add(moments);
  const auto found = clocks.finish(slack_ns);
  std::map<std::string, HostClock> aligned;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (found[i]) aligned[hosts[i]] = *found[i];
  return aligned;
}

}  // namespace hostprobe::analysis
