// step_time.cpp: see step_time.h.
#include "step_time.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "gpu_states.h"
#include "idle_exits.h"
#include "late_returns.h"
#include "late_work.h"
#include "loader_use.h"
#include "looked_at.h"
#include "lost_times.h"
#include "probe_cost.h"
#include "rank_knowledge.h"
#include "step_lanes.h"
#include "taken_cpus.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostLinks = 16;

// Why somebody looks at a thread: the wait that it ends, or the launch that came late.
struct Reason {
  Cause cause = Cause::kGpuBound;  // kGpuBound: it is the launching thread itself
  Spot spot;                       // of the wait
  // Of the call in which the GPU ran dry, and after which it is to be fed again. kLaunchBound: it was in none.
  Cause dry = Cause::kLaunchBound;
  Spot dry_spot;
  std::vector<std::int32_t> threads;

  bool is_inside() const { return cause != Cause::kGpuBound; }
};

class Explanation {
 public:
  Explanation(const JobGraph& job, const std::vector<StepTimeMember>& members, const std::vector<Window>& steps,
              LostParts& parts, const std::vector<WaitSlopes>& slopes, const ReturnOwners& owners, Symbols& symbols)
      : job_(job),
        parts_(parts),
        ranks_(known_ranks(job, members, steps, symbols)),
        peers_(outside_peers(job, members)),
        slopes_(slopes),
        owners_(owners),
        looked_at_(members.size()) {}

  void explain(std::uint32_t member, const Window& step) {
    member_ = member;
    if (rank().gpu.empty())
      explain_thread(rank().thread, step, {});
    else
      explain_gpu(step);
  }

  // What threads that steps waited for lost while nobody did. Behind all steps.
  void explain_hidden(std::uint32_t member, const Window& step) {
    member_ = member;
    is_hidden_ = true;
    for (auto& [number, thread] : looked_at_[member])
      for (const Window& window : thread.when.rest_of(step)) explain_going(number, window, thread.why);
  }

  // CPU time of the rank and the workers of its loader.
  double cpu_ns(std::uint32_t member, const Window& step) const {
    double ns = 0;
    for (const std::unique_ptr<KnownProcess>& process : ranks_[member].processes)
      ns += process->without_cpu.cpu_ns(step);
    return ns;
  }

  // Where a thread was in no call, samples of it may tell the place.
  void name_site(LostTime& lost) const {
    LostSite& site = lost.site;
    const auto own = site.function.empty() ? sampled_site(lost) : std::nullopt;
    if (!own) return;
    site.function = own->function;
    site.library = own->library;
    site.kind = own->kind;
    site.stack = own->stack;
    site.samples = own->samples;
    site.sampled_pct = 100 * own->share.part;
    site.low_pct = 100 * own->share.low;
    site.high_pct = 100 * own->share.high;
  }

 private:
  std::optional<OwnSite> sampled_site(const LostTime& lost) const {
    const Rank& rank = ranks_[lost.member];
    for (const std::unique_ptr<KnownProcess>& process : rank.processes)
      if (auto site = process->blocked_code.site(lost.site.tid, lost.cause)) return site;
    if (lost.cause == Cause::kUnevenWork) return longer_site(lost.member);
    if (lost.cause == Cause::kPageFaults)
      for (const std::unique_ptr<KnownProcess>& process : rank.processes)
        if (auto site = process->own_code.site(lost.site.tid, lost.cause)) return site;
    if (lost.cause == Cause::kJitCompile) return rank.own_code().site(lost.site.tid, lost.cause);
    if (lost.cause != Cause::kPythonOverhead && lost.cause != Cause::kHostWork) return std::nullopt;
    return rank.gpu.empty() ? rank.own_code().program_site(lost.site.tid, lost.cause)
                            : rank.own_code().site(lost.site.tid, lost.cause);
  }
  std::optional<OwnSite> longer_site(std::uint32_t member) const {
    std::vector<OwnCode::Peer> all;
    for (const Rank& one : ranks_) {
      const Track* track =
          one.thread < 0 ? nullptr : one.graph->host.threads[static_cast<std::size_t>(one.thread)].track;
      all.push_back({&one.own_code(), track == nullptr ? 0 : track->key().tid});
    }
    const OwnCode::Peer own = all[member];
    all.erase(all.begin() + member);
    return own.code->longer_site(own.tid, all);
  }

  const Rank& rank() const { return ranks_[member_]; }
  const HostThread& thread_of(std::int32_t number) const {
    return rank().graph->host.threads[static_cast<std::size_t>(number)];
  }

  void add(Cause cause, const Spot& spot, const Window& window) {
    if (window.length_ns() <= 0) return;
    if (cause == Cause::kWaitsForRank)
      parts_.add_wait(member_, {window, window.length_ns(), spot});
    else
      parts_.add(member_, {window, window.length_ns(), cause, member_, spot});
  }

  // A thread that moves data for this rank, and lacks a CPU for `lost_ns` of it, waits for nobody meanwhile.
  void add_peer_wait(const Spot& spot, const Window& window, const HostThread& thread, double lost_ns) {
    if (window.length_ns() > lost_ns) parts_.add_wait(member_, {window, window.length_ns() - lost_ns, spot});
    add_without_cpu(window, thread, lost_ns);
  }
  // Estimates are no proof that it did not wait for others.
  bool is_peer_wait_alone(Cause cause, const Window& window, const HostThread& thread) const {
    return cause == Cause::kWaitsForRank && !rank().process_of(thread).without_cpu.is_recorded(thread, window);
  }
  void add_without_cpu(const Window& window, const HostThread& thread, double lost_ns,
                       Cause returns_from = Cause::kGpuBound) {
    const double quota_ns = rank().process_of(thread).throttled.take(thread, window, lost_ns);
    LostPart part{window, quota_ns, Cause::kCpuThrottle, member_, {&thread, nullptr, nullptr}};
    part.returns_from = returns_from;
    parts_.add(member_, part);
    part.ns = lost_ns - quota_ns;
    part.cause = Cause::kCpuContention;
    parts_.add(member_, part);
  }
  // Behind a call that the thread was in for that cause.
  void add_late_return(Cause cause, const Spot& spot, const Window& window, const HostThread& thread, double late_ns) {
    if (owners_.contains({member_, cause}))
      parts_.add(member_, {window, late_ns, cause, member_, spot});
    else
      add_without_cpu(window, thread, late_ns, cause);
  }
  // What its own work took longer on a slow CPU: less of it is left.
  double add_low_frequency(double own_ns, const Window& window, const HostThread& thread) {
    const double slow_ns = own_ns * (thread.process == 0 ? rank().frequency.lost_part(thread, window) : 0);
    parts_.add(member_, {window, slow_ns, Cause::kLowFrequency, member_, {&thread, nullptr, nullptr}});
    return own_ns - slow_ns;
  }
  // What it was blocked for in no call that is recorded, as far as that is known.
  double add_blocked(const Window& window, const HostThread& thread) {
    const KnownProcess& process = rank().process_of(thread);
    const std::optional<BlockedParts> parts = process.blocked_code.parts(thread);
    if (!parts) return 0;
    const double ns = process.without_cpu.blocked_of_own(thread, window);
    const bool is_recorded = process.without_cpu.is_recorded(thread, window);
    const double disk_ns = is_recorded ? 0 : parts->disk_of_own * window.length_ns();
    const double faults_ns = std::max(parts->faults * ns, disk_ns);
    parts_.add(member_, {window, parts->files * ns, Cause::kFileIo, member_, {&thread, nullptr, nullptr}});
    parts_.add(member_, {window, faults_ns, Cause::kPageFaults, member_, {&thread, nullptr, nullptr}});
    parts_.add(member_, {window, parts->others * ns, Cause::kUnexplained, member_, {&thread, nullptr, nullptr}});
    return (parts->files + parts->others) * ns + faults_ns;
  }
  // Of a time in no call: what is left of it as work. The rest is added here.
  double add_all_but_work(const Window& window, const HostThread& thread) {
    const double lost_ns = rank().process_of(thread).without_cpu.take_of_own(thread, window);
    add_without_cpu(window, thread, lost_ns);
    return add_low_frequency(window.length_ns() - lost_ns - add_blocked(window, thread), window, thread);
  }
  void add_own(Cause cause, const Spot& spot, const Window& window, const HostThread& thread) {
    if (is_peer_wait_alone(cause, window, thread)) return add(cause, spot, window);
    if (cause == Cause::kWaitsForRank)
      return add_peer_wait(spot, window, thread, rank().process_of(thread).without_cpu.take_of_own(thread, window));
    parts_.add(member_, {window, add_all_but_work(window, thread), cause, member_, spot});
  }
  // What is left of its own time without the pages that the kernel had to hand it.
  double add_page_faults(double own_ns, const Window& window, const HostThread& thread) {
    const double fault_ns = own_ns * rank().process_of(thread).own_code.fault_part(thread);
    parts_.add(member_, {window, fault_ns, Cause::kPageFaults, member_, {&thread, nullptr, nullptr}});
    return own_ns - fault_ns;
  }
  // What is left of its own time without its waits for threads that share its work, where these have too few CPUs.
  double add_pool_wait(double own_ns, const Window& window, const HostThread& thread) {
    if (!waits_for_pool(thread)) return own_ns;
    const KnownProcess& process = rank().process_of(thread);
    const std::optional<BlockedParts> parts = process.blocked_code.parts(thread);
    const double blocked_ns = process.without_cpu.blocked_of_own(thread, window) * (1 - (parts ? parts->sum() : 0));
    const double off_ns = std::min(own_ns, blocked_ns), on_ns = own_ns - off_ns;
    const double for_pool = parts && parts->sum() < 1 ? parts->pool / (1 - parts->sum()) : 0;
    const double pool_ns = for_pool * off_ns + rank().own_code().spinning_part(thread) * on_ns;
    const Cause cause = rank().pools->of_quota ? Cause::kCpuThrottle : Cause::kCpuContention;
    parts_.add(member_, {window, pool_ns, cause, member_, {&thread, nullptr, nullptr}});
    return own_ns - pool_ns;
  }
  bool waits_for_pool(const HostThread& thread) const { return rank().pools && thread.process == 0; }
  // In no call: by what samples of the thread say of such times.
  void add_own_code(Cause cause, const Spot& spot, const Window& window, const HostThread& thread) {
    if (cause == Cause::kGpuBound && thread.process == 0) return add_program_code(window, thread);
    const bool is_own = cause == Cause::kPythonOverhead || cause == Cause::kHostWork;
    const auto parts = is_own && thread.process == 0 ? rank().own_code().own_parts(thread, window) : std::nullopt;
    const bool is_divided = is_own || (thread.process != 0 && cause != Cause::kWaitsForRank);
    if (!parts && (!is_divided || !has_more_than_work(thread))) return add_own(cause, spot, window, thread);
    const double own_ns = add_all_but_own_code(window, thread);
    if (!parts) return parts_.add(member_, {window, own_ns, cause, member_, spot});
    parts_.add(member_, {window, parts->interpreter * own_ns, Cause::kPythonOverhead, member_, spot});
    parts_.add(member_, {window, parts->compiler * own_ns, Cause::kJitCompile, member_, spot});
    parts_.add(member_, {window, (1 - parts->interpreter - parts->compiler) * own_ns, Cause::kHostWork, member_, spot});
  }
  bool has_more_than_work(const HostThread& thread) const {
    return rank().process_of(thread).own_code.fault_part(thread) > 0 || waits_for_pool(thread);
  }
  double add_all_but_own_code(const Window& window, const HostThread& thread) {
    return add_pool_wait(add_page_faults(add_all_but_work(window, thread), window, thread), window, thread);
  }
  void add_program_code(const Window& window, const HostThread& thread) {
    const auto parts = rank().own_code().program_parts(thread);
    if (!parts && !has_more_than_work(thread))
      return add_own(Cause::kGpuBound, {&thread, nullptr, nullptr}, window, thread);
    const double own_ns = add_all_but_own_code(window, thread);
    if (!parts) return parts_.add(member_, {window, own_ns, Cause::kGpuBound, member_, {&thread, nullptr, nullptr}});
    // Of the time on a CPU, of which spinning is gone by now.
    const double working = waits_for_pool(thread) ? 1 - rank().own_code().spinning_part(thread) : 1;
    const double more = 1 / std::max(working, parts->sum());
    const auto add_part = [&](Cause cause, double part) {
      parts_.add(member_, {window, part * own_ns, cause, member_, {&thread, nullptr, nullptr}});
    };
    add_part(Cause::kGpuBound, 1 - more * parts->sum());
    add_part(Cause::kPythonOverhead, more * parts->python);
    add_part(Cause::kHostWork, more * parts->other);
  }
  // `still`: of what it was blocked for without being ready to run; the post was not all that it waited for.
  void add_return(Cause cause, Cause still, const Spot& spot, const Window& window, const HostThread& thread,
                  HostCallType type) {
    if (window.length_ns() <= 0) return;
    if (is_peer_wait_alone(cause, window, thread)) return add(cause, spot, window);
    const WayBack back = rank().process_of(thread).without_cpu.take_of_return(thread, type, window);
    if (cause == Cause::kWaitsForRank) return add_peer_wait(spot, window, thread, back.without_cpu_ns);
    const double rest_ns = window.length_ns() - back.without_cpu_ns - back.blocked_ns;
    parts_.add(member_, {window, rest_ns, cause, member_, spot});
    parts_.add(member_, {window, back.blocked_ns, still, member_, spot});
    add_late_return(cause, spot, window, thread, back.without_cpu_ns);
  }

  void explain_gpu(const Window& window) {
    const std::vector<GpuStretch>& gpu = rank().gpu;
    auto one = std::partition_point(gpu.begin(), gpu.end(),
                                    [&](const GpuStretch& stretch) { return stretch.end_ns <= window.begin_ns; });
    double at_ns = window.begin_ns;
    for (; one != gpu.end() && one->begin_ns < window.end_ns; ++one) {
      if (one->begin_ns > at_ns) explain_end({at_ns, one->begin_ns});
      const Window part{std::max(one->begin_ns, window.begin_ns), std::min(one->end_ns, window.end_ns)};
      explain_stretch(*one, part);
      at_ns = part.end_ns;
    }
    if (at_ns < window.end_ns) explain_end({at_ns, window.end_ns});
  }

  void explain_stretch(const GpuStretch& stretch, const Window& part) {
    switch (stretch.state) {
      case GpuState::kWorks:
        return add(Cause::kGpuBound, {}, part);
      case GpuState::kBlocks:
        return explain_copy(stretch, part);
      case GpuState::kTransfers:
        return explain_with_stops(part, stretch.end_ns, nullptr,
                                  [this](const Window& rest) { add(Cause::kTransfer, {}, rest); });
      case GpuState::kWaits:
        return explain_rank_wait(stretch, part);
      case GpuState::kUnknown:
        return add(Cause::kUnknown, {}, part);
      case GpuState::kIdle:
        return explain_gap(stretch, part);
    }
  }

  // Nothing else ran, and the host could launch nothing meanwhile.
  void explain_copy(const GpuStretch& stretch, const Window& part) {
    const CallNumber& launch = rank().graph->nodes[stretch.activity].launch;
    const HostThread& thread = thread_of(launch.thread);
    const HostCall& call = rank().graph->call(launch);
    const Cause cause = cause_of_driver(thread, call);
    add(cause == Cause::kPageableCopy ? cause : Cause::kGpuBound, {&thread, &call}, part);
  }

  // Data move by threads of all processes: a transfer, or a thread of ours that waits for one, that outlasts a stop of one of them has waited
  // for it.
  template <typename Explain>
  void explain_with_stops(const Window& part, double lasts_until_ns, const HostThread* delayed, Explain explain) {
    double at_ns = part.begin_ns;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      const Window rest{at_ns, part.end_ns};
      for (const Window& halt : overlapping(ranks_[i].halts(), rest)) {
        const Window inside{std::max(at_ns, halt.begin_ns), std::min(part.end_ns, halt.end_ns)};
        if (halt.end_ns > lasts_until_ns || inside.length_ns() <= 0) continue;
        if (inside.begin_ns > at_ns) explain(Window{at_ns, inside.begin_ns});
        parts_.add(member_, {inside, inside.length_ns(), Cause::kProcessStopped, i, {}, false, delayed});
        at_ns = inside.end_ns;
      }
    }
    if (at_ns < part.end_ns) explain(Window{at_ns, part.end_ns});
  }

  void explain_rank_wait(const GpuStretch& stretch, const Window& part) {
    if (stretch.operation == nullptr)
      return parts_.add(member_, {part, part.length_ns(), Cause::kWaitsForRank, member_, {}});
    const PathPlace& last = stretch.operation->last;
    if (last.activity == kNoActivity) return add(Cause::kUnexplained, {}, part);
    parts_.add_wait(
        member_,
        {part, part.length_ns(), {}, static_cast<std::int32_t>(last.part), met_before(stretch.activity, last.part)});
  }

  // The end of the collective before in which both were.
  double met_before(std::uint32_t activity, std::uint32_t other) const {
    for (std::uint32_t i = activity; i-- > 0;) {
      const ActivityNode& node = rank().graph->nodes[i];
      for (std::uint16_t w = 0; w < node.waits; ++w) {
        const PathOperation& operation = job_.operations[rank().graph->waits[node.first_wait + w]];
        for (const PathPlace& place : operation.arrivals)
          if (place.part == other) return node.end_ns;
      }
    }
    return kNeverNs;
  }

  // Before the first activity, or behind the last: the thread that makes the steps is all there is.
  void explain_end(const Window& part) {
    Reason reason;
    reason.dry = Cause::kSyncCalls;
    explain_thread(rank().thread, part, reason);
  }

  void explain_gap(const GpuStretch& gap, const Window& part) {
    const PathGraph& graph = *rank().graph;
    const CallNumber launch = gap.activity == kNoActivity ? CallNumber{} : graph.nodes[gap.activity].launch;
    if (launch.thread < 0) return add(Cause::kUnexplained, {}, part);
    const ActivityNode& node = graph.nodes[gap.activity];
    const double launch_ns = graph.call(launch).begin_ns, due_ns = launch_ns + node.lag_ns;
    Reason reason;
    tell_dryness(launch.thread, gap, reason);
    if (part.begin_ns < launch_ns)
      explain_thread(launch.thread, {part.begin_ns, std::min(part.end_ns, launch_ns)}, reason);
    add(reason.dry, spot_of_launching(reason, {&thread_of(launch.thread), &graph.call(launch)}),
        {std::max(part.begin_ns, launch_ns), std::min(part.end_ns, due_ns)});
    if (node.callback.thread >= 0) return add_callback(node.callback, {std::max(part.begin_ns, due_ns), part.end_ns});
    // Launched in time: what it waited for then is no host's matter.
    const Cause rest = node.collective ? Cause::kTransfer : Cause::kGpuBound;
    explain_with_stops({std::max(part.begin_ns, due_ns), part.end_ns}, gap.end_ns, nullptr,
                       [this, rest](const Window& one) { add(rest, {}, one); });
  }

  void add_callback(const CallNumber& number, const Window& window) {
    LostPart part{window, window.length_ns(), Cause::kHostWork, member_, {}};
    part.spot = {&thread_of(number.thread), &rank().graph->call(number)};
    part.on_gpu = true;
    parts_.add(member_, part);
  }
  // What the thread gave the GPU last before that call was a function of the program's: it is that function that the call waits for.
  static const HostCall* callback_before(const HostThread& thread, const HostCall& call) {
    for (auto i = thread.calls.rend() - (&call - thread.calls.data()); i != thread.calls.rend(); ++i)
      if (const HostCall* before = &*i; before->type == HostCallType::kLaunch)
        return before->function->role == HookRole::kLaunchCallback ? before : nullptr;
    return nullptr;
  }

  static std::span<const Window> overlapping(const std::vector<Window>& halts, const Window& window) {
    const auto first = std::partition_point(halts.begin(), halts.end(),
                                            [&](const Window& halt) { return halt.end_ns <= window.begin_ns; });
    const auto last =
        std::partition_point(first, halts.end(), [&](const Window& halt) { return halt.begin_ns < window.end_ns; });
    return {first, last};
  }

  // The call of that thread in which the GPU ran dry; nullptr: it was in none. A call that waits for its own copy was in it until the copy
  // had ended, whatever of the two seems to be later.
  const HostCall* call_when_dry(std::int32_t number, const GpuStretch& gap) const {
    const PathGraph& graph = *rank().graph;
    if (gap.ended != kNoActivity && graph.nodes[gap.ended].blocks && graph.nodes[gap.ended].launch.thread == number)
      return &graph.call(graph.nodes[gap.ended].launch);
    const HostThread& thread = thread_of(number);
    const std::ptrdiff_t at = thread.call_at(gap.dry_ns);
    if (at < 0) return nullptr;
    const HostCall& call = thread.calls[static_cast<std::size_t>(at)];
    return call.end_ns > gap.dry_ns ? &call : nullptr;
  }

  void tell_dryness(std::int32_t number, const GpuStretch& gap, Reason& reason) const {
    const HostCall* in = call_when_dry(number, gap);
    if (in == nullptr) return;
    const HostThread& thread = thread_of(number);
    const HostCall& call = *in;
    const Cause cause = call.type == HostCallType::kSynchronise ? Cause::kSyncCalls : cause_of_driver(thread, call);
    if (cause != Cause::kSyncCalls && cause != Cause::kAllocStall && cause != Cause::kPageableCopy &&
        cause != Cause::kJitCompile)
      return;
    reason.dry = cause;
    reason.dry_spot = {&thread, &call};
  }
  static Spot spot_of_launching(const Reason& reason, const Spot& own) {
    return reason.dry_spot.call == nullptr ? own : reason.dry_spot;
  }

  // While the process is stopped, so is each of its threads, whatever it was at.
  void explain_thread(std::int32_t number, const Window& window, const Reason& reason) {
    if (number < 0) return add(Cause::kUnexplained, {}, window);
    LookedAtThread& looked = looked_at_[member_][number];
    looked.when.add(window);
    looked.why = reason;
    double at_ns = window.begin_ns;
    for (const Window& halt : overlapping(rank().process_of(thread_of(number)).halts, window)) {
      const Window inside{std::max(at_ns, halt.begin_ns), std::min(window.end_ns, halt.end_ns)};
      if (inside.begin_ns > at_ns) explain_going(number, {at_ns, inside.begin_ns}, reason);
      add(Cause::kProcessStopped, {&thread_of(number)}, inside);
      at_ns = std::max(at_ns, inside.end_ns);
    }
    if (at_ns < window.end_ns) explain_going(number, {at_ns, window.end_ns}, reason);
  }

  void explain_going(std::int32_t number, const Window& window, const Reason& reason) {
    const HostThread& thread = thread_of(number);
    double at_ns = window.begin_ns;
    for (auto i = std::max<std::ptrdiff_t>(0, thread.call_at(at_ns)); i < std::ssize(thread.calls); ++i) {
      const HostCall& call = thread.calls[static_cast<std::size_t>(i)];
      if (call.begin_ns >= window.end_ns) break;
      if (call.end_ns <= at_ns) continue;
      const double begin_ns = std::max(at_ns, waits_since(number, call, reason));
      if (begin_ns > at_ns) explain_own(thread, {at_ns, begin_ns}, reason);
      const Window part{begin_ns, std::min(window.end_ns, call.end_ns)};
      explain_call(number, call, part, reason);
      at_ns = part.end_ns;
    }
    if (at_ns < window.end_ns) explain_own(thread, {at_ns, window.end_ns}, reason);
  }

  // Who wakes a thread, and waits for it next, is held up from its post on: what it does until it waits makes nothing later.
  double waits_since(std::int32_t number, const HostCall& call, const Reason& reason) const {
    const auto post_ns = handed_over(number, call);
    return post_ns && is_plain(cause_of_wait(number, call, reason)) ? *post_ns : call.begin_ns;
  }
  // When the thread woke the one that it waits for, and did nothing else since. Nothing: it did not.
  std::optional<double> handed_over(std::int32_t number, const HostCall& call) const {
    if (call.type != HostCallType::kWait) return std::nullopt;
    const double own_since_ns = &call == thread_of(number).calls.data() ? -1e300 : (&call)[-1].end_ns;
    return thread_of(call.waker).let_go_ns(number, {own_since_ns, call.begin_ns}, call.post_ns);
  }

  // The thread is in no call; where Python collects garbage meanwhile, on whichever thread, that is why.
  void explain_own(const HostThread& thread, const Window& part, const Reason& reason) {
    Spot spot = reason.spot;
    if (spot.call == nullptr) spot.thread = &thread;
    if (reason.is_inside()) spot.holder = &thread;
    const Cause cause = own_cause(thread, part, reason);
    if (!reason.is_inside() && cause == reason.dry) spot = spot_of_launching(reason, spot);
    const std::vector<Window>& collections = rank().graph->collections_of(thread);
    auto one = std::partition_point(collections.begin(), collections.end(),
                                    [&](const Window& collection) { return collection.end_ns <= part.begin_ns; });
    double at_ns = part.begin_ns;
    for (; one != collections.end() && one->begin_ns < part.end_ns; ++one) {
      const Window inside{std::max(one->begin_ns, at_ns), std::min(one->end_ns, part.end_ns)};
      if (inside.length_ns() <= 0) continue;
      if (inside.begin_ns > at_ns) add_own_code(cause, spot, {at_ns, inside.begin_ns}, thread);
      add(Cause::kGcPause, {&thread, nullptr, nullptr}, inside);
      at_ns = inside.end_ns;
    }
    if (at_ns < part.end_ns) add_own_code(cause, spot, {at_ns, part.end_ns}, thread);
  }

  // Of a wait for the GPU that goes on though nothing is left to wait for: it ended later than a replay says. Where its times are measured
  // nothing shows for what.
  Cause waits_on(Cause cause) const {
    if (cause != Cause::kSyncCalls) return cause;
    return rank().gpu_is_exact ? Cause::kUnexplained : Cause::kUnknown;
  }

  Cause own_cause(const HostThread& thread, const Window& part, const Reason& reason) const {
    if (reason.is_inside() || rank().gpu.empty()) return reason.cause;
    if (rank().pace.is_usual(thread, part)) return reason.dry;
    return rank().has_python ? Cause::kPythonOverhead : Cause::kHostWork;
  }

  // It gets shorter by itself, but for what is there already.
  void add_hidden_wait(std::int32_t number, const HostCall& call, const Window& part, const Reason& reason) {
    if (call.type == HostCallType::kWait && cause_of_wait(number, call, reason) == Cause::kDataloaderWait)
      add(Cause::kDataloaderWait, {&thread_of(number), &call}, part);
  }

  void explain_call(std::int32_t number, const HostCall& call, const Window& part, const Reason& reason) {
    const HostThread& thread = thread_of(number);
    const bool waits = call.type == HostCallType::kWait || call.type == HostCallType::kSynchronise;
    if (is_hidden_ && waits) return add_hidden_wait(number, call, part, reason);
    if (call.type == HostCallType::kWait) return explain_wait(number, call, part, reason);
    const CallCause found = cause_of_call(thread, call, reason);
    const bool is_own = found.sleeps || call.type == HostCallType::kLaunch || found.cause == Cause::kUnexplained ||
                        found.cause == Cause::kLaunchBound;
    if (reason.is_inside() && is_own) {
      Spot spot = reason.spot;
      spot.holder = &thread;
      if (found.sleeps) spot.holder_call = &call;
      return add(reason.cause, spot, part);
    }
    if (call.type == HostCallType::kSynchronise && !rank().gpu.empty()) {
      const HostCall* callback = callback_before(thread, call);
      return explain_with_stops(part, call.end_ns, &thread, [&](const Window& rest) {
        if (callback == nullptr)
          return add_return(found.cause, waits_on(found.cause), {&thread, &call}, rest, thread, call.type);
        add(Cause::kHostWork, {&thread, callback}, rest);
      });
    }
    const bool is_launching = found.cause == Cause::kLaunchBound;
    const Cause cause = is_launching ? reason.dry : found.cause;
    Spot spot = is_launching ? spot_of_launching(reason, {&thread, &call}) : Spot{&thread, &call};
    if (reason.is_inside() && spot.call == &call) spot.held_up = reason.spot.call;
    // A launch waits for nothing: what it misses it misses as the thread's own work does.
    if (call.type == HostCallType::kLaunch) return add_own(cause, spot, part, thread);
    add(cause, spot, part);
  }

  // Who hands a batch on shares the interpreter with who makes the next one: one that is slow to make keeps it longer. Without that work
  // there were no contention.
  bool is_behind_maker(const HostThread& thread, const HostCall& call) const {
    return thread.process != 0 && (call.waker < 0 || thread_of(call.waker).track->role == Role::kDataloader);
  }

  // A copy call that comes back only when its copy has ended, although that had to wait for work before it, is no launch, however short
  // it is: one of pinned memory would have come back at once.
  bool waits_for_its_copy(const HostThread& thread, const HostCall& call) const {
    constexpr double kHeldNs =
        20e3;  // calls of pinned memory take less, and the begin of a copy is known to some microseconds
    const PathGraph& graph = *rank().graph;
    const auto number = static_cast<std::size_t>(&thread - graph.host.threads.data());
    const std::vector<std::uint32_t>& activities = graph.sync_activities[number];
    const auto at = static_cast<std::size_t>(&call - thread.calls.data());
    if (!call.function->is(kCopies) || at >= activities.size() || activities[at] == kNoActivity) return false;
    const ActivityNode& node = graph.nodes[activities[at]];
    return node.blocks && node.begin_ns - call.begin_ns >= kHeldNs;
  }
  Cause or_its_copy(Cause cause, const HostThread& thread, const HostCall& call) const {
    return cause == Cause::kLaunchBound && waits_for_its_copy(thread, call) ? Cause::kPageableCopy : cause;
  }
  Cause cause_of_driver(const HostThread& thread, const HostCall& call) const {
    return or_its_copy(rank().process_of(thread).causes.of(call, thread.track->role).cause, thread, call);
  }

  CallCause cause_of_call(const HostThread& thread, const HostCall& call, const Reason& reason) const {
    CallCause found = rank().process_of(thread).causes.of(thread, call);
    found.cause = or_its_copy(found.cause, thread, call);
    if (found.cause == Cause::kGilContention && is_behind_maker(thread, call)) found.cause = reason.cause;
    if (found.cause != Cause::kUnexplained) return found;
    const Peer peer = rank().process_of(thread).causes.peer_of(call, peers_);
    // Another thread of the process wrote it.
    if (call.waker >= 0 && thread_of(call.waker).process == thread.process) return found;
    // Whoever on this machine sends what is read: what goes to the GPU next is the step's input.
    if (peer != Peer::kElsewhere && call.function != nullptr && call.function->role == HookRole::kRead &&
        is_copied_next(thread, call))
      found.cause = Cause::kDataloaderWait;
    else if (peer != Peer::kOfJob)
      found.cause = Cause::kRemoteWait;
    return found;
  }
  Cause cause_of_wait(std::int32_t number, const HostCall& call, const Reason& reason) const {
    if (cause_of_waker(number, call) == Cause::kProxyDelay) return Cause::kProxyDelay;
    const Cause cause = cause_of_call(thread_of(number), call, reason).cause;
    if (cause != Cause::kUnexplained) return cause;
    return reason.is_inside() ? reason.cause : cause_of_waker(number, call);
  }
  // It waits for work that another thread does in its place.
  static bool is_plain(Cause cause) { return cause == Cause::kHostWork || cause == Cause::kGpuBound; }

  // Until the post: what the thread did that made it; then the way back onto a CPU.
  void explain_wait(std::int32_t number, const HostCall& call, const Window& part, const Reason& reason) {
    Reason inner = reason;
    inner.threads.push_back(number);
    const Cause cause = cause_of_wait(number, call, reason);
    if (inner.spot.call == nullptr || cause != reason.cause) inner.spot = {&thread_of(number), &call};
    inner.cause = cause;
    const double post_ns = std::clamp(call.post_ns, part.begin_ns, part.end_ns);
    const bool goes_on = inner.threads.size() < kMostLinks &&
                         std::find(inner.threads.begin(), inner.threads.end(), call.waker) == inner.threads.end();
    if (post_ns > part.begin_ns && goes_on)
      explain_waker(number, call, {part.begin_ns, post_ns}, inner);
    else
      add(cause, inner.spot, {part.begin_ns, post_ns});
    add_return(is_plain(cause) ? Cause::kIdleStateExit : cause, cause,
               is_plain(cause) ? Spot{&thread_of(number), &call} : inner.spot, {post_ns, part.end_ns},
               thread_of(number), call.type);
  }

  // A batch is late by all that its worker did to make it, and only the last of that lies in the wait for it.
  void explain_waker(std::int32_t number, const HostCall& call, const Window& part, const Reason& reason) {
    const HostThread& writer = thread_of(call.waker);
    const double since_ns = writer.process == 0 || thread_of(number).process != 0
                                ? part.begin_ns
                                : std::min(part.begin_ns, made_since(writer, part.end_ns));
    if (since_ns < part.begin_ns) parts_.lay_over({since_ns, part.end_ns}, part);
    explain_thread(call.waker, {since_ns, part.end_ns}, reason);
    if (since_ns < part.begin_ns) parts_.lay_no_more();
  }
  // Since its last batch was gone the writer has waited for the one that it has then.
  static double made_since(const HostThread& writer, double until_ns) {
    for (std::ptrdiff_t i = writer.call_at(until_ns); i >= 0; --i) {
      const HostCall& call = writer.calls[static_cast<std::size_t>(i)];
      if (call.type == HostCallType::kWait && call.end_ns <= until_ns) return call.begin_ns;
    }
    return until_ns;
  }

  Cause cause_of_waker(std::int32_t number, const HostCall& call) const {
    // A process of its own works on by itself.
    if (thread_of(call.waker).process != 0 && thread_of(number).process == 0)
      return rank().inputs.has(number, call.waker) ? Cause::kDataloaderWait : Cause::kProducerWait;
    switch (thread_of(call.waker).track->role) {
      case Role::kPinMemory:
        return Cause::kDataloaderWait;
      case Role::kNcclProgress:
      case Role::kNcclService:
        return Cause::kProxyDelay;
      case Role::kGloo:
        return Cause::kWaitsForRank;
      case Role::kDataloader:
        return rank().gpu.empty() ? Cause::kDataloaderWait : cause_of_product(number, call);
      case Role::kOther:
        return cause_of_product(number, call);
      default:
        return own_work();
    }
  }
  Cause own_work() const { return rank().gpu.empty() ? Cause::kGpuBound : Cause::kHostWork; }
  // By what becomes of it. Whom the thread had only just given something to do, or who begins when
  // it is waited for, works in its place.
  Cause cause_of_product(std::int32_t number, const HostCall& call) const {
    if (handed_over(number, call)) return own_work();
    if (rank().inputs.has(number, call.waker)) return Cause::kDataloaderWait;
    return slopes_[member_].of(number, call.waker) >= 0.5 ? own_work() : Cause::kProducerWait;
  }

  const JobGraph& job_;
  LostParts& parts_;
  std::vector<Rank> ranks_;
  OutsidePeers peers_;
  const std::vector<WaitSlopes>& slopes_;  // of each rank
  const ReturnOwners& owners_;
  struct LookedAtThread {
    LookedAt when;
    Reason why;  // the last time
  };
  std::vector<std::map<std::int32_t, LookedAtThread>> looked_at_;  // of each rank, by thread
  std::uint32_t member_ = 0;                                       // that is explained
  bool is_hidden_ = false;
};

// Of ranks whose cost is known.
void add_own_cost(const std::vector<double>& before_ns, const std::vector<double>& now_ns,
                  std::vector<std::vector<double>>& step_ns) {
  step_ns.resize(now_ns.size());
  for (std::size_t i = 0; i < now_ns.size(); ++i)
    if (now_ns[i] >= 0) step_ns[i].push_back(now_ns[i] - before_ns[i]);
}

// All steps once, with the causes and gains of what they lost.
class ExplainedSteps {
 public:
  ExplainedSteps(const JobGraph& job, const std::vector<StepTimeMember>& members, const std::vector<double>& slow,
                 const std::vector<Window>& steps, const std::vector<WaitSlopes>& slopes, const ReturnOwners& owners,
                 Symbols& symbols)
      : job_(job),
        members_(members),
        slow_(slow),
        steps_(steps),
        slopes_(slopes),
        parts_(slow, on_gpu(), job.all_are_here),
        times_(members, symbols),
        gains_(job),
        own_(members),
        taken_cpus_(members),
        explanation_(job, members, steps, parts_, slopes, owners, symbols) {
    answer_.cpu_ns.resize(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) loaders_.emplace_back(job.parts[i], members[i]);
  }

  void add(const Window& step, bool is_shown) {
    parts_.enter(step);
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      explanation_.explain(i, step);
      answer_.cpu_ns[i] += explanation_.cpu_ns(i, step);
    }
    parts_.resolve();
    times_.add_step(parts_.parts());
    for (std::size_t i = 0; i < members_.size(); ++i) loaders_[i].add_step(step, parts_.parts()[i]);
    if (is_shown) answer_.worst = step_lanes(job_, members_, step, parts_.parts());
    const std::vector<double> before_ns = own_.ns();
    own_.add_step(parts_.parts());
    add_own_cost(before_ns, own_.ns(), answer_.own_step_ns);
    gains_.add_step(step.length_ns(), parts_.parts());
    if (has_gpus()) taken_cpus_.add_step(parts_.parts());
    returns_.add_step(step.length_ns(), parts_.parts());
    answer_.length_ns += step.length_ns();
    ++answer_.steps;
  }
  ReturnOwners owners() const { return returns_.owners(); }

  StepTime finish(const std::vector<PathEnds>& ends) {
    answer_.lost = times_.finish();
    answer_.own_ns = own_.ns();
    for (const LoaderUse& loader : loaders_) answer_.loaders.push_back(loader.time());
    for (const auto& [member, share] : check_idle_exits(members_, answer_))
      gains_.move(Cause::kIdleStateExit, Cause::kCpuContention, member, share);
    for (LostTime& lost : answer_.lost) explanation_.name_site(lost);
    move_longer_work(members_.size(), answer_.lost);
    std::vector<const ProcessAnswer*> processes;
    for (const StepTimeMember& member : members_) processes.push_back(member.answer);
    const GainFactors factors = name_transfer_causes(job_, processes, steps_, answer_);
    if (!has_gpus())
      answer_.gains = gains_.of_chains();
    else if (!ends.empty())
      answer_.gains = gains_of_replays(ends, factors);
    move_late_work(gains_, answer_);
    if (has_gpus()) taken_cpus_.move_lacks(answer_), move_what_follows(answer_);
    bound_gains(answer_);
    return std::move(answer_);
  }

 private:
  std::map<Cause, Gain> gains_of_replays(const std::vector<PathEnds>& ends, const GainFactors& factors) {
    const std::set<Cause> causes = heavy_causes(answer_, factors);
    if (causes.empty()) return {};
    for (const Window& step : steps_) {
      parts_.enter(step);
      for (std::uint32_t i = 0; i < members_.size(); ++i) explanation_.explain_hidden(i, step);
      gains_.add_hidden(parts_.parts());
      taken_cpus_.add_hidden(parts_.parts());
    }
    return gains_.of_replays(causes, steps_, ends, slow_, factors, slopes_);
  }
  // The work of one is known: without any, the host's work is what the program is there for.
  bool has_gpus() const {
    return std::any_of(job_.parts.begin(), job_.parts.end(),
                       [](const PathGraph& graph) { return !graph.nodes.empty(); });
  }
  // Ranks whose GPU's work is known.
  std::vector<char> on_gpu() const {
    std::vector<char> known;
    for (const PathGraph& graph : job_.parts) known.push_back(!graph.nodes.empty());
    return known;
  }

  const JobGraph& job_;
  const std::vector<StepTimeMember>& members_;
  const std::vector<double>& slow_;
  const std::vector<Window>& steps_;
  const std::vector<WaitSlopes>& slopes_;
  StepTime answer_;
  LostParts parts_;
  LostTimes times_;
  Gains gains_;
  ProbeCost own_;
  TakenCpus taken_cpus_;
  LateReturns returns_;
  Explanation explanation_;
  std::vector<LoaderUse> loaders_;
};

}  // namespace

StepTime answer_step_time(const JobGraph& job, const std::vector<StepTimeMember>& members,
                          const std::vector<double>& slow, const std::vector<Window>& steps,
                          const std::vector<PathEnds>& ends, Symbols& symbols, std::optional<std::size_t> shown) {
  const std::vector<WaitSlopes> slopes = wait_slopes(job.parts);
  const auto explain = [&](const ReturnOwners& owners) {
    auto explained = std::make_unique<ExplainedSteps>(job, members, slow, steps, slopes, owners, symbols);
    for (std::size_t i = 0; i < steps.size(); ++i) explained->add(steps[i], shown == i);
    return explained;
  };
  ReturnOwners owners;
  auto explained = explain(owners);
  owners = explained->owners();
  // Whose a late return is shows when all are added up.
  if (!owners.empty()) explained = explain(owners);
  return explained->finish(ends);
}

}  // namespace hostprobe::analysis
