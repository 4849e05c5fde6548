// reader.cpp: see reader.h. Order matters for a live process: header, dumps, segment, file. What the writer moves from the
// segment to the file in between is then found twice, never nowhere, and the running numbers tell. What is in a dump was in
// the segment or its counters before, so the segment knows of it.
#include "reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "answer/file_name.h"
#include "blocks.h"
#include "dump_files.h"
#include "liveness.h"
#include "segment_copy.h"
#include "slice_order.h"
#include "trace_head.h"

namespace hostprobe::analysis {
namespace {

std::string char_field(const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); }

// The header is rewritten in place every moment, so a reader can meet it half old, half new. A second look tells that
// from damage, which stays the same.
constexpr int kHeaderReads = 5;

struct RawHeader {
  alignas(8) std::byte bytes[kFileHeaderBytes] = {};
  std::size_t size = 0;
  bool whole = false;
  FileHeader fields() const {
    FileHeader header;
    std::memcpy(&header, bytes, sizeof(header));
    return header;
  }
};

RawHeader read_header(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "cannot open it");
  RawHeader raw;
  for (int attempt = 0; attempt < kHeaderReads && !raw.whole; ++attempt) {
    const RawHeader before = raw;
    const ssize_t got = pread(file, raw.bytes, sizeof(raw.bytes), 0);
    raw.size = got < 0 ? 0 : static_cast<std::size_t>(got);
    raw.whole = raw.size == sizeof(raw.bytes) && header_is_whole(raw.bytes);
    if (std::memcmp(before.bytes, raw.bytes, sizeof(raw.bytes)) == 0) break;
  }
  close(file);
  return raw;
}

// <host>-<pid>-<start_ns>.hptrace is all that is left to name a process whose header is damaged.
void name_from_path(const std::string& path, FileHeader& header) {
  std::string name = base_name(path);
  const auto suffix = name.rfind(kFileSuffix);
  if (suffix == std::string::npos) return;
  name.resize(suffix);
  const auto last = name.rfind('-');
  if (last == std::string::npos || last == 0) return;
  const auto middle = name.rfind('-', last - 1);
  if (middle == std::string::npos) return;
  std::from_chars(name.data() + middle + 1, name.data() + last, header.pid);
  std::strncpy(header.host, name.substr(0, middle).c_str(), sizeof(header.host) - 1);
}

class Reader {
 public:
  Reader(std::string path, bool file_only, std::string opened_as = {}, MemoryBudget* budget = nullptr)
      : file_only_(file_only), opened_as_(opened_as.empty() ? path : std::move(opened_as)) {
    trace_.path = std::move(path);
    trace_.budget = budget;
  }

  Trace read() {
    read_head();
    DumpDamages dump_damages = add_dumps(trace_);
    const bool is_probed = trace_.header_whole && trace_.header.source == kFromProbe;
    if (is_probed && trace_.header.state == kFileOpen && !file_only_) look_into_segment();
    if (trace_.alive) dump_damages.tails.clear();
    for (auto* damages : {&dump_damages.lasting, &dump_damages.tails})
      trace_.damages.insert(trace_.damages.end(), damages->begin(), damages->end());
    trace_.file = std::make_unique<MappedFile>(opened_as_);
    trace_.file_bytes = trace_.file->size();
    walk_blocks();
    if (segment_) add_segment();
    finish_threads();
    finish_clock();
    if (trace_.header_whole && trace_.header.state != kFileClosed) find_last_moment(trace_);
    return std::move(trace_);
  }

  // The file, which is read last, holds counters that are newer than what was copied of the segment: they may know of records
  // that the copy says are in no counters.
  bool overtaken() const { return overtaken_; }

 private:
  void read_head() {
    if (is_dump_path(trace_.path)) throw TraceError("a dump: name the trace beside it, or their folder", 0);
    RawHeader raw = read_header(opened_as_);
    if (raw.size == 0) throw TraceError("the file is empty", 0);
    accept_header(raw);
  }

  void accept_header(const RawHeader& raw) {
    FileHeader header = raw.fields();
    if (raw.size < kFileHeaderBytes) {
      const bool ours = raw.size >= sizeof(header.magic) && header.magic == kFileMagic;
      throw TraceError(ours ? "the file ends inside its header" : "not a hostprobe trace", ours ? raw.size : 0);
    }
    trace_.header_whole = raw.whole;
    if (!raw.whole) {
      trace_.damages.push_back({0, kFileHeaderBytes, "the header's checksum does not match"});
      foreign_ = header.magic != kFileMagic;
      header = FileHeader{};
      header.rank = header.local_rank = header.segment_id = -1;
      name_from_path(trace_.path, header);
    } else if (header.magic != kFileMagic) {
      throw TraceError("not a hostprobe trace", 0);
    } else if (header.version > kFileVersion) {
      throw TraceError("written in format version " + std::to_string(header.version) + ", this hostprobe reads up to " +
                           std::to_string(kFileVersion) + ": use a newer hostprobe",
                       offsetof(FileHeader, version));
    }
    trace_.header = header;
  }

  void look_into_segment() {
    trace_.alive = process_liveness(trace_.header) == Liveness::kLives;
    segment_ = copy_segment(trace_.header.segment_id, trace_.header.cookie, {trace_.alive, trace_.aggregates()},
                            why_no_segment_);
    if (!segment_) {
      // The process may have ended properly just now, which closes the file before the segment goes.
      const RawHeader again = read_header(opened_as_);
      if (again.whole) accept_header(again);
      if (trace_.header.state != kFileOpen) return;
    }
    trace_.segment = segment_ ? SegmentState::kRead : SegmentState::kGone;
  }

  void walk_blocks() {
    const std::uint64_t start = std::max<std::uint64_t>(trace_.header.header_bytes, kFileHeaderBytes);
    trace_.whole_end = std::min(start, trace_.file_bytes);
    BlockWalk walk(*trace_.file, trace_.whole_end);
    BlockContent content(trace_);
    Block block;
    bool any = false;
    while (walk.next(block)) {
      any = true;
      if (!content.add(block))
        trace_.damages.push_back({block.offset, block.bytes, "a block whose content makes no sense"});
      trace_.whole_end = block.offset + block.bytes;
    }
    trace_.cut_short = walk.cut_short();
    for (Damage& damage : walk.damages()) note_damage(std::move(damage));
    if (!any && !trace_.header_whole) {
      throw TraceError(foreign_ ? "not a hostprobe trace" : "the header is damaged and no whole block follows", 0);
    }
    note_missing_end();
  }

  void note_damage(Damage damage) {
    const bool at_end = damage.offset + damage.bytes == trace_.file_bytes;
    // A live writer is in the middle of appending; what a kill cut short is still in the segment.
    if (at_end && trace_.cut_short && (trace_.alive || segment_)) return;
    // What a full disk did not take is counted as that; its pieces lie behind the valid part of the file.
    const FileHeader& header = trace_.header;
    const bool was_refused = trace_.header_whole && header.file_errno != 0 && header.lost_in_file > 0;
    if (was_refused && damage.offset >= header.data_bytes) return;
    trace_.damages.push_back(std::move(damage));
  }

  void note_missing_end() {
    if (!trace_.header_whole || trace_.header.state == kFileOpen) return;
    if (trace_.header.data_bytes > trace_.file_bytes) {
      trace_.damages.push_back(
          {trace_.file_bytes, trace_.header.data_bytes - trace_.file_bytes, "the end of the file is missing"});
    }
  }

  void add_segment() {
    for (const ThreadEntry& entry : segment_->threads) trace_.threads[{entry.tid, entry.start_ticks}].entry = entry;
    for (const auto& [index, entry] : segment_->stacks) add_stack(trace_, index, entry);
    for (const SiteCounter& counters : segment_->shorts)
      keep_newer(trace_.threads[{counters.tid, counters.thread_start_ticks}].short_waits, counters.key,
                 site_sum(counters));
    overtaken_ = trace_.alive && file_has_newer_sums();
    for (const SiteCounter& counters : segment_->counters)
      keep_newer(trace_.threads[{counters.tid, counters.thread_start_ticks}].counters,
                 SumKey{counters.key, counters.object}, site_sum(counters));
    trace_.strings.put(0, segment_->strings.data(), segment_->strings.size());
    for (SegmentRun& run : segment_->runs) {
      trace_.segment_chunks.push_back(std::move(run.records));
      const std::vector<std::byte>& bytes = trace_.segment_chunks.back();
      const auto count = static_cast<std::uint32_t>(bytes.size() / sizeof(Record));
      Slice slice{bytes.data(), run.first_sequence, UINT64_MAX, count, count};
      slice.from_segment = true;
      add_records(trace_, run.key, slice, slice.records());
    }
    trace_.lost_without_thread = segment_->header.lost;
    std::copy(std::begin(segment_->header.lost_by), std::end(segment_->header.lost_by), trace_.header.lost_by);
  }

  bool file_has_newer_sums() const {
    std::map<std::pair<ThreadKey, SumKey>, std::uint64_t> copied;
    for (const SiteCounter& counters : segment_->counters)
      copied[{{counters.tid, counters.thread_start_ticks}, {counters.key, counters.object}}] =
          site_sum(counters).time.count();
    for (const SegmentRun& run : segment_->runs) {
      const auto thread = trace_.threads.find(run.key);
      if (run.aggregated || thread == trace_.threads.end()) continue;
      for (const auto& [key, sum] : thread->second.counters)
        if (sum.time.count() > copied[{run.key, key}]) return true;
    }
    return false;
  }

  void finish_threads() {
    for (auto& [key, thread] : trace_.threads) {
      thread.key = key;
      thread.name = char_field(thread.entry.name, sizeof(thread.entry.name));
      order_slices(thread.slices);
      std::sort(thread.stacks.begin(), thread.stacks.end());
      thread.stacks.erase(std::unique(thread.stacks.begin(), thread.stacks.end()), thread.stacks.end());
      count_records(thread);
    }
    settle_merged();
    settle_start_counters();
    if (segment_) return;
    std::uint64_t counted = 0;
    for (const auto& [key, thread] : trace_.threads) counted += thread.lost;
    trace_.lost_without_thread = trace_.header.lost > counted ? trace_.header.lost - counted : 0;
  }

  // What their threads have made is counted in the shared entry; the shared counters lack what is here.
  void settle_merged() {
    const auto merged = std::find_if(trace_.threads.begin(), trace_.threads.end(),
                                     [](const auto& each) { return each.second.entry.stands_for != 0; });
    if (merged == trace_.threads.end()) return;
    Thread& shared = merged->second;
    std::uint64_t kept = shared.kept;
    for (auto& [key, thread] : trace_.threads) {
      if (thread.entry.state != kThreadFree || key.start_ticks < shared.key.start_ticks) continue;
      kept += thread.kept;
      thread.lost = thread.unfinished = 0;
      thread.merged = true;
    }
    shared.lost = std::max(shared.entry.records - std::min(shared.entry.records, kept), shared.entry.lost);
  }

  // Counters of a thread that ended since may have been merged: what they held at first is in the shared ones.
  void settle_start_counters() {
    const auto merged = std::find_if(trace_.threads.begin(), trace_.threads.end(),
                                     [](const auto& each) { return each.second.entry.stands_for != 0; });
    if (merged == trace_.threads.end()) return;
    const Thread& shared = merged->second;
    StartCounters of_shared = std::move(trace_.start_counters[shared.key]);
    for (const auto& [key, start] : trace_.start_counters) {
      const auto thread = trace_.threads.find(key);
      const Thread* own = thread == trace_.threads.end() ? nullptr : &thread->second;
      for (const auto& [place, sum] : start.counters)
        if (own == nullptr || !own->counters.contains(place)) add(of_shared.counters[place], sum);
      for (const auto& [place, sum] : start.short_waits)
        if (own == nullptr || !own->short_waits.contains(place)) add(of_shared.short_waits[place], sum);
    }
    trace_.start_counters[shared.key] = std::move(of_shared);
  }

  void count_records(Thread& thread) {
    std::uint64_t end = 0, aggregated = 0, still_there = 0;
    for (const Slice& slice : thread.slices) {
      thread.kept += slice.count - slice.aggregated;
      still_there += slice.aggregated;
      end = std::max(end, slice.end_sequence());
    }
    for (const auto& [key, sum] : thread.counters) aggregated += sum.time.count();
    thread.kept += aggregated;
    thread.summed_only = aggregated - std::min(aggregated, still_there);
    const std::uint64_t told = began_after_copy(thread) ? thread.kept + thread.entry.lost : thread.entry.records;
    const std::uint64_t reserved = std::max({told, end, taken_by_writer(thread.key)});
    const std::uint64_t missing = reserved - std::min(reserved, thread.kept);
    thread.unfinished = std::min(missing, unfinished_of(thread.key, reserved));
    thread.lost = std::max(missing - thread.unfinished, thread.entry.lost);
  }

  // The file, which is read last, tells of a thread that the segment did not have yet: what it did is in memory, unseen.
  bool began_after_copy(const Thread& thread) const {
    if (!segment_ || !trace_.alive || thread.entry.state != kThreadEnded || thread.kept >= thread.entry.records)
      return false;  // as nearly always
    const auto is_it = [&thread](const auto& copied) {
      return copied.tid == thread.key.tid && copied.start_ticks == thread.key.start_ticks;
    };
    const auto is_its = [&thread](const SegmentRange& range) { return range.key == thread.key; };
    return std::none_of(segment_->threads.begin(), segment_->threads.end(), is_it) &&
           std::none_of(segment_->ranges.begin(), segment_->ranges.end(), is_its);
  }

  // Records that the writer took out of a chunk were there, also when the file did not take them.
  std::uint64_t taken_by_writer(const ThreadKey& key) const {
    std::uint64_t end = 0;
    if (!segment_) return end;
    for (const SegmentRange& range : segment_->ranges)
      if (range.key == key) end = std::max(end, range.first_sequence);
    return end;
  }

  std::uint64_t unfinished_of(const ThreadKey& key, std::uint64_t reserved) const {
    std::uint64_t sum = 0;
    if (!segment_) return sum;
    for (const SegmentRange& range : segment_->ranges) {
      if (range.key != key || range.first_sequence >= reserved) continue;
      const std::uint64_t slots = std::min(range.end_sequence, reserved) - range.first_sequence;
      sum += slots - std::min(slots, range.finished);
    }
    return sum;
  }

  void finish_clock() {
    std::vector<ClockPair> pairs = trace_.clock_pairs;
    const FileHeader& header = trace_.header;
    pairs.insert(pairs.end(), {header.start, header.first, header.last});
    trace_.last = header.last;
    trace_.process_cpu_ns = header.process_cpu_ns;
    trace_.writer_cpu_ns = header.writer_cpu_ns;
    if (segment_) {
      pairs.push_back(segment_->header.clock);
      if (segment_->header.clock.ticks > trace_.last.ticks) trace_.last = segment_->header.clock;
      trace_.process_cpu_ns = std::max(trace_.process_cpu_ns, segment_->header.process_cpu_ns);
      trace_.writer_cpu_ns = std::max(trace_.writer_cpu_ns, segment_->header.writer_cpu_ns);
    }
    for (const ClockPair& pair : trace_.clock_pairs) {
      if (pair.ticks > trace_.last.ticks) trace_.last = pair;
    }
    trace_.clock.set_pairs(pairs);
    if (trace_.clock.known()) return;
    // Ended within its first moments: the same boot's clocks still tell the rate.
    const std::string boot_id = char_field(header.boot_id, sizeof(header.boot_id));
    if (!boot_id.empty() && boot_id == current_boot_id()) {
      pairs.push_back(read_clocks_now());
      trace_.clock.set_pairs(pairs);
    }
    if (!trace_.clock.known()) throw TraceError("fewer than two clock readings, so no time can be told", 0);
  }

  Trace trace_;
  bool file_only_;
  std::string opened_as_;
  bool foreign_ = false;
  bool overtaken_ = false;
  std::optional<SegmentCopy> segment_;
  std::string why_no_segment_;
};

}  // namespace

static Trace read_newest(const std::string& path, const std::string& opened_as, MemoryBudget* budget) {
  constexpr int kMostReads = 5;
  for (int attempt = 1;; ++attempt) {
    Reader reader(path, false, opened_as, budget);
    Trace trace = reader.read();
    if (!reader.overtaken() || attempt == kMostReads) return trace;
  }
}

Trace read_trace(const std::string& path, MemoryBudget* budget) { return read_newest(path, path, budget); }

Trace read_trace(const std::string& path, const std::string& opened_as) {
  return read_newest(path, opened_as, nullptr);
}

Trace read_trace_file_only(const std::string& path) { return Reader(path, true).read(); }

std::vector<std::string> trace_paths(const std::string& run) {
  namespace fs = std::filesystem;
  const fs::file_status status = fs::status(run);
  if (!fs::exists(status)) throw std::system_error(ENOENT, std::generic_category(), run);
  if (!fs::is_directory(status)) return {run};
  std::vector<std::string> paths;
  std::error_code error;
  const fs::directory_iterator entries(run, error);
  if (error) throw std::system_error(error, run);
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() == kFileSuffix) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::optional<FileHeader> head_of(const std::string& path) {
  try {
    const RawHeader raw = read_header(path);
    if (!raw.whole) return std::nullopt;
    const FileHeader header = raw.fields();
    if (header.magic == kFileMagic && header.version <= kFileVersion) return header;
  } catch (const std::system_error&) {
  }  // whoever reads it whole will say why it cannot be opened
  return std::nullopt;
}

std::vector<RunFile> run_files(const std::vector<std::string>& paths) {
  std::vector<RunFile> files;
  for (const std::string& path : paths)
    if (const auto header = head_of(path)) files.push_back({path, *header});
  return files;
}

}  // namespace hostprobe::analysis
