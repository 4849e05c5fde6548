// trace.cpp: look-ups in a trace; see trace.h.
#include "trace.h"

#include <algorithm>

#include "unpack.h"

namespace hostprobe::analysis {

namespace {

void leave(Slice& slice, std::uint32_t count) {
  const bool all = slice.aggregated == slice.count;
  slice.count = count;
  slice.aggregated = all ? count : slice.aggregated == 0 ? 0 : count_summed(slice.records());
}

}  // namespace

std::uint32_t count_summed(const Records& records) {
  return static_cast<std::uint32_t>(std::count_if(records.begin(), records.end(), is_aggregated));
}

int Hook::word_of(std::string_view label) const {
  for (int i = 0; i < 5; ++i) {
    if (labels[i].name == label) return i;
  }
  return -1;
}

void Slice::append_to(Records& records) const {
  const std::size_t before = records.size();
  if (packed_bytes == 0) {
    records.resize(before + count);
    if (count != 0) std::memcpy(static_cast<void*>(&records[before]), bytes, std::size_t{count} * sizeof(Record));
    return;
  }
  if (!unpack(bytes, packed_bytes, skipped + count + cut, records, expanded)) {
    throw TraceError("packed records changed while they were read", 0);
  }
  if (expanded == nullptr) MappedFile::release(bytes, packed_bytes);
  records.resize(records.size() - cut);
  const auto first = records.begin() + static_cast<std::ptrdiff_t>(before);
  records.erase(first, first + skipped);
}

void Slice::drop_first(std::uint32_t numbers) {
  if (packed_bytes == 0) {
    bytes += std::size_t{numbers} * sizeof(Record);
  } else {
    skipped += numbers;
  }
  first_sequence += numbers;
  slots -= numbers;
  leave(*this, count - numbers);
}

void Slice::drop_last(std::uint32_t numbers) {
  if (packed_bytes != 0) cut += numbers;
  slots -= numbers;
  leave(*this, count - numbers);
}

void Strings::put(std::uint64_t offset, const std::byte* bytes, std::size_t count) {
  if (count == 0) return;  // then there may be nowhere to copy from or to
  if (area_.size() < offset + count) area_.resize(offset + count);
  std::memcpy(area_.data() + offset, bytes, count);
}

std::string_view Strings::text(std::uint64_t id) const {
  if (id == 0 || id > area_.size()) return {};
  const std::uint64_t at = (id - 1) * 8;
  StringHead head;
  if (at + sizeof(head) > area_.size()) return {};
  std::memcpy(&head, area_.data() + at, sizeof(head));
  if (head.length > area_.size() - at - sizeof(head)) return {};
  return {area_.data() + at + sizeof(head), head.length};
}

const Module* Trace::module_at(std::uint64_t address, std::uint64_t ticks) const {
  const Module* best = nullptr;
  for (const Module& module : modules) {
    if (address < module.begin || address >= module.end) continue;
    const bool in_time = module.seen_ticks <= ticks;
    if (best == nullptr || (in_time && (best->seen_ticks > ticks || module.seen_ticks >= best->seen_ticks))) {
      best = &module;
    }
  }
  return best;
}

const Thread* Trace::thread_at(std::uint32_t tid, std::uint64_t ticks) const {
  const auto after = threads.upper_bound(ThreadKey{tid, ticks});
  if (after != threads.begin() && std::prev(after)->first.tid == tid) return &std::prev(after)->second;
  // A thread registers itself in its first hook, a little after that hook has read the clock.
  return after != threads.end() && after->first.tid == tid ? &after->second : nullptr;
}

void Trace::release() {
  for (auto& [key, thread] : threads)
    for (Slice& slice : thread.slices) slice.expanded = nullptr;
  expanded.clear();
  if (file) file->release();
  for (const auto& dump : dumps) dump->release();
}

std::uint64_t Trace::records() const {
  std::uint64_t sum = 0;
  for (const auto& [key, thread] : threads) sum += thread.kept;
  return sum;
}

std::uint64_t Trace::lost() const {
  std::uint64_t sum = lost_without_thread;
  for (const auto& [key, thread] : threads) sum += thread.lost;
  return std::max(sum, header.lost);
}

const EventRow* Trace::steps_known() const {
  const auto known =
      std::find_if(events.begin(), events.end(), [](const EventRow& row) { return row.kind == kEventStepsKnown; });
  return known == events.end() ? nullptr : &*known;
}

bool Trace::aggregates() const {
  const std::string_view mode(header.mode, strnlen(header.mode, sizeof(header.mode)));
  return mode == "monitor" || mode == "flight";
}

}  // namespace hostprobe::analysis
