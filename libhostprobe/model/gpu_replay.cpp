// gpu_replay.cpp: see gpu_replay.h.
#include "gpu_replay.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "gpu_learning.h"
#include "gpu_replay_state.h"

namespace hostprobe::analysis {
namespace {

using namespace replay;

constexpr double kDrift = 0.005;         // by which all durations of a stretch may be off together
constexpr double kStartErrorNs = 700;    // of the moment at which the GPU learns of a launch
constexpr double kTimedErrorNs = 1'000;  // of a timed end
// Of the returns of waits: as long as nothing else is known; and in all cases.
constexpr double kReturnSpreadNs = 20'000, kLeastReturnNs = 200, kMostReturnNs = 50'000;
constexpr double kQuickShare = 0.1;  // of all returns: those that are at once
constexpr double kToleranceNs = 5'000;
constexpr double kSure = 3;  // errors, as of a normal distribution
constexpr double kLeastScale = 0.5, kMostScale = 2;
constexpr int kCorrections = 2;
constexpr int kMostLearned = 3;       // kinds in a row that nobody timed
constexpr double kSameEndNs = 3'000;  // all ranks of a collective end within it

struct PartHash {
  std::size_t operator()(const GpuPart& part) const {
    return (part.communicator ^ part.between * 0x9e3779b97f4a7c15u ^ part.number) * 0xff51afd7ed558ccdu >> 7;
  }
};
struct PartSame {
  bool operator()(const GpuPart& l, const GpuPart& r) const { return l.is_same(r); }
};

// As std::hypot, which is newer than the oldest libc that this runs on.
double root_of_squares(double one, double other) { return std::sqrt(one * one + other * other); }

class Replay {
 public:
  explicit Replay(const std::vector<const GpuWork*>& works) {
    for (const GpuWork* work : works) processes_.emplace_back(*work);
    for (Process& process : processes_) meet(process);
    learn_moved(state_);
  }

  std::vector<OpTimes> run() {
    pass();
    learn_guessed(state_);
    pass();
    for (int i = 0; i < kMostLearned && learn_waited(state_); ++i) pass();
    bool any_heard = false;
    for (Process& process : processes_) any_heard = hear_of_unseen(process) || any_heard;
    if (any_heard) pass();
    for (int i = 0; i < kCorrections; ++i) {
      if (i > 0) pass();
      for (Process& process : processes_) hear_of_callbacks(process), correct(process);
    }
    pass();
    std::vector<OpTimes> all;
    for (Process& process : processes_) {
      end_in_time(process);
      all.push_back(std::move(process.times));
    }
    return all;
  }

 private:
  // What a timed op waited for had ended when that began, whatever the replay says: so had all before.
  static void end_in_time(Process& process) {
    for (std::size_t i = process.times.size(); i-- > 0;) {
      const std::uint32_t number = process.times[i].bound_by;
      if (number == kNoOp || process.work->ops[number].is_timed()) continue;
      OpTime& before = process.times[number];
      if (before.end_ns <= process.times[i].begin_ns) continue;
      before.end_ns = process.times[i].begin_ns;
      before.begin_ns = std::min(before.begin_ns, before.end_ns);
    }
  }

  void meet(Process& process) {
    for (const GpuPart& part : process.work->parts) {
      const auto [at, is_new] = meeting_at_.try_emplace(part, static_cast<std::uint32_t>(meetings_.size()));
      if (is_new) meetings_.emplace_back();
      Meeting& meeting = meetings_[at->second];
      ++meeting.known;
      meeting.size = std::max(meeting.size, part.size);
      meeting.arrivals += part.arrives;
      process.meetings.push_back(at->second);
    }
    for (const GpuOp& op : process.work->ops)
      if (op.is_timed() && ends_together(process, op))
        meetings_[process.meetings[op.first_part]].timed_ns = op.timed_ns;
  }

  static bool ends_together(const Process& process, const GpuOp& op) {
    if (op.parts != 1) return false;
    const GpuPart& part = process.work->parts[op.first_part];
    return part.arrives && part.waits && part.between == 0 && part.size > 0;
  }

  void reset() {
    for (Meeting& meeting : meetings_) {
      meeting.to_come = meeting.arrivals;
      meeting.last_ns = -1e300;
      meeting.waiting.clear();
    }
    for (Process& process : processes_) {
      const std::size_t streams = process.work->streams.size();
      process.times.assign(process.work->ops.size(), {});
      process.done.assign(process.work->ops.size(), 0);
      process.waiting.clear();
      process.next.assign(streams, 0);
      process.last.assign(streams, kNoOp);
      process.arrived.assign(streams, 0);
    }
  }

  void pass() {
    reset();
    for (std::uint32_t p = 0; p < processes_.size(); ++p)
      for (std::uint32_t s = 0; s < processes_[p].next.size(); ++s) ready_.push_back({p, s});
    do {
      while (!ready_.empty()) {
        const Place place = ready_.front();
        ready_.pop_front();
        go_on(place);
      }
    } while (force_one());
  }

  // As far as nothing is missing.
  void go_on(const Place& place) {
    Process& process = processes_[place.process];
    const std::vector<std::uint32_t>& ops = process.work->streams[place.stream].ops;
    std::size_t& next = process.next[place.stream];
    while (next < ops.size() && run_op(process, place, ops[next], false)) ++next;
  }

  // Calls of ranks that nobody saw, or saw in part, can hold all up: the stream whose next op was called first goes on.
  bool force_one() {
    const Place none{~std::uint32_t{0}, 0};
    Place first = none;
    double first_ns = 1e300;
    for (std::uint32_t p = 0; p < processes_.size(); ++p)
      for (std::uint32_t s = 0; s < processes_[p].next.size(); ++s) {
        const std::vector<std::uint32_t>& ops = processes_[p].work->streams[s].ops;
        if (processes_[p].next[s] >= ops.size()) continue;
        const double ns = processes_[p].work->ops[ops[processes_[p].next[s]]].begin_ns;
        if (ns < first_ns) first = {p, s}, first_ns = ns;
      }
    if (first.process == none.process) return false;
    Process& process = processes_[first.process];
    std::size_t& next = process.next[first.stream];
    run_op(process, first, process.work->streams[first.stream].ops[next], true);
    ++next;
    ready_.push_back(first);
    return true;
  }

  // False: it waits for what is not known yet.
  bool run_op(Process& process, const Place& place, std::uint32_t number, bool forced) {
    const GpuOp& op = process.work->ops[number];
    if (op.other != kNoOp && process.done[op.other] == 0 && !forced) {
      process.waiting[op.other].push_back(place);
      return false;
    }
    OpTime& time = process.times[number];
    begin(process, place, op, time);
    if (op.is_timed()) begin_before_end(process, op, time);
    double last_ns = time.begin_ns;
    bool is_known = true;
    if (op.parts > 0 && !come_together(process, place, op, time, forced, last_ns, is_known)) return false;
    end(process, number, op, time, last_ns, is_known);
    // Behind another op the pause between both counts as busy; before the first one nothing ran.
    if (time.bound_by == kNoOp && is_work(op.type))
      time.begin_ns = std::min(time.begin_ns + process.durations.pause_ns(), time.end_ns);
    finish(process, place, number);
    return true;
  }

  static void begin(Process& process, const Place& place, const GpuOp& op, OpTime& time) {
    const bool works = is_work(op.type);
    time.begin_ns = works ? op.told_ns + process.durations.start_ns() : op.begin_ns;
    time.begin_error_ns = static_cast<float>(kStartErrorNs);
    time.bound_by = kNoOp;
    time.unseen = false;
    for (const std::uint32_t before : {process.last[place.stream], op.other}) {
      if (before == kNoOp || process.done[before] == 0) continue;
      const OpTime& other = process.times[before];
      if (other.unseen) {  // it may have begun much later than it could
        time.unseen = true;
        time.begin_ns = std::max(time.begin_ns, other.end_ns);
        time.begin_error_ns = kUnknownNs;
        time.bound_by = before;
        continue;
      }
      if (other.end_ns <= time.begin_ns) continue;
      time.begin_ns = other.end_ns;
      if (time.unseen) continue;
      time.begin_error_ns = other.end_error_ns;
      time.bound_by = before;
    }
    // Whatever the replay says: the stream was empty when the call began.
    if (std::isfinite(op.drained_ns) && op.other == kNoOp && works &&
        (time.unseen || time.begin_ns > op.told_ns + process.durations.start_ns())) {
      time.begin_ns = op.told_ns + process.durations.start_ns();
      time.begin_error_ns = static_cast<float>(kStartErrorNs);
      time.bound_by = kNoOp;
      time.unseen = false;
    }
  }

  // What is timed is not late, whatever ran before it in the replay. How long it waited for others nobody knows.
  static void begin_before_end(const Process& process, const GpuOp& op, OpTime& time) {
    const OpDuration& usual = process.durations.of(duration_kind(*process.work, op));
    if (usual.guessed) return;
    const double latest_ns = std::max(op.begin_ns, op.timed_ns - usual.ns);
    if (time.begin_ns > latest_ns) time.begin_ns = latest_ns;
  }

  // Tells others that it is there. False: others are to come; `last_ns` is when the last of those was there that it waits for.
  bool come_together(Process& process, const Place& place, const GpuOp& op, OpTime& time, bool forced, double& last_ns,
                     bool& is_known) {
    const GpuPart* parts = process.work->parts.data() + op.first_part;
    const std::uint32_t* numbers = process.meetings.data() + op.first_part;
    if (process.arrived[place.stream] == 0) {
      process.arrived[place.stream] = 1;
      for (std::uint32_t i = 0; i < op.parts; ++i)
        if (parts[i].arrives) arrive(meetings_[numbers[i]], time);
    }
    for (std::uint32_t i = 0; i < op.parts; ++i) {
      Meeting& meeting = meetings_[numbers[i]];
      if (!parts[i].waits) continue;
      if (!meeting.is_known() || (forced && meeting.to_come > 0)) {
        is_known = false;
        continue;
      }
      if (meeting.to_come > 0) {
        meeting.waiting.push_back(place);
        return false;
      }
      if (meeting.last_ns > last_ns) last_ns = meeting.last_ns, time.end_error_ns = meeting.error_ns;
    }
    return true;
  }

  void arrive(Meeting& meeting, const OpTime& time) {
    --meeting.to_come;
    if (time.begin_ns > meeting.last_ns) {
      meeting.last_ns = time.begin_ns;
      meeting.error_ns = time.begin_error_ns;
    }
    if (meeting.to_come > 0) return;
    for (const Place& place : meeting.waiting) ready_.push_back(place);
    meeting.waiting.clear();
  }

  void end(const Process& process, std::uint32_t number, const GpuOp& op, OpTime& time, double last_ns, bool is_known) {
    const float before = last_ns > time.begin_ns ? time.end_error_ns : time.begin_error_ns;
    time.guessed = time.heard = false;
    time.end_ns = last_ns;
    time.end_error_ns = before;
    if (op.type == GpuOpType::kMark || op.type == GpuOpType::kJoin) return;
    const OpDuration& usual = process.durations.of(duration_kind(*process.work, op));
    const double scale = process.scale.empty() ? 1 : static_cast<double>(process.scale[number]);
    const double usual_ns = op.collective ? usual.ns : process.durations.pace_at(last_ns) * usual.ns;
    time.end_ns += scale * usual_ns;
    const auto wait = process.waits.find(number);
    if (wait != process.waits.end()) time.end_ns += wait->second;
    const bool is_heard = op.type == GpuOpType::kCallback && wait != process.waits.end();
    // Of a copy the bytes tell about how long it can take; of what nobody timed otherwise nothing does.
    const bool is_guess = usual.guessed && !is_heard && op.type != GpuOpType::kCopy && op.type != GpuOpType::kFill;
    const bool is_open = !is_known || is_guess;
    const double own_error =
        root_of_squares(static_cast<double>(before), is_heard ? kToleranceNs : usual.spread_ns) + kDrift * usual.ns;
    time.guessed = is_open;
    time.heard = is_open && op.collective && wait != process.waits.end();
    time.unseen = time.unseen || (op.collective && !time.is_known());
    time.end_error_ns = time.is_known() ? static_cast<float>(std::min<double>(own_error, kUnknownNs)) : kUnknownNs;
    const auto pinned = process.pinned.find(number);
    if (op.is_timed())  // but where neither its begin nor its duration is known it may as well have waited
      tell_end(op.timed_ns, kTimedErrorNs, time), time.guessed = is_guess && time.begin_error_ns >= kUnknownNs;
    else if (pinned != process.pinned.end())
      // What ended it is still not known: a rank that nobody saw, or a host that came late.
      tell_end(pinned->second, std::min<double>(kToleranceNs, time.end_error_ns), time), time.guessed = is_open;
    else if (ends_together(process, op) && meetings_[process.meetings[op.first_part]].timed_ns >= time.begin_ns)
      tell_end(meetings_[process.meetings[op.first_part]].timed_ns, kSameEndNs, time);
    else if (time.end_ns > op.latest_ns)
      tell_end(op.latest_ns, std::min<double>(kToleranceNs, time.end_error_ns), time);
  }

  static void tell_end(double ns, double error_ns, OpTime& time) {
    time.end_ns = ns;
    time.begin_ns = std::min(time.begin_ns, ns);
    time.end_error_ns = static_cast<float>(error_ns);
    time.guessed = time.unseen = false;
  }

  void finish(Process& process, const Place& place, std::uint32_t number) {
    process.done[number] = 1;
    process.last[place.stream] = number;
    process.arrived[place.stream] = 0;
    if (process.waiting.empty()) return;
    const auto waiting = process.waiting.find(number);
    if (waiting == process.waiting.end()) return;
    for (const Place& other : waiting->second) ready_.push_back(other);
    process.waiting.erase(waiting);
  }

  // How much later than the last op's end its wait returns.
  struct Return {
    double ns = kUsualReturnNs, spread_ns = kReturnSpreadNs;
  };

  // By what the replay says of all waits: a thread is at once there now and then, and late by chance or for lack of a CPU.
  static Return usual_return(const Process& process) {
    std::vector<float> returns;
    for (const GpuSync& sync : process.work->syncs)
      if (sync.end_ns - sync.begin_ns >= kBlockedNs && !is_known_copy(process, sync) &&
          process.times[sync.op].end_ns > sync.begin_ns && !process.times[sync.op].guessed)
        returns.push_back(static_cast<float>(std::max(0.0, sync.end_ns - process.times[sync.op].end_ns)));
    if (returns.size() < kFewestReturns) return {};
    const auto quick = returns.begin() + static_cast<std::ptrdiff_t>(kQuickShare * static_cast<double>(returns.size()));
    std::nth_element(returns.begin(), quick, returns.end());
    Return usual;
    usual.ns = std::clamp(static_cast<double>(*quick), kLeastReturnNs, kMostReturnNs);
    usual.spread_ns = std::max(kToleranceNs, robust_duration(returns).spread_ns);
    return usual;
  }

  static void correct(Process& process) {
    const std::vector<GpuSync>& syncs = process.work->syncs;
    const Return usual = usual_return(process);
    process.heard.clear();
    for (std::size_t begin = 0; begin < syncs.size();) {
      std::size_t end = begin, latest = begin;
      for (; end < syncs.size() && syncs[end].begin_ns == syncs[begin].begin_ns &&
             syncs[end].end_ns == syncs[begin].end_ns;
           ++end)
        if (process.times[syncs[end].op].end_ns > process.times[syncs[latest].op].end_ns) latest = end;
      process.heard[syncs[latest].op] = correct(process, syncs[latest], usual);
      begin = end;
    }
  }

  // A rank was in it that left no trace, and nothing has told yet how long it waited.
  static bool is_unseen(const Process& process, std::uint32_t number) {
    return process.work->ops[number].collective && !process.times[number].is_known();
  }

  // By how much later it began than the replay says, where it is timed and lasted as long as usual; 0: not for certain.
  static double later_ns(const Process& process, std::uint32_t number) {
    const GpuOp& op = process.work->ops[number];
    const OpDuration& usual = process.durations.of(duration_kind(*process.work, op));
    if (!op.is_timed() || !is_work(op.type) || op.collective || usual.guessed) return 0;
    const double by_ns = op.timed_ns - usual.ns - process.times[number].begin_ns;
    return by_ns > std::max(kBlockedNs, kSure * usual.spread_ns) ? by_ns : 0;
  }

  // What waited for ranks that nobody saw waited as long as timed work behind it says. Whether any did.
  static bool hear_of_unseen(Process& process) {
    std::unordered_map<std::uint32_t, double> heard;
    for (std::uint32_t number = 0; number < process.times.size(); ++number) {
      const double by_ns = later_ns(process, number);
      if (by_ns <= 0) continue;
      double begin_ns = process.times[number].begin_ns + by_ns;
      for (std::uint32_t at = process.times[number].bound_by; at != kNoOp; at = process.times[at].bound_by) {
        const OpTime& time = process.times[at];
        if (process.work->ops[at].is_timed()) break;
        if (is_unseen(process, at)) {
          heard[at] = std::max(heard[at], begin_ns - time.end_ns);
          break;
        }
        begin_ns -= time.end_ns - time.begin_ns;
      }
    }
    for (const auto& [at, ns] : heard) process.waits[at] += ns;
    return !heard.empty();
  }

  // A function of the program's lasts as it likes. Work behind it that is timed began as much before its end as it usually lasts.
  static void hear_of_callbacks(Process& process) {
    for (const GpuStream& stream : process.work->streams) {
      std::uint32_t callback = kNoOp, behind = kNoOp;  // since the last that was timed, and what came next
      for (const std::uint32_t number : stream.ops) {
        const GpuOp& op = process.work->ops[number];
        if (op.type == GpuOpType::kCallback)
          callback = number, behind = kNoOp;
        else if (callback != kNoOp && behind == kNoOp)
          behind = number;
        if (callback != kNoOp && op.is_timed()) hear_of_callback(process, callback, behind, number);
        if (op.is_timed() || (is_work(op.type) && process.times[number].guessed)) callback = kNoOp;
      }
    }
    learn_callbacks(process);
  }
  static void hear_of_callback(Process& process, std::uint32_t callback, std::uint32_t behind, std::uint32_t timed) {
    const double by_ns = later_ns(process, timed);
    if (by_ns <= 0) return;
    // What is behind it may have been told of later than it seemed to end.
    const double since_ns = std::max(process.times[callback].end_ns, process.times[behind].begin_ns);
    process.waits[callback] += since_ns + by_ns - process.times[callback].end_ns;
  }

  // Of those behind which nothing is timed.
  static void learn_callbacks(Process& process) {
    std::unordered_map<std::uint32_t, std::vector<float>> lasted;
    for (const auto& [at, ns] : process.waits) {
      const GpuOp& op = process.work->ops[at];
      if (op.type == GpuOpType::kCallback && process.durations.of(op.kind).guessed)
        lasted[op.kind].push_back(static_cast<float>(process.durations.of(op.kind).ns + ns));
    }
    for (auto& [kind, ns] : lasted) {
      if (ns.size() < kFewestReturns) continue;
      const double guess_ns = process.durations.of(kind).ns;
      process.durations.learn(kind, robust_duration(ns));
      for (auto& [at, wait_ns] : process.waits)
        if (process.work->ops[at].kind == kind) wait_ns += guess_ns - process.durations.of(kind).ns;
    }
  }

  // What a wait that returned says of the last op before it.
  static double correct(Process& process, const GpuSync& sync, const Return& usual) {
    const OpTime& time = process.times[sync.op];
    if (process.work->ops[sync.op].is_timed()) return 0;
    const bool blocked = sync.end_ns - sync.begin_ns >= kBlockedNs;
    const double most_ns = blocked ? sync.end_ns : sync.begin_ns;
    const double likely_ns = blocked ? std::max(sync.begin_ns, sync.end_ns - usual.ns) : most_ns;
    double by_ns = 0;
    if (time.end_ns > most_ns)
      by_ns = likely_ns - time.end_ns;
    else if (blocked && !is_known_copy(process, sync) && time.end_ns < likely_ns - kToleranceNs)
      by_ns = std::min(trust_in_return(time, usual) * (likely_ns - time.end_ns),
                       kSure * static_cast<double>(time.end_error_ns));
    if (std::abs(by_ns) > kToleranceNs) spread(process, sync.op, by_ns);
    if (time.guessed || by_ns < 0) process.pinned[sync.op] = std::min(likely_ns, time.end_ns + by_ns);
    return std::abs(by_ns) > kToleranceNs ? by_ns : 0;
  }

  // A thread that lacks a CPU returns late too. So the replay and the return are heard by how exact either is.
  static double trust_in_return(const OpTime& time, const Return& usual) {
    const auto error_ns = static_cast<double>(time.end_error_ns);
    return error_ns * error_ns / (error_ns * error_ns + usual.spread_ns * usual.spread_ns);
  }

  // Its call goes on for reasons of its own when the copy has ended.
  static bool is_known_copy(const Process& process, const GpuSync& sync) {
    const GpuOp& op = process.work->ops[sync.op];
    return op.blocks && op.begin_ns == sync.begin_ns && !process.durations.of(op.kind).guessed;
  }

  // Over what ran since the last thing known. What waited for ranks that nobody saw waited as long.
  static void spread(Process& process, std::uint32_t number, double by_ns) {
    double all_ns = 0, begin_ns = process.times[number].end_ns;  // of what came behind
    std::vector<std::uint32_t> chain;
    for (std::uint32_t at = number; at != kNoOp;
         begin_ns = process.times[at].begin_ns, at = process.times[at].bound_by) {
      const GpuOp& op = process.work->ops[at];
      if (op.is_timed() || (at != number && process.pinned.contains(at))) break;
      // What an earlier wait has told moves all behind it already.
      if (const auto heard = process.heard.find(at); at != number && heard != process.heard.end()) {
        by_ns -= heard->second;
        break;
      }
      if (!is_work(op.type) && op.type != GpuOpType::kCallback) continue;
      if (process.times[at].guessed && by_ns > 0) {
        const double late_ns = std::max(0.0, begin_ns - process.times[at].end_ns);
        process.waits[at] = std::max(0.0, process.waits[at] + by_ns + late_ns);
        return;
      }
      all_ns += process.times[at].end_ns - process.times[at].begin_ns;
      chain.push_back(at);
    }
    if (all_ns <= 0) return;
    if (process.scale.empty()) process.scale.assign(process.work->ops.size(), 1);
    const double factor = std::clamp(1 + by_ns / all_ns, kLeastScale, kMostScale);
    for (const std::uint32_t at : chain) process.scale[at] *= static_cast<float>(factor);
  }

  State state_;
  std::vector<Process>& processes_ = state_.processes;
  std::vector<Meeting>& meetings_ = state_.meetings;
  std::unordered_map<GpuPart, std::uint32_t, PartHash, PartSame> meeting_at_;
  std::deque<Place> ready_;
};

}  // namespace

std::vector<OpTimes> replay_gpus(const std::vector<const GpuWork*>& works) { return Replay(works).run(); }

}  // namespace hostprobe::analysis
