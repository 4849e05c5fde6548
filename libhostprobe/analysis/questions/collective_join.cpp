// collective_join.cpp: see collective_join.h.
#include "collective_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace hostprobe::analysis {
namespace {

// Two threads of a rank may enter their calls in another order than they got their numbers.
constexpr std::uint32_t kLateBy = 64;

// One operation of all ranks.
class Meeting {
 public:
  void add(const CollectiveCall& call, const CollectiveMember& member) {
    if (seen_ == 0 || call.begin_ns < first_ns_) {
      first_ns_ = call.begin_ns;
      size_ = call.size;
      bytes_ = call.bytes;
    }
    if (seen_ == 0 || call.begin_ns > last_ns_) {
      last_ns_ = call.begin_ns;
      last_rank_ = member.rank.value_or(call.rank);
    }
    if (seen_ == 0) host_ = &member.host;
    one_host_ = one_host_ && *host_ == member.host;
    ++seen_;
  }
  bool all_seen() const { return seen_ == static_cast<std::uint32_t>(std::max(size_, 1)); }
  void add_to(JoinedOperation& operation) const {
    ++operation.count;
    operation.bytes += bytes_;
    if (!one_host_ || !all_seen()) {
      ++operation.partly_seen;
      return;
    }
    if (size_ < 2) return;
    operation.skew.add(static_cast<double>(last_ns_ - first_ns_));
    ++operation.last[last_rank_];
  }

 private:
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t bytes_ = 0;
  std::int32_t size_ = 0;
  int last_rank_ = -1;
  const std::string* host_ = nullptr;
  bool one_host_ = true;
  std::uint32_t seen_ = 0;
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
  // How far one rank has come.
  struct Lane {
    std::uint32_t reached = 0;
    std::uint32_t end = 0;  // its last operation
  };
  struct Communicator {
    std::map<std::int32_t, Lane> lanes;
    std::map<std::pair<std::uint32_t, const std::string*>, Meeting> open;  // by running number first
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
  };

  void add_lane(std::uint64_t communicator, std::int32_t rank, const CollectiveSpan& span) {
    const auto [found, fresh] = communicators_[communicator].lanes.try_emplace(rank);
    Lane& lane = found->second;
    const std::uint32_t before = span.first.sequence - 1;
    lane.reached = fresh ? before : std::min(lane.reached, before);
    lane.end = std::max(lane.end, span.last.sequence);
  }

  void add_stream(CollectiveSource source, const CollectiveMember& member) {
    Stream stream{std::move(source), &member, {}};
    stream.ended = !stream.source(stream.head);
    streams_.push_back(std::move(stream));
  }

  // As far as it may now. False: not a step.
  bool read_on(Stream& stream) {
    bool any = false;
    while (!stream.ended && communicators_[stream.head.communicator].is_near(stream.head)) {
      take(stream);
      any = true;
    }
    return any;
  }

  void take(Stream& stream) {
    const CollectiveCall& call = stream.head;
    Communicator& communicator = communicators_[call.communicator];
    const auto [found, fresh] = communicator.open.try_emplace({call.sequence, call.operation});
    held_ += fresh;
    result_.most_held = std::max(result_.most_held, held_);
    found->second.add(call, *stream.member);
    Lane& lane = communicator.lanes[call.rank];
    lane.reached = std::max(lane.reached, call.sequence);
    stream.ended = !stream.source(stream.head);
  }

  // When ranks wait for each other on different communicators, or numbers are missing: one that holds others up.
  Stream* furthest_behind() {
    Stream* best = nullptr;
    std::tuple<bool, std::uint64_t> least;
    for (Stream& stream : streams_) {
      if (stream.ended) continue;
      const Communicator& communicator = communicators_[stream.head.communicator];
      const bool is_slowest = communicator.lanes.at(stream.head.rank).reached == communicator.slowest;
      const std::tuple place(!is_slowest, std::uint64_t{stream.head.sequence} - communicator.slowest);
      if (best == nullptr || place < least) {
        best = &stream;
        least = place;
      }
    }
    return best;
  }

  using Open = std::map<std::pair<std::uint32_t, const std::string*>, Meeting>;

  Open::iterator close(std::uint64_t id, Communicator& communicator, Open::iterator meeting) {
    meeting->second.add_to(result_.operations[{id, *meeting->first.second}]);
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

void tell_last(CollectiveAnswer& answer, const std::map<int, std::uint64_t>& last) {
  const auto most =
      std::max_element(last.begin(), last.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
  if (most == last.end() || answer.skew.count() == 0) return;
  answer.last_rank = most->first;
  answer.last_share_pct = 100.0 * static_cast<double>(most->second) / static_cast<double>(answer.skew.count());
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

CollectiveAnswer answer_operation(const CollectiveKey& key, const Shares& shares, const CollectiveJoin& join) {
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
  }
  if (!meets) return answer;
  if (const auto joined = join.operations.find(key); joined != join.operations.end()) {
    answer.count = joined->second.count;
    answer.bytes = joined->second.bytes;
    answer.partly_seen = joined->second.partly_seen;
    answer.skew = joined->second.skew;
    tell_last(answer, joined->second.last);
  }
  if (counting > 0) tell_counted(shares, answer);
  return answer;
}

}  // namespace

CollectiveJoin join_collectives(std::vector<CollectiveMember>& members) { return Join(members).run(); }

std::vector<CollectiveAnswer> answer_collectives(std::vector<CollectiveMember>& members) {
  std::map<CollectiveKey, Shares> shares;
  for (const CollectiveMember& member : members)
    for (const auto& [key, share] : member.own->shares) shares[key].push_back(&share);
  const CollectiveJoin join = join_collectives(members);
  std::vector<CollectiveAnswer> answers;
  answers.reserve(shares.size());
  for (const auto& [key, own] : shares) answers.push_back(answer_operation(key, own, join));
  std::stable_sort(answers.begin(), answers.end(),
                   [](const CollectiveAnswer& l, const CollectiveAnswer& r) { return l.bytes > r.bytes; });
  return answers;
}

}  // namespace hostprobe::analysis
