// lost_times.cpp: see lost_times.h.
#include "lost_times.h"

#include <algorithm>

#include "analysis/measures/wait_purpose.h"
#include "analysis/measures/waits.h"
#include "answer/telling_frames.h"
#include "outside_peers.h"

namespace hostprobe::analysis {
void LostTimes::add_step(const std::vector<std::vector<LostPart>>& ranks) {
  ++steps_;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (const LostPart& part : ranks[rank]) add(part, rank);
    longest_.add(ranks[rank]);
  }
}

void LostTimes::add(const LostPart& part, std::uint32_t rank) {
  Sum& sum = sums_[{part.cause, part.member}];
  sum.ns += part.ns;
  ++sum.pieces;
  sum.step_ns.resize(steps_);
  sum.step_ns.back() += part.ns;
  sum.own_step_ns.resize(steps_);
  if (part.member == rank) sum.own_step_ns.back() += part.ns;
  const HostCall* call = part.spot.call;
  Site& site = sum.sites[{call == nullptr ? nullptr : call->function, call == nullptr ? 0 : call->site,
                          part.spot.thread, part.spot.holder}];
  site.ns += part.ns;
  // One with a stack says more.
  const bool has_stack = call != nullptr && call->stack != 0;
  if (has_stack != site.has_stack ? has_stack : part.ns > site.longest_ns)
    site.longest_ns = part.ns, site.longest = part.spot, site.has_stack = has_stack;
}

LostSite LostTimes::site_of(std::uint32_t member, const Spot& spot) const {
  const StepTimeMember& whole = members_[member];
  const Trace& trace = (spot.thread == nullptr ? whole : whole.process_of(*spot.thread)).timeline->trace();
  LostSite site;
  if (spot.thread != nullptr && spot.thread->track != nullptr) {
    site.role = spot.thread->track->role;
    site.tid = spot.thread->track->key().tid;
  }
  if (spot.holder != nullptr && spot.holder != spot.thread && spot.holder->track != nullptr) {
    site.holder = role_name(spot.holder->track->role);
    site.holder_tid = spot.holder->track->key().tid;
    const ProcessAnswer* process = whole.process_of(*spot.holder).answer;
    site.holder_title =
        process == nullptr ? site.holder : process->thread_title(spot.holder->track->key(), spot.holder->track->role);
    // A process that works for this one goes by its name.
    if (spot.holder->process != 0 && spot.holder->track->role == Role::kMain && process != nullptr)
      if (const ThreadAnswer* main = process->main_thread(); main != nullptr && !main->name.empty())
        site.holder_title = main->name;
    if (spot.holder_call != nullptr)
      site.holder_in = place_of(whole.process_of(*spot.holder).timeline->trace(), *spot.holder_call);
  }
  if (spot.held_up != nullptr) site.held_up = place_of(whole.timeline->trace(), *spot.held_up);
  if (spot.call == nullptr || spot.call->function == nullptr) return site;
  site.kind = call_kind(spot.call->function->role);
  site.function = wait_site_function(spot.call->function->name, spot.call->on_file);
  if (spot.call->name != 0) site.awaited = awaited_thing(trace.strings.text(spot.call->name));
  const CodePlace place = symbols_.place(trace, spot.call->site);
  site.library = place.library;
  if (!place.function.empty()) site.code = place.caller_text();
  const auto stack = trace.stacks.find(spot.call->stack - 1u);
  if (spot.call->stack != 0 && stack != trace.stacks.end()) site.stack = stack_text(trace, stack->second, symbols_);
  return site;
}

std::string LostTimes::place_of(const Trace& trace, const HostCall& call) const {
  const auto stack = trace.stacks.find(call.stack - 1u);
  if (call.stack != 0 && stack != trace.stacks.end())
    if (const std::string place = telling_place(stack_text(trace, stack->second, symbols_)); !place.empty())
      return place;
  const CodePlace place = symbols_.place(trace, call.site);
  return place.function.empty() ? "" : place.caller_text();
}

LostPiece LostTimes::located(std::uint32_t member, const LongestPiece& piece) const {
  const StepTimeMember& whole = members_[member];
  const HostThread* thread = piece.thread;
  const TimeAxis& axis = (thread == nullptr ? whole : whole.process_of(*thread)).axis;
  return {1e-6 * axis.back(piece.window).begin_ns, 1e-6 * piece.window.length_ns(),
          thread == nullptr || thread->track == nullptr ? 0 : thread->track->key().tid};
}

std::vector<LostTime> LostTimes::finish() {
  std::vector<LostTime> all;
  const auto ranks = static_cast<double>(members_.size());
  const auto longest = longest_.finish();
  for (auto& [key, sum] : sums_) {
    LostTime lost;
    lost.cause = key.first;
    lost.member = key.second;
    lost.ns = sum.ns / ranks;
    lost.pieces = sum.pieces;
    const auto most = std::max_element(sum.sites.begin(), sum.sites.end(),
                                       [](const auto& l, const auto& r) { return l.second.ns < r.second.ns; });
    lost.site_ns = most->second.ns / ranks;
    lost.site = site_of(key.second, most->second.longest);
    if (const auto own = longest.find(key); own != longest.end())
      for (const LongestPiece& piece : own->second) lost.longest.push_back(located(key.second, piece));
    sum.step_ns.resize(steps_);
    for (const double ns : sum.step_ns) lost.step_ns.push_back(ns / ranks);
    sum.own_step_ns.resize(steps_);
    lost.own_step_ns = std::move(sum.own_step_ns);
    all.push_back(std::move(lost));
  }
  std::sort(all.begin(), all.end(), [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
  return all;
}

}  // namespace hostprobe::analysis
