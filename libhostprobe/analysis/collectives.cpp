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

CollectiveAnswer answer_group(const Group& group, std::vector<Arrival>& arrivals) {
  CollectiveAnswer answer;
  const auto& [communicator, operation] = group;
  if (communicator != 0) answer.communicator = fmt::format("{:016x}", communicator);
  answer.operation = operation;
  std::map<std::uint32_t, Meeting> meetings;
  std::map<int, std::uint64_t> last;
  for (const Arrival& arrival : arrivals) {
    const CollectiveCall& call = *arrival.call;
    answer.ranks = std::max(answer.ranks, static_cast<std::uint32_t>(std::max(call.size, 0)));
    answer.host.add(call.host_ns);
    if (call.sequence == 0) {
      ++answer.failed;
    } else if (communicator == 0 || is_message(operation)) {
      ++answer.count;
      answer.bytes += call.bytes;
    } else {
      meetings[call.sequence].add(arrival);
    }
  }
  for (const auto& [sequence, meeting] : meetings) add_meeting(answer, meeting, last);
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
  calls_.push_back(added);
}

std::vector<CollectiveAnswer> answer_collectives(const std::vector<ProcessCalls>& processes) {
  std::map<Group, std::vector<Arrival>> groups;
  for (const ProcessCalls& process : processes)
    for (const CollectiveCall& call : *process.calls)
      groups[{call.communicator, *call.operation}].push_back({&call, &process});
  std::vector<CollectiveAnswer> answers;
  for (auto& [group, arrivals] : groups) answers.push_back(answer_group(group, arrivals));
  std::stable_sort(answers.begin(), answers.end(),
                   [](const CollectiveAnswer& l, const CollectiveAnswer& r) { return l.bytes > r.bytes; });
  return answers;
}

}  // namespace hostprobe::analysis
