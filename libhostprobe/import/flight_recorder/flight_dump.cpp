// flight_dump.cpp: see flight_dump.h.
#include "flight_dump.h"

#include <fmt/format.h>

#include <algorithm>

namespace hostprobe::analysis {
namespace {

using Type = PlainValue::Type;

constexpr std::size_t kMostRanks = 1 << 20;  // of a group
constexpr std::size_t kMostFrames = 64;
constexpr std::int64_t kLastMoment = std::int64_t{1} << 62;

std::string text_of(const PlainValue* value) {
  if (value == nullptr) return {};
  if (value->is(Type::kText)) return value->text;
  const auto number = value->number();
  return number ? std::to_string(*number) : std::string();
}

std::optional<std::int64_t> number_of(const PlainValue& map, std::string_view name) {
  const PlainValue* value = map.find(name);
  return value == nullptr ? std::nullopt : value->number();
}

bool flag_of(const PlainValue& map, std::string_view name) { return number_of(map, name).value_or(0) != 0; }

// 0 and nothing both say that it has not been seen.
std::optional<std::int64_t> moment_of(const PlainValue& map, std::string_view name) {
  const auto ns = number_of(map, name);
  return ns && *ns > 0 && *ns < kLastMoment ? ns : std::nullopt;
}

// Of the first tensor: [[1000]] or [[8, 16], …].
std::uint64_t elements_of(const PlainValue* sizes) {
  if (sizes == nullptr || sizes->items.empty() || !sizes->items.front()->is(Type::kList)) return 0;
  std::uint64_t all = 1;
  for (const PlainValue* one : sizes->items.front()->items) {
    const std::int64_t size = one->number().value_or(0);
    if (size < 0 || __builtin_mul_overflow(all, static_cast<std::uint64_t>(size), &all)) return 0;
  }
  return all;
}

std::vector<std::string> frames_of(const PlainValue* list) {
  std::vector<std::string> frames;
  if (list == nullptr || !list->is(Type::kList)) return frames;
  for (const PlainValue* one : list->items) {
    if (frames.size() == kMostFrames) break;
    const std::string file = text_of(one->find("filename"));
    frames.push_back(fmt::format("{} ({}:{})", text_of(one->find("name")), file.substr(file.rfind('/') + 1),
                                 number_of(*one, "line").value_or(0)));
  }
  return frames;
}

// "[0, 1, 2]", or a list of numbers.
std::vector<int> ranks_of(const PlainValue* value) {
  std::vector<int> ranks;
  if (value == nullptr) return ranks;
  for (const PlainValue* one : value->items)
    if (const auto rank = one->number(); rank && *rank >= 0 && *rank < (1 << 24) && ranks.size() < kMostRanks)
      ranks.push_back(static_cast<int>(*rank));
  const std::string& text = value->text;
  for (std::size_t at = text.find_first_of("0123456789"); at != std::string::npos && ranks.size() < kMostRanks;) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (end - at < 8) ranks.push_back(std::stoi(text.substr(at, end - at)));
    at = text.find_first_of("0123456789", end);
  }
  return ranks;
}

void set_group(const PlainValue& entry, FlightOperation& operation) {
  const PlainValue* group = entry.find("process_group");
  if (group != nullptr && !group->items.empty()) {
    operation.group = text_of(group->items[0]);
    if (group->items.size() > 1) operation.description = text_of(group->items[1]);
  } else {
    operation.group = text_of(entry.find("pg_id"));
  }
}

void set_end(const PlainValue& entry, FlightOperation& operation) {
  operation.completed_ns = moment_of(entry, "time_discovered_completed_ns");
  if (operation.completed_ns && *operation.completed_ns < operation.begin_ns) operation.completed_ns.reset();
  operation.is_over =
      operation.completed_ns || flag_of(entry, "retired") || text_of(entry.find("state")) == "completed";
}

std::optional<FlightOperation> operation_of(const PlainValue& entry, LeftOut& left_out) {
  const auto begin = moment_of(entry, "time_created_ns");
  FlightOperation operation;
  operation.name = text_of(entry.find("profiling_name"));
  if (!begin || operation.name.empty()) {
    left_out.add("entries without a time or a name");
    return std::nullopt;
  }
  operation.begin_ns = *begin;
  operation.is_message = flag_of(entry, "is_p2p");
  const auto sequence = number_of(entry, operation.is_message ? "p2p_seq_id" : "collective_seq_id");
  operation.sequence = static_cast<std::uint32_t>(std::clamp<std::int64_t>(sequence.value_or(0), 0, UINT32_MAX));
  set_group(entry, operation);
  set_end(entry, operation);
  operation.elements = elements_of(entry.find("input_sizes"));
  const PlainValue* types = entry.find("input_dtypes");
  if (types != nullptr && !types->items.empty()) operation.type = text_of(types->items.front());
  operation.frames = frames_of(entry.find("frames"));
  operation.thread = text_of(entry.find("thread_id"));
  operation.thread_name = text_of(entry.find("thread_name"));
  return operation;
}

}  // namespace

bool is_flight_dump(const PlainValue* root) {
  return root != nullptr && root->is(Type::kMap) &&
         (root->find("entries") != nullptr || root->find("pg_config") != nullptr);
}

FlightDump flight_dump(const PlainValue& root, LeftOut& left_out) {
  FlightDump dump;
  if (const PlainValue* groups = root.find("pg_config"))
    for (const auto& [name, group] : groups->members)
      if (std::vector<int> ranks = ranks_of(group->find("ranks")); !ranks.empty() && !text_of(name).empty())
        dump.group_ranks[text_of(name)] = std::move(ranks);
  const PlainValue* entries = root.find("entries");
  if (entries == nullptr) return dump;
  for (const PlainValue* entry : entries->items) {
    if (!entry->is(Type::kMap))
      left_out.add("entries that are no maps");
    else if (auto operation = operation_of(*entry, left_out))
      dump.operations.push_back(std::move(*operation));
  }
  return dump;
}

}  // namespace hostprobe::analysis
