// path_operations.cpp: see path_operations.h.
#include "path_operations.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "parallel.h"

namespace hostprobe::analysis {
namespace {

// Who waits for whom.
enum class Way : std::uint8_t { kAllForAll, kAllForRoot, kRootForAll, kMessage, kUnknown };

Way way_of(const std::string& operation) {
  static const std::map<std::string_view, Way> kWays = {
      {"AllReduce", Way::kAllForAll}, {"AllGather", Way::kAllForAll},  {"ReduceScatter", Way::kAllForAll},
      {"AlltoAll", Way::kAllForAll},  {"Broadcast", Way::kAllForRoot}, {"Bcast", Way::kAllForRoot},
      {"Scatter", Way::kAllForRoot},  {"Reduce", Way::kRootForAll},    {"Gather", Way::kRootForAll},
      {"Send", Way::kMessage},        {"Recv", Way::kMessage}};
  const auto found = kWays.find(operation);
  return found == kWays.end() ? Way::kUnknown : found->second;
}

struct Key {
  std::uint64_t communicator = 0;
  std::uint64_t between = 0;  // of a message: sender and receiver
  std::uint32_t number = 0;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    return (key.communicator ^ (key.between * 0x9e3779b97f4a7c15u) ^ key.number) * 0xff51afd7ed558ccdu >> 7;
  }
};

struct OwnCall {
  Key key;
  std::int32_t rank = 0, size = 0, peer = -1;
  Way way = Way::kUnknown;
  KernelRange kernels;
  const std::string* operation = nullptr;
  std::uint64_t bytes = 0;

  bool arrives() const { return way != Way::kAllForRoot || rank == peer; }
  bool waits() const { return way == Way::kAllForRoot ? rank != peer : way == Way::kRootForAll ? rank == peer : true; }
};

// All calls of a process; a message gets its number here, as long as none before it is missing.
std::vector<OwnCall> calls_of(const OperationMember& member) {
  std::vector<OwnCall> calls;
  using Rank = std::pair<std::uint64_t, std::int32_t>;                             // communicator, rank on it
  std::map<Rank, std::vector<std::tuple<std::uint32_t, bool, OwnCall>>> messages;  // running number, is a send
  for (CollectiveSource& source : collective_sources(*member.timeline, member.kernels, CollectiveCalls::kMessagesToo)) {
    CollectiveCall call;
    while (source(call)) {
      const Way way = way_of(*call.operation);
      OwnCall own{{call.communicator, 0, call.sequence},
                  call.rank,
                  call.size,
                  call.peer,
                  way,
                  call.kernels,
                  call.operation,
                  call.bytes};
      if (is_message(*call.operation))
        messages[{call.communicator, call.rank}].emplace_back(call.sequence, *call.operation == "Send", own);
      else if (way != Way::kUnknown)
        calls.push_back(own);
    }
  }
  for (auto& [rank, all] : messages) {
    std::sort(all.begin(), all.end(), [](const auto& l, const auto& r) { return std::get<0>(l) < std::get<0>(r); });
    std::map<std::uint64_t, std::uint32_t> count;
    for (std::size_t i = 0; i < all.size() && std::get<0>(all[i]) == i + 1; ++i) {
      auto& [number, is_send, own] = all[i];
      if (own.way != Way::kMessage) continue;
      const auto from = static_cast<std::uint32_t>(is_send ? own.rank : own.peer),
                 to = static_cast<std::uint32_t>(is_send ? own.peer : own.rank);
      own.size = 2;
      own.key.between = (std::uint64_t{from} << 32 | to) + 1;
      own.key.number = ++count[own.key.between * 2 + is_send];
      calls.push_back(own);
    }
  }
  return calls;
}

class Join {
 public:
  Join(const std::vector<OperationMember>& members, double error_ns, JobGraph& job)
      : members_(members), error_ns_(error_ns), job_(job) {}

  void count(std::uint32_t part, const std::vector<OwnCall>& calls) {
    for (const OwnCall& call : calls) {
      if (call.kernels.count == 0) continue;
      const auto [at, is_new] = number_of_.try_emplace(call.key, static_cast<std::uint32_t>(seen_.size()));
      if (is_new) {
        seen_.emplace_back();
        job_.operations.emplace_back();
        if (call.way == Way::kAllForAll || call.way == Way::kMessage)
          job_.operations.back().transfer = transfer_of(call);
      }
      if (*call.operation == "Recv") job_.operations[at->second].receiver = static_cast<std::int32_t>(part);
      Seen& seen = seen_[at->second];
      ++seen.ranks;
      seen.size = std::max(seen.size, call.size);
      if (!call.arrives()) continue;
      const auto& kernel = members_[part].kernels->at(call.kernels.first);
      const double begin_ns = members_[part].axis.of(kernel.begin_ns);
      PathOperation& operation = job_.operations[at->second];
      const PathPlace place{part, job_.parts[part].node_of(kernel.number)};
      if (begin_ns > operation.last_ns) {
        operation.last_ns = begin_ns;
        operation.last = place;
      }
      if (place.activity != kNoActivity) operation.arrivals.push_back(place);
    }
  }

  void attach(std::uint32_t part, const std::vector<OwnCall>& calls) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> waits;  // by node
    for (const OwnCall& call : calls) {
      const auto found = number_of_.find(call.key);
      if (found == number_of_.end() || seen_[found->second].ranks < seen_[found->second].size) continue;
      for (std::uint32_t i = 0; i < call.kernels.count; ++i) {
        const std::uint32_t node = job_.parts[part].node_of(members_[part].kernels->at(call.kernels.first + i).number);
        if (node == kNoActivity) continue;
        job_.parts[part].nodes[node].joined = true;
        // Who had ended when the last one came had something else to go by: a send whose bytes were buffered.
        const bool later = job_.operations[found->second].last_ns <= job_.parts[part].nodes[node].end_ns + error_ns_;
        if (call.waits() && later) waits[node].push_back(found->second);
      }
    }
    PathGraph& graph = job_.parts[part];
    for (const auto& [node, own] : waits) {
      graph.nodes[node].first_wait = static_cast<std::uint32_t>(graph.waits.size());
      graph.nodes[node].waits = static_cast<std::uint16_t>(std::min<std::size_t>(own.size(), UINT16_MAX));
      graph.waits.insert(graph.waits.end(), own.begin(), own.end());
    }
  }

  void note_elsewhere(std::uint32_t part, const std::vector<OwnCall>& calls) {
    for (const OwnCall& call : calls) {
      const auto found = number_of_.find(call.key);
      if (found == number_of_.end() || seen_[found->second].ranks >= seen_[found->second].size) continue;
      for (std::uint32_t i = 0; i < call.kernels.count; ++i) {
        const std::uint32_t node = job_.parts[part].node_of(members_[part].kernels->at(call.kernels.first + i).number);
        if (node != kNoActivity) job_.parts[part].nodes[node].elsewhere = true;
      }
    }
  }

 private:
  struct Seen {
    std::int32_t ranks = 0, size = 0;
  };

  std::uint32_t transfer_of(const OwnCall& call) {
    const std::string operation = call.way == Way::kMessage ? "Recv" : *call.operation;
    const auto [at, is_new] = transfers_.try_emplace({call.key.communicator, call.key.between, operation, call.bytes},
                                                     static_cast<std::uint32_t>(job_.transfers.size()));
    if (is_new) job_.transfers.push_back({call.key.communicator, call.key.between, operation, call.bytes, call.size});
    return at->second;
  }

  const std::vector<OperationMember>& members_;
  const double error_ns_;
  JobGraph& job_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::string, std::uint64_t>, std::uint32_t>
      transfers_;                                              // in JobGraph::transfers
  std::unordered_map<Key, std::uint32_t, KeyHash> number_of_;  // in JobGraph::operations
  std::vector<Seen> seen_;
};

}  // namespace

void join_operations(const std::vector<OperationMember>& members, double error_ns, unsigned cores, JobGraph& job) {
  std::vector<std::vector<OwnCall>> calls(members.size());
  run_parallel(members.size(), cores, [&](std::size_t i) { calls[i] = calls_of(members[i]); });
  Join join(members, error_ns, job);
  for (std::uint32_t part = 0; part < members.size(); ++part) join.count(part, calls[part]);
  for (std::uint32_t part = 0; part < members.size(); ++part) join.attach(part, calls[part]);
  for (std::uint32_t part = 0; !job.all_are_here && part < members.size(); ++part)
    join.note_elsewhere(part, calls[part]);
  job.joined = members.size() > 1;
}

}  // namespace hostprobe::analysis
