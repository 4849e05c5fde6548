// collectives.cpp: see collectives.h.
#include "collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace hostprobe::analysis {
namespace {

// By ncclDataType_t.
std::uint64_t bytes_of_type(std::uint64_t type) {
  static constexpr std::uint64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

std::int32_t bits(std::uint64_t word, unsigned shift) { return static_cast<std::int32_t>(word >> shift & 0x1fffff); }

struct Arrival {
  const CollectiveCall* call;
  const ProcessCalls* process;
};

using Group = std::tuple<std::uint64_t, std::string>;  // communicator, operation

// One operation of all ranks.
class Meeting {
 public:
  void add(const Arrival& arrival) {
    if (first_ == nullptr || arrival.call->begin_ns < first_->begin_ns) first_ = arrival.call;
    if (last_.call == nullptr || arrival.call->begin_ns > last_.call->begin_ns) last_ = arrival;
    if (host_ == nullptr) host_ = &arrival.process->host;
    one_host_ = one_host_ && *host_ == arrival.process->host;
    ++seen_;
  }
  bool complete() const { return one_host_ && seen_ == static_cast<std::uint32_t>(std::max(first_->size, 1)); }
  double skew_ns() const { return static_cast<double>(last_.call->begin_ns - first_->begin_ns); }
  int last_rank() const { return last_.process->rank.value_or(last_.call->rank); }
  const CollectiveCall& call() const { return *first_; }

 private:
  const CollectiveCall* first_ = nullptr;
  Arrival last_{};
  const std::string* host_ = nullptr;
  bool one_host_ = true;
  std::uint32_t seen_ = 0;
};

void add_meeting(CollectiveAnswer& answer, const Meeting& meeting, std::map<int, std::uint64_t>& last) {
  ++answer.count;
  answer.bytes += meeting.call().bytes;
  if (!meeting.complete()) {
    ++answer.partly_seen;
    return;
  }
  if (meeting.call().size < 2) return;
  answer.skew.add(meeting.skew_ns());
  ++last[meeting.last_rank()];
}

void tell_last(CollectiveAnswer& answer, const std::map<int, std::uint64_t>& last) {
  const auto most =
      std::max_element(last.begin(), last.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
  if (most == last.end() || answer.skew.count() == 0) return;
  answer.last_rank = most->first;
  answer.last_share_pct = 100.0 * static_cast<double>(most->second) / static_cast<double>(answer.skew.count());
}

// What one process counted, records and sums; `ranks` are those that it drives, as far as records tell.
struct Share {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::set<std::int32_t> ranks;
  bool summed = false;
  std::uint64_t per_rank(std::uint64_t all) const { return all / std::max<std::uint64_t>(ranks.size(), 1); }
};

struct GroupCalls {
  std::vector<Arrival> arrivals;
  std::vector<std::pair<const CollectiveSum*, const ProcessCalls*>> sums;
};

using Shares = std::map<const ProcessCalls*, Share>;

void add_sums(const GroupCalls& group, bool meets, CollectiveAnswer& answer, Shares& shares) {
  for (const auto& [sum, process] : group.sums) {
    answer.host.add(sum->host);
    if (sum->failed) {
      answer.failed += sum->count;
      continue;
    }
    if (!meets) {
      answer.count += sum->count;
      answer.bytes += sum->bytes;
      continue;
    }
    Share& share = shares[process];
    share.count += sum->count;
    share.bytes += sum->bytes;
    share.summed = true;
  }
}

// What is in sums has no running number, so ranks cannot be put together: the one that counted most has it right.
void tell_counted(const Shares& shares, CollectiveAnswer& answer) {
  std::uint32_t processes = 0;
  for (const auto& [process, share] : shares) {
    if (!share.summed) continue;
    ++processes;
    if (share.per_rank(share.count) < answer.count) continue;
    answer.count = share.per_rank(share.count);
    answer.bytes = share.per_rank(share.bytes);
  }
  if (answer.ranks == 0) answer.ranks = processes;
}

CollectiveAnswer answer_group(const Group& group, const GroupCalls& calls) {
  CollectiveAnswer answer;
  const auto& [communicator, operation] = group;
  if (communicator != 0) answer.communicator = fmt::format("{:016x}", communicator);
  answer.operation = operation;
  const bool meets = communicator != 0 && !is_message(operation);
  std::map<std::uint32_t, Meeting> meetings;
  std::map<int, std::uint64_t> last;
  Shares shares;
  for (const Arrival& arrival : calls.arrivals) {
    const CollectiveCall& call = *arrival.call;
    answer.ranks = std::max(answer.ranks, static_cast<std::uint32_t>(std::max(call.size, 0)));
    if (!call.summed) answer.host.add(call.host_ns);
    if (meets && call.sequence != 0) {
      meetings[call.sequence].add(arrival);
      Share& share = shares[arrival.process];
      share.ranks.insert(call.rank);
      share.count += call.summed ? 0 : 1;
      share.bytes += call.summed ? 0 : call.bytes;
    } else if (call.summed) {
      continue;
    } else if (call.sequence == 0) {
      ++answer.failed;
    } else {
      ++answer.count;
      answer.bytes += call.bytes;
    }
  }
  for (const auto& [sequence, meeting] : meetings) add_meeting(answer, meeting, last);
  add_sums(calls, meets, answer, shares);
  tell_counted(shares, answer);
  tell_last(answer, last);
  return answer;
}

}  // namespace

const std::string* operation_name(const std::string& function) {
  static std::set<std::string> names;
  std::string name = function.starts_with("nccl") ? function.substr(4) : function;
  if (name.ends_with("Config")) name.resize(name.size() - 6);
  if (name == "Bcast") name = "Broadcast";
  return &*names.insert(name).first;
}

bool is_message(const std::string& operation) {
  return operation == "Send" || operation == "Recv" || operation.ends_with("Signal");
}

const CollectiveCalls::Words& CollectiveCalls::words_of(const Hook& hook) {
  const auto [found, fresh] = words_.try_emplace(&hook);
  if (fresh)
    found->second = {hook.word_of("comm"), hook.word_of("count"), hook.word_of("call"), hook.word_of("place"),
                     operation_name(hook.name)};
  return found->second;
}

void CollectiveCalls::add(const Hook& hook, const Record& record) {
  const Words& words = words_of(hook);
  if (words.call < 0 || words.count < 0) return;  // a group, or the life of a communicator
  const std::uint64_t call = word(record, words.call), place = word(record, words.place);
  CollectiveCall added;
  added.communicator = word(record, words.communicator);
  added.sequence = static_cast<std::uint32_t>(call);
  added.rank = bits(place, 0) - 1;
  added.size = bits(place, 21);
  added.bytes = word(record, words.count) * bytes_of_type(call >> 48 & 0xff);
  added.begin_ns = trace_.clock.monotonic_ns(record.begin_ticks);
  added.host_ns = trace_.clock.span_ns(record.begin_ticks, record.end_ticks);
  added.operation = words.operation;
  added.summed = is_summed(record);
  calls_.push_back(added);
}

void CollectiveCalls::add_sum(const Hook& hook, std::uint64_t site, std::uint64_t communicator, const SiteSum& sum) {
  const Words& words = words_of(hook);
  if (words.call < 0 || words.count < 0) return;
  CollectiveSum added{communicator, words.operation, sum.time.count(), sum.amount, site == kSiteNotTaken, {}};
  sum.time.add_to(added.host, trace_.clock);
  sums_.push_back(std::move(added));
}

std::vector<CollectiveAnswer> answer_collectives(const std::vector<ProcessCalls>& processes) {
  std::map<Group, GroupCalls> groups;
  for (const ProcessCalls& process : processes) {
    for (const CollectiveCall& call : *process.calls)
      groups[{call.communicator, *call.operation}].arrivals.push_back({&call, &process});
    for (const CollectiveSum& sum : *process.sums)
      groups[{sum.communicator, *sum.operation}].sums.push_back({&sum, &process});
  }
  std::vector<CollectiveAnswer> answers;
  answers.reserve(groups.size());
  for (const auto& [group, calls] : groups) answers.push_back(answer_group(group, calls));
  std::stable_sort(answers.begin(), answers.end(),
                   [](const CollectiveAnswer& l, const CollectiveAnswer& r) { return l.bytes > r.bytes; });
  return answers;
}

}  // namespace hostprobe::analysis
