// collective_join.cpp: see collective_join.h.
#include "collective_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "chance.h"

namespace hostprobe::analysis {
namespace {

// Two threads of a rank may enter their calls in another order than they got their numbers.
constexpr std::uint32_t kLateBy = 64;

// One operation of all ranks.
class Meeting {
 public:
  void add(const CollectiveCall& call, const CollectiveMember& member) {
    const std::uint64_t begin_ns = on_axis(call.begin_ns, member);
    if (seen_ == 0 || begin_ns < first_ns_) {
      first_ns_ = begin_ns;
      size_ = call.size;
      bytes_ = call.bytes;
    }
    if (seen_ == 0 || begin_ns > last_ns_) {
      second_last_ns_ = seen_ == 0 ? begin_ns : last_ns_;
      last_ns_ = begin_ns;
      last_rank_ = member.rank.value_or(call.rank);
    } else if (seen_ == 1 || begin_ns > second_last_ns_) {
      second_last_ns_ = begin_ns;
    }
    if (seen_ == 0) host_ = &member.host;
    one_host_ = one_host_ && *host_ == member.host;
    aligned_ = aligned_ && member.clock.has_value();
    if (member.clock) clock_error_ns_ = std::max(clock_error_ns_, member.clock->error_ns);
    ++seen_;
    if (call.gpu_end_ns != 0 && std::isfinite(call.gpu_error_ns)) add_kernel(call, member);
    if (member.samples.empty()) return;
    // One that may be wrong by more than an eighth of itself tells nothing.
    const auto found = member.samples.find({call.communicator, call.sequence});
    if (found != member.samples.end() && found->second.slack_ns <= found->second.gpu_ns / 4)
      samples_.push_back(found->second);
  }
  bool all_seen() const { return seen_ == static_cast<std::uint32_t>(std::max(size_, 1)); }
  void add_to(const std::string& name, JoinedOperation& operation) const {
    ++operation.count;
    operation.bytes += bytes_;
    const bool comparable = (one_host_ || aligned_) && all_seen();
    if (!kernels_.empty()) add_gpu_to(name, comparable && kernels_.size() == seen_, operation);
    if (!samples_.empty()) add_samples_to(name, operation.sampled);
    if (!comparable) {
      ++operation.partly_seen;
      return;
    }
    if (size_ < 2) return;
    operation.skew.add(static_cast<double>(last_ns_ - first_ns_));
    LastRank& last = operation.last[last_rank_];
    ++last.count;
    last.again += operation.last_before == last_rank_;
    last.late.add(static_cast<double>(last_ns_ - second_last_ns_));
    operation.last_before = last_rank_;
    if (!one_host_) operation.clock_error_ns = std::max(operation.clock_error_ns, clock_error_ns_);
  }

 private:
  struct Kernel {
    std::uint64_t begin_ns, end_ns;
  };

  static std::uint64_t on_axis(std::uint64_t ns, const CollectiveMember& member) {
    return member.clock ? member.clock->to_reference(ns) : ns;
  }
  void add_kernel(const CollectiveCall& call, const CollectiveMember& member) {
    kernels_.push_back({on_axis(call.gpu_begin_ns, member), on_axis(call.gpu_end_ns, member)});
    shares_kernel_ = shares_kernel_ || call.shares_kernel;
  }
  // A kernel of a whole group tells how long the group took, not each of its operations.
  void add_gpu_to(const std::string& name, bool all, JoinedOperation& operation) const {
    if (shares_kernel_) return;
    CollectiveSize& size = operation.sizes[size_class(bytes_)];
    Kernel last = kernels_.front();
    for (const Kernel& kernel : kernels_) {
      size.gpu.add(static_cast<double>(kernel.end_ns - kernel.begin_ns));
      last = {std::max(last.begin_ns, kernel.begin_ns), std::max(last.end_ns, kernel.end_ns)};
    }
    if (!all) return;
    for (const Kernel& kernel : kernels_) operation.gpu_wait.add(static_cast<double>(last.begin_ns - kernel.begin_ns));
    if (last.end_ns <= last.begin_ns) return;
    size.transfer.add(static_cast<double>(last.end_ns - last.begin_ns));
    size.bus_bytes += bus_bytes(name, bytes_, static_cast<std::uint32_t>(std::max(size_, 1)));
  }

  // By each rank's own clock, so those of several hosts may be put together too.
  void add_samples_to(const std::string& name, SampledTimes& sampled) const {
    double least_ns = samples_.front().middle_ns();
    for (const CollectiveSample& sample : samples_) {
      sampled.gpu.add(sample.middle_ns());
      sampled.most_slack_ns = std::max(sampled.most_slack_ns, sample.slack_ns);
      least_ns = std::min(least_ns, sample.middle_ns());
    }
    if (!all_seen() || samples_.size() != seen_ || least_ns <= 0) return;
    for (const CollectiveSample& sample : samples_) sampled.wait.add(sample.middle_ns() - least_ns);
    sampled.transfer.add(least_ns);
    sampled.bus_bytes += bus_bytes(name, bytes_, static_cast<std::uint32_t>(std::max(size_, 1)));
  }

  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t second_last_ns_ = 0;
  std::uint64_t bytes_ = 0;
  std::int32_t size_ = 0;
  int last_rank_ = -1;
  const std::string* host_ = nullptr;
  bool one_host_ = true, aligned_ = true, shares_kernel_ = false;
  double clock_error_ns_ = 0;
  std::uint32_t seen_ = 0;
  std::vector<Kernel> kernels_;
  std::vector<CollectiveSample> samples_;
};

class Join {
 public:
  explicit Join(std::vector<CollectiveMember>& members) {
    for (CollectiveMember& member : members) {
      for (const auto& [communicator, spans] : member.own->ranks)
        for (const auto& [rank, span] : spans) add_lane(communicator, rank, span);
      for (CollectiveSource& source : member.sources) add_stream(std::move(source), member);
    }
    for (auto& [id, communicator] : communicators_) communicator.find_slowest();
  }

  CollectiveJoin run() {
    while (true) {
      bool any = false, all_ended = true;
      for (Stream& stream : streams_) {
        any = read_on(stream) || any;
        all_ended = all_ended && stream.ended;
      }
      for (auto& [id, communicator] : communicators_) close_passed(id, communicator);
      if (all_ended) break;
      if (!any) take(*furthest_behind());
    }
    for (auto& [id, communicator] : communicators_) close_all(id, communicator);
    return std::move(result_);
  }

 private:
  using Open = std::map<std::pair<std::uint32_t, const std::string*>, Meeting>;  // by running number first

  // How far one rank has come.
  struct Lane {
    std::uint32_t reached = 0;
    std::uint32_t end = 0;  // its last operation
  };
  struct Communicator {
    std::map<std::int32_t, Lane> lanes;
    std::map<const std::string*, JoinedOperation*> operations = {};  // of the result, by their names
    Open open = {};
    std::uint32_t slowest = 0;  // all ranks that have operations left have come so far

    void find_slowest() {
      slowest = UINT32_MAX;
      for (const auto& [rank, lane] : lanes)
        if (lane.reached < lane.end) slowest = std::min(slowest, lane.reached);
    }
    bool is_near(const CollectiveCall& call) const { return call.sequence <= std::uint64_t{slowest} + kJoinAhead; }
  };
  struct Stream {
    CollectiveSource source;
    const CollectiveMember* member;
    CollectiveCall head;
    bool ended = false;
    // Of the head.
    Communicator* communicator = nullptr;
    Lane* lane = nullptr;
  };

  void add_lane(std::uint64_t communicator, std::int32_t rank, const CollectiveSpan& span) {
    const auto [found, fresh] = communicators_[communicator].lanes.try_emplace(rank);
    Lane& lane = found->second;
    const std::uint32_t before = span.first.sequence - 1;
    lane.reached = fresh ? before : std::min(lane.reached, before);
    lane.end = std::max(lane.end, span.last.sequence);
  }

  void add_stream(CollectiveSource source, const CollectiveMember& member) {
    Stream& stream = streams_.emplace_back(Stream{std::move(source), &member, {}});
    advance(stream);
  }

  void advance(Stream& stream) {
    const std::uint64_t communicator = stream.head.communicator;
    const std::int32_t rank = stream.head.rank;
    stream.ended = !stream.source(stream.head);
    if (stream.ended) return;
    if (stream.lane != nullptr && stream.head.communicator == communicator && stream.head.rank == rank) return;
    stream.communicator = &communicators_[stream.head.communicator];
    stream.lane = &stream.communicator->lanes[stream.head.rank];
  }

  // As far as it may now. False: not a step.
  bool read_on(Stream& stream) {
    bool any = false;
    while (!stream.ended && stream.communicator->is_near(stream.head)) {
      take(stream);
      any = true;
    }
    return any;
  }

  void take(Stream& stream) {
    const CollectiveCall& call = stream.head;
    Open& open = stream.communicator->open;
    const std::size_t before = open.size();
    const auto meeting = open.try_emplace(open.end(), {call.sequence, call.operation});
    held_ += open.size() - before;
    result_.most_held = std::max(result_.most_held, held_);
    meeting->second.add(call, *stream.member);
    stream.lane->reached = std::max(stream.lane->reached, call.sequence);
    advance(stream);
  }

  // When ranks wait for each other on different communicators, or numbers are missing: one that holds others up.
  Stream* furthest_behind() {
    Stream* best = nullptr;
    std::tuple<bool, std::uint64_t> least;
    for (Stream& stream : streams_) {
      if (stream.ended) continue;
      const Communicator& communicator = *stream.communicator;
      const bool is_slowest = stream.lane->reached == communicator.slowest;
      const std::tuple place(!is_slowest, std::uint64_t{stream.head.sequence} - communicator.slowest);
      if (best == nullptr || place < least) {
        best = &stream;
        least = place;
      }
    }
    return best;
  }

  Open::iterator close(std::uint64_t id, Communicator& communicator, Open::iterator meeting) {
    const std::string* const name = meeting->first.second;
    JoinedOperation*& operation = communicator.operations[name];
    if (operation == nullptr) operation = &result_.operations[{id, *name}];
    meeting->second.add_to(*name, *operation);
    --held_;
    return communicator.open.erase(meeting);
  }
  // Those in which nobody will arrive any more.
  void close_passed(std::uint64_t id, Communicator& communicator) {
    communicator.find_slowest();
    auto at = communicator.open.begin();
    while (at != communicator.open.end() && std::uint64_t{at->first.first} + kLateBy <= communicator.slowest)
      at = close(id, communicator, at);
  }
  void close_all(std::uint64_t id, Communicator& communicator) {
    for (auto at = communicator.open.begin(); at != communicator.open.end();) at = close(id, communicator, at);
  }

  std::map<std::uint64_t, Communicator> communicators_;
  std::vector<Stream> streams_;
  std::size_t held_ = 0;
  CollectiveJoin result_;
};

constexpr double kLuck = 0.01;

// How many of `count` operations are independent: one a step, and fewer where the same rank is last many times in a row.
double independent(const LastRank& last, std::uint64_t count, std::uint64_t steps) {
  const auto all = static_cast<double>(count), own = static_cast<double>(last.count);
  const double share = own / all;
  const double limit = steps == 0 ? all : std::min(all, static_cast<double>(steps));
  if (share >= 1 || count < 2) return limit;
  const double together = (static_cast<double>(last.again) / (all - 1) - share * share) / (share * (1 - share));
  const double memory = std::clamp(together, 0.0, 0.999);
  return std::min(limit, all * (1 - memory) / (1 + memory));
}

void tell_last(CollectiveAnswer& answer, const JoinedOperation& joined, std::uint64_t steps) {
  const auto most = std::max_element(joined.last.begin(), joined.last.end(),
                                     [](const auto& l, const auto& r) { return l.second.count < r.second.count; });
  if (most == joined.last.end() || answer.skew.count() == 0) return;
  const LastRank& last = most->second;
  const double share = static_cast<double>(last.count) / static_cast<double>(answer.skew.count());
  answer.last_rank = most->first;
  answer.last_share_pct = 100.0 * share;
  answer.last_late = last.late;
  const double trials = independent(last, answer.skew.count(), steps);
  const double ranks = std::max(answer.ranks, 2u);
  // Any of the ranks could have been the one.
  const double luck = ranks * chance_of_as_many(share * trials, trials, 1 / ranks);
  answer.last_beyond_chance = luck < kLuck && last.late.percentile_ns(50) > joined.clock_error_ns;
}

using Shares = std::vector<const CollectiveShare*>;  // of the processes that have one

// What is in counters has no running number, so ranks cannot be put together: the one that counted most has it right.
void tell_counted(const Shares& shares, CollectiveAnswer& answer) {
  std::uint32_t processes = 0;
  for (const CollectiveShare* share : shares) {
    if (!share->counters) continue;
    ++processes;
    if (share->per_rank(share->count) < answer.count) continue;
    answer.count = share->per_rank(share->count);
    answer.bytes = share->per_rank(share->bytes);
  }
  if (answer.ranks == 0) answer.ranks = processes;
}

CollectiveAnswer answer_operation(const CollectiveKey& key, const Shares& shares, const CollectiveJoin& join,
                                  std::uint64_t steps) {
  CollectiveAnswer answer;
  const auto& [communicator, operation] = key;
  const bool meets = communicator != 0 && !is_message(operation);
  if (communicator != 0) answer.communicator = fmt::format("{:016x}", communicator);
  answer.operation = operation;
  std::uint32_t counting = 0;
  for (const CollectiveShare* share : shares) {
    answer.host.add(share->host);
    answer.failed += share->failed;
    answer.ranks = std::max(answer.ranks, static_cast<std::uint32_t>(std::max(share->size, 0)));
    answer.count += meets ? 0 : share->count;
    answer.bytes += meets ? 0 : share->bytes;
    counting += share->counters;
    for (const auto& [size, time] : share->host_by_size) answer.sizes[size].host.add(time);
  }
  if (!meets) return answer;
  if (const auto joined = join.operations.find(key); joined != join.operations.end()) {
    answer.count = joined->second.count;
    answer.bytes = joined->second.bytes;
    answer.partly_seen = joined->second.partly_seen;
    answer.skew = joined->second.skew;
    for (const auto& [size, known] : joined->second.sizes) answer.sizes[size].add(known);
    answer.gpu_wait = joined->second.gpu_wait;
    answer.sampled = joined->second.sampled;
    tell_last(answer, joined->second, steps);
  }
  if (counting > 0) tell_counted(shares, answer);
  return answer;
}

}  // namespace

CollectiveJoin join_collectives(std::vector<CollectiveMember>& members) { return Join(members).run(); }

std::vector<CollectiveAnswer> answer_collectives(std::vector<CollectiveMember>& members, std::uint64_t steps) {
  std::map<CollectiveKey, Shares> shares;
  for (const CollectiveMember& member : members)
    for (const auto& [key, share] : member.own->shares) shares[key].push_back(&share);
  const CollectiveJoin join = join_collectives(members);
  std::vector<CollectiveAnswer> answers;
  answers.reserve(shares.size());
  for (const auto& [key, own] : shares) answers.push_back(answer_operation(key, own, join, steps));
  std::stable_sort(answers.begin(), answers.end(),
                   [](const CollectiveAnswer& l, const CollectiveAnswer& r) { return l.bytes > r.bytes; });
  return answers;
}

}  // namespace hostprobe::analysis
