// blocks.cpp: see blocks.h.
#include "blocks.h"

#include <algorithm>

#include "block_head.h"
#include "format/frequency.h"
#include "format/kernel.h"
#include "format/kernel_totals.h"
#include "format/machine.h"
#include "format/samples.h"
#include "format/switches.h"
#include "hook_list.h"
#include "read_at.h"
#include "unpack.h"

namespace hostprobe::analysis {
namespace {

// Overlapping false heads could make a hostile file cost the square of its length; past this many checksummed bytes per
// byte of file, a damaged block is skipped by the length it claims.
constexpr std::uint64_t kMostChecksPerByte = 4;
constexpr std::uint64_t kReleaseBytes = 1 << 20;  // read, until they are let go

const char* kind_name(std::uint16_t kind) {
  static constexpr const char* kNames[] = {"?",
                                           "hooks",
                                           "modules",
                                           "strings",
                                           "threads",
                                           "stacks",
                                           "records",
                                           "clock",
                                           "hook states",
                                           "short waits",
                                           "packed records",
                                           "counters",
                                           "events",
                                           "switches",
                                           "samples",
                                           "the kernel",
                                           "names of the kernel",
                                           "frequency",
                                           "the machine",
                                           "totals of the kernel",
                                           "counters of the start-up",
                                           "short waits of the start-up",
                                           "steps"};
  static_assert(std::size(kNames) == kBlockSteps + 1);
  return kind < std::size(kNames) ? kNames[kind] : "unknown";
}

const SiteRow& site_of(const SiteRow& row) { return row; }
const SiteRow& site_of(const CounterRow& row) { return row.site; }
std::uint64_t amount_of(const SiteRow&) { return 0; }
std::uint64_t amount_of(const CounterRow& row) { return row.amount; }

// The row at `at`, and its buckets in `sum`; `at` is behind them then. False: they do not fit, or name no bucket.
template <typename Row>
bool read_sum(const Block& block, std::uint64_t& at, Row& row, SiteSum& sum) {
  if (block.payload_bytes - at < sizeof(Row)) return false;
  row = read_at<Row>(block.payload + at);
  at += sizeof(Row);
  const std::uint32_t buckets = site_of(row).bucket_count;
  if (buckets > (block.payload_bytes - at) / sizeof(std::uint64_t)) return false;
  sum = site_sum(site_of(row));
  for (std::uint32_t i = 0; i < buckets; ++i, at += sizeof(std::uint64_t)) {
    if (!sum.add_bucket(read_at<std::uint64_t>(block.payload + at))) return false;
  }
  sum.amount = amount_of(row);
  return true;
}

// False: a row is not whole, or `take` refuses it.
template <typename Row, typename Take>
bool for_each_sum(const Block& block, Take take) {
  for (std::uint64_t at = 0; at < block.payload_bytes;) {
    Row row;
    SiteSum sum;
    if (!read_sum(block, at, row, sum) || !take(row, std::move(sum))) return false;
  }
  return true;
}

std::string hex_text(const std::uint8_t* bytes, std::size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

template <typename Row>
bool add_rows(const Block& block, std::vector<BlockBytes>& all) {
  if (block.payload_bytes % sizeof(Row) != 0) return false;
  all.push_back({block.payload, block.payload_bytes});
  return true;
}

template <typename Head, typename Row>
bool add_counted(const Block& block, std::vector<BlockBytes>& all) {
  if (block.payload_bytes < sizeof(Head)) return false;
  const auto head = read_at<Head>(block.payload);
  if (head.begin_ticks > head.end_ticks || block.payload_bytes != sizeof(Head) + head.count * sizeof(Row)) return false;
  all.push_back({block.payload, block.payload_bytes});
  return true;
}

// Of a later version only the head is known.
bool add_kernel_totals(const Block& block, std::vector<BlockBytes>& all) {
  if (block.payload_bytes < sizeof(KernelTotalsHead)) return false;
  const auto head = read_at<KernelTotalsHead>(block.payload);
  const std::uint64_t rows = head.threads * sizeof(KernelThreadTotals) + head.took * sizeof(KernelTookTotals) +
                             head.irqs * sizeof(KernelIrqTotals);
  if (head.begin_ticks > head.end_ticks) return false;
  if (head.version == kKernelTotalsVersion && block.payload_bytes != sizeof(head) + rows) return false;
  all.push_back({block.payload, block.payload_bytes});
  return true;
}

}  // namespace

BlockWalk::BlockWalk(const MappedFile& file, std::uint64_t start) : file_(file), offset_(start) {}

std::optional<BlockHead> BlockWalk::head_at(std::uint64_t offset) const {
  if (offset > file_.size() || file_.size() - offset < sizeof(BlockHead)) return std::nullopt;
  const auto head = read_at<BlockHead>(file_.bytes() + offset);
  if (head.magic != kBlockMagic || head.payload_bytes % 8 != 0) return std::nullopt;
  if (checksum(file_.bytes() + offset, offsetof(BlockHead, head_checksum)) != head.head_checksum) return std::nullopt;
  return head;
}

bool BlockWalk::whole_at(std::uint64_t offset, Block& block, std::string& why) {
  const std::optional<BlockHead> head = head_at(offset);
  if (!head) {
    why = "no whole block head";
    return false;
  }
  const std::uint64_t left = file_.size() - offset - sizeof(BlockHead);
  if (head->payload_bytes > left) {
    why = std::string("the file ends inside a block of ") + kind_name(head->kind);
    return false;
  }
  const std::byte* payload = file_.bytes() + offset + sizeof(BlockHead);
  checked_bytes_ += head->payload_bytes;
  if (checksum(payload, head->payload_bytes) != head->checksum) {
    why = std::string("the checksum of a block of ") + kind_name(head->kind) + " does not match";
    return false;
  }
  block = {static_cast<BlockKind>(head->kind), offset, sizeof(BlockHead) + head->payload_bytes, payload,
           head->payload_bytes};
  return true;
}

bool BlockWalk::next(Block& block) {
  if (offset_ - released_ >= kReleaseBytes) {
    MappedFile::release(file_.bytes() + released_, offset_ - released_);
    released_ = offset_;
  }
  while (offset_ < file_.size()) {
    std::string why;
    if (whole_at(offset_, block, why)) {
      offset_ += block.bytes;
      return true;
    }
    skip_damage(offset_, why);
  }
  return false;
}

std::uint64_t BlockWalk::next_head(std::uint64_t from) const {
  static constexpr char kMagicBytes[] = {'H', 'P', 'B', 'K'};
  const std::byte* const end = file_.bytes() + file_.size();
  const std::byte* at = file_.bytes() + std::min<std::uint64_t>(from, file_.size());
  while (at < end) {
    at =
        static_cast<const std::byte*>(memmem(at, static_cast<std::size_t>(end - at), kMagicBytes, sizeof(kMagicBytes)));
    if (at == nullptr) break;
    const auto offset = static_cast<std::uint64_t>(at - file_.bytes());
    if (head_at(offset)) return offset;
    ++at;
  }
  return file_.size();
}

void BlockWalk::skip_damage(std::uint64_t from, const std::string& why) {
  const std::optional<BlockHead> head = head_at(from);
  std::uint64_t behind = from + 1;
  if (head && checked_bytes_ / kMostChecksPerByte > file_.size())
    behind = from + sizeof(BlockHead) + head->payload_bytes;
  offset_ = next_head(behind);
  if (offset_ == file_.size()) {
    const std::byte* rest = file_.bytes() + from;
    const bool unused = std::all_of(rest, file_.bytes() + file_.size(), [](std::byte b) { return b == std::byte{0}; });
    cut_short_ = unused || file_.size() - from < sizeof(BlockHead) ||
                 (head && head->payload_bytes > file_.size() - from - sizeof(BlockHead));
  }
  if (!damages_.empty() && damages_.back().offset + damages_.back().bytes == from) {
    damages_.back().bytes += offset_ - from;
  } else {
    damages_.push_back({from, offset_ - from, why});
  }
}

bool BlockContent::add(const Block& block) {
  switch (block.kind) {
    case kBlockHooks:
      return add_hooks(block);
    case kBlockModules:
      return add_modules(block);
    case kBlockStrings:
      return add_strings(block);
    case kBlockThreads:
      return add_threads(block);
    case kBlockStacks:
      return add_stacks(block);
    case kBlockRecords:
      return add_record_slice(block);
    case kBlockClock:
      return add_clock(block);
    case kBlockHookStates:
      return add_hook_states(block);
    case kBlockShortWaits:
      return add_short_waits(block);
    case kBlockPackedRecords:
      return add_packed_slice(block);
    case kBlockCounters:
      return add_sums(block);
    case kBlockStartShortWaits:
      return add_start_short_waits(block);
    case kBlockStartCounters:
      return add_start_counters(block);
    case kBlockSteps:
      return add_steps(block);
    case kBlockEvents:
      return add_events(block);
    case kBlockSwitches:
      return add_counted<SwitchesHead, SwitchRow>(block, trace_.switches);
    case kBlockSamples:
      return add_rows<SampleRow>(block, trace_.samples);
    case kBlockFrequency:
      return add_rows<FrequencyRow>(block, trace_.frequency);
    case kBlockMachine:
      return add_rows<MachineRow>(block, trace_.machine);
    case kBlockKernel:
      return add_counted<KernelHead, KernelRow>(block, trace_.kernel);
    case kBlockKernelNames:
      return add_rows<KernelNameRow>(block, trace_.kernel_names);
    case kBlockKernelTotals:
      return add_kernel_totals(block, trace_.kernel_totals);
  }
  return true;  // of a kind that came later: skipped, as the format promises
}

bool BlockContent::add_hooks(const Block& block) {
  if (block.payload_bytes % sizeof(HookRow) != 0) return false;
  std::vector<Hook> hooks;
  for (std::uint64_t at = 0; at < block.payload_bytes; at += sizeof(HookRow)) {
    hooks.push_back(parse_hook(read_at<HookRow>(block.payload + at)));
  }
  // A second table may only tell more about the same rows: records refer to rows by number.
  if (hooks.size() < trace_.hooks.size()) return false;
  for (std::size_t i = 0; i < trace_.hooks.size(); ++i) {
    if (hooks[i].name != trace_.hooks[i].name) return false;
  }
  trace_.hooks = std::move(hooks);
  return true;
}

// Padded to 8 bytes, so it may be a little longer than the table; it is cut to the table's first rows where that is long.
bool BlockContent::add_hook_states(const Block& block) {
  for (std::size_t i = 0; i < trace_.hooks.size() && i < block.payload_bytes; ++i) {
    const auto state = std::to_integer<unsigned>(block.payload[i]);
    trace_.hooks[i].found = trace_.hooks[i].found || (state & kHookFound) != 0;
    trace_.hooks[i].used = (state & kHookUsed) != 0;
  }
  return true;
}

bool BlockContent::add_modules(const Block& block) {
  std::vector<Module> modules;
  std::uint64_t at = 0;
  while (at < block.payload_bytes) {
    if (block.payload_bytes - at < sizeof(ModuleRow)) return false;
    const auto row = read_at<ModuleRow>(block.payload + at);
    at += sizeof(ModuleRow);
    const std::uint64_t padded = (std::uint64_t{row.path_bytes} + 7) / 8 * 8;
    if (padded > block.payload_bytes - at || row.build_id_bytes > sizeof(row.build_id)) return false;
    const auto* path = reinterpret_cast<const char*>(block.payload + at);
    modules.push_back({row.begin, row.end, row.bias, row.seen_ticks, std::string(path, row.path_bytes),
                       hex_text(row.build_id, row.build_id_bytes)});
    at += padded;
  }
  trace_.modules.insert(trace_.modules.end(), modules.begin(), modules.end());
  return true;
}

bool BlockContent::add_strings(const Block& block) {
  if (block.payload_bytes < sizeof(StringsHead)) return false;
  const auto head = read_at<StringsHead>(block.payload);
  if (head.bytes > block.payload_bytes - sizeof(StringsHead)) return false;
  // Earlier slices are in this file too, so the area can never be longer than the file.
  if (std::uint64_t{head.offset} + head.bytes > trace_.file_bytes) return false;
  trace_.strings.put(head.offset, block.payload + sizeof(StringsHead), head.bytes);
  return true;
}

bool BlockContent::add_threads(const Block& block) {
  if (block.payload_bytes % sizeof(ThreadEntry) != 0) return false;
  for (std::uint64_t at = 0; at < block.payload_bytes; at += sizeof(ThreadEntry)) {
    const auto entry = read_at<ThreadEntry>(block.payload + at);
    trace_.threads[{entry.tid, entry.start_ticks}].entry = entry;
  }
  return true;
}

bool BlockContent::add_stacks(const Block& block) {
  if (block.payload_bytes < sizeof(StacksHead)) return false;
  const auto head = read_at<StacksHead>(block.payload);
  if (block.payload_bytes - sizeof(StacksHead) != std::uint64_t{head.count} * sizeof(StackEntry)) return false;
  if (std::uint64_t{head.first} + head.count > UINT16_MAX) return false;
  for (std::uint32_t i = 0; i < head.count; ++i) {
    const std::byte* from = block.payload + sizeof(StacksHead) + std::uint64_t{i} * sizeof(StackEntry);
    add_stack(trace_, head.first + i, read_at<StackEntry>(from));
  }
  return true;
}

bool BlockContent::add_record_slice(const Block& block) {
  if (block.payload_bytes < sizeof(RecordsHead)) return false;
  const auto head = read_at<RecordsHead>(block.payload);
  if (block.payload_bytes - sizeof(RecordsHead) != std::uint64_t{head.count} * sizeof(Record)) return false;
  return add_slice(head, block, 0);
}

bool BlockContent::add_packed_slice(const Block& block) {
  const std::uint64_t most = std::uint64_t{kPackedMost} * (1 + kPackedTimesMost + kPackedRestMost) + 4096;
  if (block.payload_bytes < sizeof(RecordsHead) + sizeof(PackedHead) || block.payload_bytes > most) return false;
  return add_slice(read_at<RecordsHead>(block.payload), block,
                   static_cast<std::uint32_t>(block.payload_bytes - sizeof(RecordsHead)));
}

bool BlockContent::add_slice(const RecordsHead& head, const Block& block, std::uint32_t packed_bytes) {
  if (head.count > head.slots || head.first_sequence + head.slots < head.first_sequence) return false;
  Slice slice{block.payload + sizeof(RecordsHead), head.first_sequence, UINT64_MAX, head.slots, head.count};
  slice.packed_bytes = packed_bytes;
  records_.clear();
  if (packed_bytes == 0) {
    slice.append_to(records_);
  } else {
    if (trace_.budget != nullptr) hold_expanded(slice);
    if (!unpack(slice.bytes, packed_bytes, head.count, records_, slice.expanded)) return false;
  }
  if (head.slots != 0) add_records(trace_, {head.tid, head.thread_start_ticks}, slice, records_);
  return true;
}

void BlockContent::hold_expanded(Slice& slice) {
  auto rows = expanded_rows(slice.bytes, slice.packed_bytes, slice.count, *trace_.budget);
  if (!rows) return;
  trace_.expanded.push_back(std::move(*rows));
  slice.expanded = trace_.expanded.back().get();
}

bool BlockContent::add_clock(const Block& block) {
  if (block.payload_bytes % sizeof(ClockPair) != 0) return false;
  for (std::uint64_t at = 0; at < block.payload_bytes; at += sizeof(ClockPair)) {
    trace_.clock_pairs.push_back(read_at<ClockPair>(block.payload + at));
  }
  return true;
}

bool BlockContent::add_short_waits(const Block& block) {
  return for_each_sum<SiteRow>(block, [this](const SiteRow& row, SiteSum&& sum) {
    keep_newer(trace_.threads[{row.tid, row.thread_start_ticks}].short_waits, row.key, std::move(sum));
    return true;
  });
}

bool BlockContent::add_start_short_waits(const Block& block) {
  return for_each_sum<SiteRow>(block, [this](const SiteRow& row, SiteSum&& sum) {
    trace_.start_counters[{row.tid, row.thread_start_ticks}].short_waits[row.key] = std::move(sum);
    return true;
  });
}

bool BlockContent::add_sums(const Block& block) {
  return for_each_sum<CounterRow>(block, [this](const CounterRow& row, SiteSum&& sum) {
    if (sum_hook(row.site.key) == 0) return false;
    Thread& thread = trace_.threads[{row.site.tid, row.site.thread_start_ticks}];
    keep_newer(thread.counters, SumKey{row.site.key, row.object}, std::move(sum));
    return true;
  });
}

bool BlockContent::add_start_counters(const Block& block) {
  return for_each_sum<CounterRow>(block, [this](const CounterRow& row, SiteSum&& sum) {
    if (sum_hook(row.site.key) == 0) return false;
    StartCounters& start = trace_.start_counters[{row.site.tid, row.site.thread_start_ticks}];
    start.counters[{row.site.key, row.object}] = std::move(sum);
    return true;
  });
}

bool BlockContent::add_steps(const Block& block) {
  return for_each_sum<CounterRow>(block, [this](const CounterRow& row, SiteSum&& sum) {
    if (row.site.key < kStepsFromMarks || row.site.key > kStepsFromCalls) return false;
    if (trace_.steps_seen && trace_.steps_seen->lengths.time.count() > sum.time.count()) return true;
    trace_.steps_seen =
        StepsSeen{static_cast<StepsFrom>(row.site.key), {row.site.tid, row.site.thread_start_ticks}, std::move(sum)};
    return true;
  });
}

bool BlockContent::add_events(const Block& block) {
  if (block.payload_bytes % sizeof(EventRow) != 0) return false;
  for (std::uint64_t at = 0; at < block.payload_bytes; at += sizeof(EventRow)) {
    trace_.events.push_back(read_at<EventRow>(block.payload + at));
  }
  return true;
}

bool header_is_whole(const std::byte* header) {
  alignas(8) std::byte blank[kFileHeaderBytes];
  std::memcpy(blank, header, sizeof(blank));
  std::memset(blank + offsetof(FileHeader, checksum), 0, sizeof(std::uint64_t));
  return checksum(blank, sizeof(blank)) == read_at<FileHeader>(header).checksum;
}

void add_stack(Trace& trace, std::uint32_t index, const StackEntry& entry) {
  Stack stack;
  stack.native.assign(entry.native, entry.native + std::min<std::size_t>(entry.native_count, kStackFrames));
  stack.python.assign(entry.python, entry.python + std::min<std::size_t>(entry.python_count, kStackPythonFrames));
  trace.stacks[index] = std::move(stack);
}

void add_records(Trace& trace, const ThreadKey& key, Slice slice, const Records& records) {
  Thread& thread = trace.threads[key];
  std::uint16_t last_hook = 0;
  for (const Record& record : records) {
    if (record.hook != last_hook) slice.hooks_seen[record.hook >> 6 & 3] |= std::uint64_t{1} << (record.hook & 63);
    last_hook = record.hook;
    slice.least_begin_ticks = std::min(slice.least_begin_ticks, record.begin_ticks);
    slice.aggregated += is_aggregated(record);
    slice.least_end_ticks = std::min(slice.least_end_ticks, record.end_ticks);
    if (record.stack != 0 && (thread.stacks.empty() || thread.stacks.back() != record.stack)) {
      thread.stacks.push_back(record.stack);
    }
  }
  thread.slices.push_back(slice);
}

}  // namespace hostprobe::analysis
