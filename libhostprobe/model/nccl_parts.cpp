// nccl_parts.cpp: see nccl_parts.h.
#include "nccl_parts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "event.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kBufferedBytes = 4u << 20;  // NCCL's own default: a sender need not wait for less to be taken

bool is_own_or_all(const CollectiveWords& words) { return words.peer < 0 || words.peer == words.rank; }

// Who waits for whom; false: nobody knows.
bool tell_way(const Event& event, GpuPart& part) {
  const std::string& name = *event.function->operation;
  const bool is_root = is_own_or_all(event.collective);
  if (name == "AllReduce" || name == "AllGather" || name == "ReduceScatter" || name == "AlltoAll") return true;
  if (name == "Broadcast" || name == "Scatter") {
    part.arrives = is_root;
    part.waits = !is_root;
  } else if (name == "Reduce" || name == "Gather") {
    part.waits = is_root;
  } else if (name == "Send") {
    part.waits = event.bytes > kBufferedBytes;
  } else if (name == "Recv") {
    part.arrives = event.bytes > kBufferedBytes;
  } else {
    return false;
  }
  return true;
}

}  // namespace

void NcclParts::enter_thread() {
  group_ = 0;
  open_ = {};
  open_until_ns_ = -std::numeric_limits<double>::infinity();
}

void NcclParts::add(const Event& event, const std::function<std::uint32_t(const Event&)>& kind_of) {
  if (event.function->role == HookRole::kGroupEnd) {
    if (group_ == 0) return;
    const std::size_t count = parts_.size() - group_first_;
    open_ = {group_first_, static_cast<std::uint16_t>(std::min<std::size_t>(count, UINT16_MAX))};
    open_until_ns_ = event.end_ns;
    return;
  }
  if (!event.is(kCollective) || event.collective.sequence == 0) return;
  const auto group = static_cast<std::uint32_t>(word(*event.record, event.function->call) >> 32 & 0xffff);
  if (group == 0 || group != group_) group_first_ = static_cast<std::uint32_t>(parts_.size());
  group_ = group;
  add_part(event, kind_of(event));
  if (group != 0) return;
  open_ = {group_first_, static_cast<std::uint16_t>(parts_.size() - group_first_)};
  open_until_ns_ = event.end_ns;
}

void NcclParts::add_part(const Event& event, std::uint32_t kind) {
  const CollectiveWords& words = event.collective;
  GpuPart part;
  part.communicator = event.communicator;
  part.number = words.sequence;
  part.size = words.size;
  part.kind = kind;
  if (!tell_way(event, part) || event.communicator == 0) part.size = 0;
  const std::string& name = *event.function->operation;
  if (name == "Send" || name == "Recv") {
    const bool sends = name == "Send";
    const auto from = static_cast<std::uint32_t>(sends ? words.rank : words.peer);
    const auto to = static_cast<std::uint32_t>(sends ? words.peer : words.rank);
    part.size = std::min(part.size, 2);
    part.between = (std::uint64_t{from} << 32 | to) + 1;
    part.number = 0;
    messages_.push_back({static_cast<std::uint32_t>(parts_.size()), words.sequence, words.rank, sends});
  }
  parts_.push_back(part);
}

NcclParts::Range NcclParts::around(double ns) const { return ns <= open_until_ns_ ? open_ : Range{}; }

void number_messages(std::vector<GpuPart>& parts, std::vector<NcclMessage> messages) {
  const auto own = [&parts](const NcclMessage& one) {
    return std::tuple(parts[one.part].communicator, one.rank, one.sequence);
  };
  std::sort(messages.begin(), messages.end(),
            [&own](const NcclMessage& l, const NcclMessage& r) { return own(l) < own(r); });
  std::map<std::tuple<std::uint64_t, std::int32_t, std::uint64_t, bool>, std::uint32_t> count;
  for (const NcclMessage& one : messages) {
    GpuPart& part = parts[one.part];
    part.number = ++count[{part.communicator, one.rank, part.between, one.sends}];
  }
}

}  // namespace hostprobe::analysis
