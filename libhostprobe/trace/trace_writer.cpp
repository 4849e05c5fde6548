// trace_writer.cpp: see trace_writer.h.
#include "trace_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "block_head.h"
#include "hook_list.h"
#include "trace_head.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kStringsSliceBytes = 1 << 20;
constexpr std::uint64_t kMostStringsBytes = UINT32_MAX - kStringsSliceBytes;  // an offset is 32 bits wide

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void pad(std::string& bytes) { bytes.resize((bytes.size() + 7) / 8 * 8, '\0'); }

void set_label(char (&field)[16], std::string_view label) { set_field(field, label); }

HookRow row_of(const HookShape& shape) {
  HookRow row{};
  set_field(row.name, shape.name);
  for (std::size_t i = 0; i < shape.labels.size() && i < std::size(row.labels); ++i)
    set_label(row.labels[i], shape.labels[i]);
  row.family = static_cast<std::uint8_t>(shape.family);
  row.found = 1;
  row.blocking = shape.blocking;
  row.launch = shape.launch;
  row.type = shape.type;
  // What another tool saw it knows by name alone.
  const Hook hook = parse_hook(row);
  row.role = static_cast<std::uint8_t>(hook.role);
  row.traits = hook.traits;
  return row;
}

// Of a file's name: what a host calls itself may hold anything.
std::string file_part(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x21 || c == '/' || c == 0x7f; }, '_');
  if (text.empty() || text[0] == '.') text = "unknown" + text;
  return text;
}

}  // namespace

TraceWriter::TraceWriter(std::string run, const FileHeader& header) : run_(std::move(run)) {
  set_header(header);
  std::filesystem::create_directories(run_);
  unfinished_ = run_ + "/.unfinished-XXXXXX";
  file_ = mkostemp(unfinished_.data(), O_CLOEXEC);  // 0600
  if (file_ < 0) fail("cannot make a file in " + run_);
}

void TraceWriter::set_header(const FileHeader& header) {
  header_ = header;
  header_.magic = kFileMagic;
  header_.version = kFileVersion;
  header_.header_bytes = kFileHeaderBytes;
  // Of a dump the process goes on behind it.
  header_.state = header.source == kFromDump ? header.state : kFileClosed;
  header_.segment_id = -1;
  header_.first = header_.start;
}

TraceWriter::~TraceWriter() {
  if (file_ >= 0) close(file_);
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

std::uint16_t TraceWriter::add_hook(const HookShape& shape) {
  if (hooks_.size() >= kMostHooks) throw TraceError("more kinds of calls than a trace can name", end_);
  hooks_.push_back(row_of(shape));
  return static_cast<std::uint16_t>(hooks_.size());
}

std::uint64_t TraceWriter::add_string(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto known = string_ids_.find(text); known != string_ids_.end()) return known->second;
  const std::uint64_t begin = strings_begin_ + strings_.size();
  if (begin + text.size() > kMostStringsBytes) return 0;
  append(strings_, StringHead{static_cast<std::uint32_t>(text.size()), 0});
  strings_ += text;
  pad(strings_);
  const std::uint64_t id = begin / 8 + 1;
  string_ids_.emplace(texts_.emplace_back(text), id);
  if (strings_.size() >= kStringsSliceBytes) write_strings();
  return id;
}

void TraceWriter::add_module(const Module& module) {
  ModuleRow row{};
  row.begin = module.begin;
  row.end = module.end;
  row.bias = module.bias;
  row.seen_ticks = module.seen_ticks;
  row.path_bytes = static_cast<std::uint32_t>(module.path.size());
  std::string payload;
  append(payload, row);
  payload += module.path;
  write_block(kBlockModules, std::move(payload));
}

void TraceWriter::add_stack(const StackEntry& stack) {
  write_strings();
  std::string payload;
  append(payload, StacksHead{stacks_++, 1});
  append(payload, stack);
  write_block(kBlockStacks, std::move(payload));
}

void TraceWriter::add_thread(const ThreadEntry& entry) { threads_.push_back(entry); }

void TraceWriter::add_clock(const ClockPair& pair) {
  std::string payload;
  append(payload, pair);
  write_block(kBlockClock, std::move(payload));
}

void TraceWriter::add_records(const ThreadKey& thread, const std::vector<Record>& records) {
  write_table();
  std::uint64_t& sequence = sequences_[thread];
  for (std::size_t at = 0; at < records.size(); at += kPackedMost) {
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(kPackedMost, records.size() - at));
    std::string payload;
    payload.reserve(sizeof(RecordsHead) + count * sizeof(Record));
    append(payload, RecordsHead{thread.start_ticks, sequence, thread.tid, count, count, 0});
    payload.append(reinterpret_cast<const char*>(&records[at]), count * sizeof(Record));
    write_block(kBlockRecords, std::move(payload));
    sequence += count;
    records_ += count;
  }
}

void TraceWriter::add_kernel(std::uint32_t cpu, std::uint64_t begin_ticks, std::uint64_t lost,
                             const std::vector<KernelRow>& rows) {
  KernelHead head{};
  head.begin_ticks = rows.empty() ? begin_ticks : std::min(begin_ticks, rows.front().ticks);
  head.end_ticks = rows.empty() ? begin_ticks : std::max(begin_ticks, rows.back().ticks);
  head.lost = lost;
  head.count = static_cast<std::uint32_t>(rows.size());
  head.cpu = cpu;
  std::string payload;
  append(payload, head);
  payload.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(KernelRow));
  write_block(kBlockKernel, std::move(payload));
}

void TraceWriter::add_kernel_names(const std::vector<KernelNameRow>& names) {
  if (names.empty()) return;
  write_block(kBlockKernelNames,
              std::string(reinterpret_cast<const char*>(names.data()), names.size() * sizeof(names[0])));
}

void TraceWriter::add_kernel_totals(KernelTotalsHead head, const std::vector<KernelThreadTotals>& threads,
                                    const std::vector<KernelTookTotals>& took,
                                    const std::vector<KernelIrqTotals>& irqs) {
  head.version = kKernelTotalsVersion;
  head.threads = static_cast<std::uint32_t>(threads.size());
  head.took = static_cast<std::uint32_t>(took.size());
  head.irqs = static_cast<std::uint32_t>(irqs.size());
  std::string payload;
  append(payload, head);
  for (const KernelThreadTotals& row : threads) append(payload, row);
  for (const KernelTookTotals& row : took) append(payload, row);
  for (const KernelIrqTotals& row : irqs) append(payload, row);
  write_block(kBlockKernelTotals, std::move(payload));
}

void TraceWriter::add_event(const EventRow& event) {
  write_block(kBlockEvents, std::string(reinterpret_cast<const char*>(&event), sizeof(event)));
}

// The whole of it again where it has grown: a later table may only tell more.
void TraceWriter::write_table() {
  if (hooks_written_ == hooks_.size()) return;
  hooks_written_ = hooks_.size();
  write_block(kBlockHooks, std::string(reinterpret_cast<const char*>(hooks_.data()), hooks_.size() * sizeof(HookRow)));
}

void TraceWriter::write_strings() {
  if (strings_.empty()) return;
  std::string payload;
  append(payload, StringsHead{static_cast<std::uint32_t>(strings_begin_), static_cast<std::uint32_t>(strings_.size())});
  strings_begin_ += strings_.size();
  write_block(kBlockStrings, payload + strings_);
  strings_.clear();
}

void TraceWriter::write_block(BlockKind kind, std::string payload) {
  pad(payload);
  const BlockHead head = block_head(kind, payload.data(), payload.size());
  write_at(end_, reinterpret_cast<const char*>(&head), sizeof(head));
  write_at(end_ + sizeof(head), payload.data(), payload.size());
  end_ += sizeof(head) + payload.size();
}

void TraceWriter::write_at(std::uint64_t offset, const char* bytes, std::size_t count) const {
  while (count > 0) {
    const ssize_t written = pwrite(file_, bytes, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot write into " + run_);
    bytes += written;
    offset += static_cast<std::uint64_t>(written);
    count -= static_cast<std::size_t>(written);
  }
}

std::string TraceWriter::give_name() {
  const std::string before = run_ + "/" + file_part(host_of(header_)) + "-" + std::to_string(header_.pid) + "-";
  for (std::uint64_t start = header_.start.monotonic_ns;; ++start) {
    const std::string path = before + std::to_string(start) + kFileSuffix;
    if (link(unfinished_.c_str(), path.c_str()) == 0) return path;
    if (errno != EEXIST) fail("cannot name a file " + path);
  }
}

void TraceWriter::write_header() {
  header_.records = records_;
  header_.data_bytes = end_;
  header_.checksum = 0;
  alignas(8) char page[kFileHeaderBytes] = {};
  std::memcpy(page, &header_, sizeof(header_));
  header_.checksum = checksum(page, sizeof(page));
  std::memcpy(page, &header_, sizeof(header_));
  write_at(0, page, sizeof(page));
}

std::string TraceWriter::finish() {
  write_table();
  write_strings();
  for (ThreadEntry& entry : threads_) {
    entry.records = sequences_[{entry.tid, entry.start_ticks}];
    std::string payload;
    append(payload, entry);
    write_block(kBlockThreads, std::move(payload));
  }
  write_header();
  return give_name();
}

}  // namespace hostprobe::analysis
