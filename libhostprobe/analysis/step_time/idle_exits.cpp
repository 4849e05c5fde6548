// idle_exits.cpp: see idle_exits.h.
#include "idle_exits.h"

#include <algorithm>
#include <optional>

#include "analysis/measures/run_delay.h"
#include "analysis/transfers/lost_share.h"

namespace hostprobe::analysis {
namespace {

double without_cpu_ns(const StepTime& time, std::uint32_t member) {
  double ns = 0;
  for (const LostTime& lost : time.lost)
    if (lost.member == member && is_lack_of_cpu(lost.cause)) ns += lost.ns;
  return ns;
}

// Of what the kernel counted of all threads of the rank and its workers, what no other piece has. Nothing: it counted none of them.
std::optional<double> uncharged_delay_ns(const StepTimeMember& member, std::uint32_t number, const StepTime& time) {
  std::optional<double> ns;
  const auto add = [&ns](const StepTimeProcess& process) {
    for (const ThreadAnswer& thread : process.answer->threads)
      if (thread.time.run_delay_ms) ns = ns.value_or(0) + 1e6 * *thread.time.run_delay_ms;
  };
  add(member);
  for (const StepTimeProcess& worker : member.workers) add(worker);
  if (ns) ns = std::max(0.0, *ns - without_cpu_ns(time, number));
  return ns;
}

LostTime& row_of(StepTime& time, Cause cause, std::uint32_t member) {
  for (LostTime& lost : time.lost)
    if (lost.cause == cause && lost.member == member) return lost;
  LostTime& lost = time.lost.emplace_back();
  lost.cause = cause;
  lost.member = member;
  return lost;
}

// What the kernel did not count as ready to run is no lack of a CPU, and with none free it is no idle state either.
void leave_unexplained(double part, std::size_t at, StepTime& time) {
  LostTime rest;
  rest.member = time.lost[at].member;
  move_share(part, time.lost[at], rest);
  rest.pieces = time.lost[at].pieces;
  join(row_of(time, Cause::kUnexplained, time.lost[at].member), rest);
}

}  // namespace

std::map<std::uint32_t, double> check_idle_exits(const std::vector<StepTimeMember>& members, StepTime& time) {
  std::map<std::uint32_t, double> shares;
  for (std::size_t i = 0; i < time.lost.size(); ++i) {
    const std::uint32_t member = time.lost[i].member;
    const bool is_alone = members[member].answer->cpus == 1;
    if (time.lost[i].cause != Cause::kIdleStateExit || (!is_alone && time.lost[i].ns > without_cpu_ns(time, member)))
      continue;
    const double room_ns = uncharged_delay_ns(members[member], member, time).value_or(time.lost[i].ns);
    const double share = std::min(1.0, room_ns / time.lost[i].ns);
    shares[member] = share;
    if (share < 1) leave_unexplained(1 - share, i, time);
    LostTime moved = std::move(time.lost[i]);
    time.lost.erase(time.lost.begin() + static_cast<std::ptrdiff_t>(i--));
    moved.cause = Cause::kCpuContention;
    LostTime& other = row_of(time, moved.cause, member);
    if (other.ns > 0)
      join(other, moved);
    else
      other = std::move(moved);
  }
  put_in_order(time.lost);
  return shares;
}

}  // namespace hostprobe::analysis
