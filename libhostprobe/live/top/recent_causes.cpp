// recent_causes.cpp: see recent_causes.h.
#include "recent_causes.h"

#include <algorithm>
#include <string_view>

#include "report/cause_word.h"
#include "report/stuck_text.h"

namespace hostprobe::analysis {
namespace {

struct NewestSteps {
  std::size_t first = 0, count = 0;  // of `step_ns`
  double ns = 0;                     // they took, on the mean rank
};

// Causes sum to the step, so the length of a step is their sum.
NewestSteps newest_steps(const StepTime& time, double seconds) {
  std::size_t all = 0;
  for (const LostTime& lost : time.lost) all = std::max(all, lost.step_ns.size());
  NewestSteps newest{.first = all};
  while (newest.first > 0 && newest.ns < 1e9 * seconds) {
    --newest.first;
    ++newest.count;
    for (const LostTime& lost : time.lost)
      if (newest.first < lost.step_ns.size()) newest.ns += lost.step_ns[newest.first];
  }
  return newest;
}

double ns_of(const LostTime& lost, const NewestSteps& newest) {
  double ns = 0;
  for (std::size_t step = newest.first; step < lost.step_ns.size(); ++step) ns += lost.step_ns[step];
  return ns;
}

using PartsByMember = std::vector<std::map<std::string, double>>;

// What is of no rank in particular is of each to the same part.
void add_part(PartsByMember& members, const LostTime& lost, const char* word, double ms) {
  if (!lost.of_all) {
    if (lost.member < members.size()) members[lost.member][word] += ms;
    return;
  }
  for (auto& member : members) member[word] += ms / static_cast<double>(members.size());
}

RankCauses causes_of(const RunAnswer& run, std::uint32_t member, const std::map<std::string, double>& parts) {
  RankCauses causes;
  if (const ProcessAnswer* process = run.step_member(member); process != nullptr) {
    causes.rank = process->rank;
    causes.pid = process->pid;
  }
  for (const auto& [cause, ms] : parts)
    if (ms > 0) causes.parts.push_back({cause, ms});
  std::stable_sort(causes.parts.begin(), causes.parts.end(),
                   [](const CausePart& l, const CausePart& r) { return l.ms > r.ms; });
  return causes;
}

}  // namespace

RecentCauses recent_causes(const RunAnswer& run, double seconds) {
  RecentCauses recent;
  for (const ProcessAnswer& process : run.processes)
    for (const ThreadAnswer& thread : process.threads) recent.roles[process.pid][thread.tid] = role_name(thread.role);
  if (!run.stuck.empty()) recent.stuck = stuck_text(run.stuck.front());
  if (!run.step_time || run.step_time->steps == 0) {
    recent.unknown = time_unknown_id(run.step_time_unknown);
    return recent;
  }
  const StepTime& time = *run.step_time;
  const NewestSteps newest = newest_steps(time, seconds);
  PartsByMember members(run.step_members.size());
  for (const LostTime& lost : time.lost) {
    const double ns = newest.count > 0 ? ns_of(lost, newest) / static_cast<double>(newest.count)
                                       : lost.ns / static_cast<double>(time.steps);
    add_part(members, lost, cause_word(run, reported_cause(lost.cause)), 1e-6 * ns);
  }
  recent.span_s = 1e-9 * (newest.count > 0 ? newest.ns : time.length_ns);
  for (std::uint32_t member = 0; member < members.size(); ++member)
    recent.ranks.push_back(causes_of(run, member, members[member]));
  return recent;
}

void add_causes(const RecentCauses& causes, std::optional<double> age_s, LiveView& view) {
  view.causes_age_s = age_s;
  view.causes_span_s = causes.span_s;
  view.causes_unknown = causes.unknown;
  for (LiveRank& rank : view.ranks) {
    const auto pid = static_cast<std::uint32_t>(rank.pid);
    for (const RankCauses& one : causes.ranks)
      if (one.pid == pid) rank.causes = one.parts;
    const auto roles = causes.roles.find(pid);
    if (roles == causes.roles.end()) continue;
    for (LiveThread& thread : rank.threads)
      if (const auto role = roles->second.find(thread.tid); role != roles->second.end()) thread.role = role->second;
  }
}

}  // namespace hostprobe::analysis
