// recover.cpp: see recover.h.
#include "recover.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "block_head.h"
#include "liveness.h"
#include "reader.h"
#include "segment_copy.h"

namespace hostprobe::analysis {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// A trace file opened for changing. Two `recover` at the same time must not both append.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) {
    file_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file_ < 0) fail("cannot open it for writing");
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(file_);
      errno = error;
      fail("another hostprobe is recovering it");
    }
  }
  ~LockedFile() { close(file_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Names this very file, whatever stands at its path by now.
  std::string opened_as() const { return "/proc/self/fd/" + std::to_string(file_); }
  std::uint64_t size() const {
    struct stat status {};
    if (fstat(file_, &status) != 0) fail("cannot ask for its size");
    return static_cast<std::uint64_t>(status.st_size);
  }
  void cut(std::uint64_t bytes) const {
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail("cannot cut it");
  }
  void write_at(std::uint64_t offset, const void* bytes, std::size_t count) const {
    const auto* from = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t written = pwrite(file_, from, count, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail("cannot write to it");
      from += written;
      offset += static_cast<std::uint64_t>(written);
      count -= static_cast<std::size_t>(written);
    }
  }
  void read_header(std::byte (&bytes)[kFileHeaderBytes]) const {
    if (pread(file_, bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) fail("cannot read its header");
  }
  void sync() const {
    if (fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS) fail("cannot bring it to disk");
  }

 private:
  int file_ = -1;
};

class BlockWriter {
 public:
  BlockWriter(const LockedFile& file, std::uint64_t end) : file_(file), end_(end) {}

  void begin(BlockKind kind) {
    kind_ = kind;
    payload_.clear();
  }
  void add(const void* bytes, std::size_t count) {
    const auto* from = static_cast<const std::byte*>(bytes);
    payload_.insert(payload_.end(), from, from + count);
  }
  void finish() {
    payload_.resize((payload_.size() + 7) / 8 * 8);
    const BlockHead head = block_head(kind_, payload_.data(), payload_.size());
    file_.write_at(end_, &head, sizeof(head));
    file_.write_at(end_ + sizeof(head), payload_.data(), payload_.size());
    end_ += sizeof(head) + payload_.size();
  }
  std::uint64_t end() const { return end_; }

 private:
  const LockedFile& file_;
  std::uint64_t end_;
  BlockKind kind_ = kBlockRecords;
  std::vector<std::byte> payload_;
};

void write_strings(const SegmentCopy& copy, BlockWriter& out) {
  if (copy.strings.empty()) return;
  out.begin(kBlockStrings);
  const StringsHead head{0, static_cast<std::uint32_t>(copy.strings.size())};
  out.add(&head, sizeof(head));
  out.add(copy.strings.data(), copy.strings.size());
  out.finish();
}

void write_stacks(const SegmentCopy& copy, BlockWriter& out) {
  for (const auto& [index, entry] : copy.stacks) {
    out.begin(kBlockStacks);
    const StacksHead head{index, 1};
    out.add(&head, sizeof(head));
    out.add(&entry, sizeof(entry));
    out.finish();
  }
}

void write_threads(const Trace& trace, BlockWriter& out) {
  out.begin(kBlockThreads);
  for (const auto& [key, thread] : trace.threads) {
    ThreadEntry entry = thread.entry;
    entry.tid = key.tid;
    entry.start_ticks = key.start_ticks;
    // Calls that the kill cut short never became records; behind the last record they would look lost for ever.
    // A shared entry counts those of other threads too.
    if (entry.stands_for == 0) entry.records = thread.kept + thread.lost;
    out.add(&entry, sizeof(entry));
  }
  out.finish();
}

template <typename Row>
void write_row(BlockKind kind, const Row& row, const std::vector<std::uint64_t>& words, BlockWriter& out) {
  out.begin(kind);
  out.add(&row, sizeof(row));
  out.add(words.data(), words.size() * sizeof(std::uint64_t));
  out.finish();
}

void write_all_sums(const Trace& trace, BlockWriter& out) {
  for (const auto& [key, thread] : trace.threads) {
    for (const auto& [place, sum] : thread.short_waits) {
      const std::vector<std::uint64_t> words = bucket_words(sum);
      write_row(kBlockShortWaits, site_row(key.tid, key.start_ticks, place, sum, words.size()), words, out);
    }
    for (const auto& [place, sum] : thread.counters) {
      const std::vector<std::uint64_t> words = bucket_words(sum);
      const CounterRow row{site_row(key.tid, key.start_ticks, place.first, sum, words.size()), place.second,
                           sum.amount};
      write_row(kBlockCounters, row, words, out);
    }
  }
}

// What the file has is there, and what a dump has may go with it: it is in the counters.
std::uint64_t write_records(const Trace& trace, BlockWriter& out) {
  std::uint64_t count = 0;
  for (const auto& [key, thread] : trace.threads) {
    for (const Slice& slice : thread.slices) {
      if (!slice.from_segment) continue;
      out.begin(kBlockRecords);
      const RecordsHead head{key.start_ticks, slice.first_sequence, key.tid, slice.slots, slice.count, 0};
      out.add(&head, sizeof(head));
      out.add(slice.bytes, std::size_t{slice.count} * sizeof(Record));
      out.finish();
      count += slice.count;
    }
  }
  return count;
}

void write_header(const LockedFile& file, const Trace& trace, std::uint64_t data_bytes) {
  alignas(8) std::byte bytes[kFileHeaderBytes];
  file.read_header(bytes);
  FileHeader header;
  std::memcpy(&header, bytes, sizeof(header));
  header.state = kFileRecovered;
  header.data_bytes = data_bytes;
  header.last = trace.last;
  header.process_cpu_ns = trace.process_cpu_ns;
  header.writer_cpu_ns = trace.writer_cpu_ns;
  std::uint64_t records = 0, quiet = 0, slow = 0;
  for (const auto& [key, thread] : trace.threads) {
    records += thread.kept + thread.lost;
    quiet += thread.entry.quiet_calls;
    slow += thread.entry.own_ticks;
  }
  header.records = std::max(header.records, records);
  header.quiet_calls = std::max(header.quiet_calls, quiet);
  header.own_ticks = std::max(header.own_ticks, slow);
  header.lost = trace.lost();
  header.checksum = 0;
  std::memcpy(bytes, &header, sizeof(header));
  header.checksum = checksum(bytes, sizeof(bytes));
  std::memcpy(bytes, &header, sizeof(header));
  file.write_at(0, bytes, sizeof(bytes));
}

std::uint64_t append_segment(const LockedFile& file, const Trace& trace, const SegmentCopy& copy) {
  const std::uint64_t size = file.size();
  const std::uint64_t end = trace.cut_short ? trace.whole_end : (size + 7) / 8 * 8;
  BlockWriter out(file, end);
  std::uint64_t records = 0;
  try {
    // Whatever the cut-short block was to hold is still in the segment: the writer frees nothing before it is written.
    if (trace.cut_short) file.cut(end);
    write_strings(copy, out);
    write_stacks(copy, out);
    write_threads(trace, out);
    write_all_sums(trace, out);
    records = write_records(trace, out);
    file.sync();
  } catch (const std::system_error&) {
    file.cut(std::min(end, size));
    throw;
  }
  write_header(file, trace, out.end());
  file.sync();
  return records;
}

// A process that was killed right after it had closed its trace, or could not reach its own memory any more (it left its
// IPC namespace), leaves the segment behind. The cookie tells that it is that one, the count that nobody is in it.
void free_leftover(const FileHeader& header) {
  std::string why;
  shmid_ds status{};
  if (header.segment_id < 0 || shmctl(header.segment_id, IPC_STAT, &status) != 0 || status.shm_nattch != 0) return;
  if (copy_segment(header.segment_id, header.cookie, {false}, why)) shmctl(header.segment_id, IPC_RMID, nullptr);
}

void recover_locked(const LockedFile& file, RecoveryAnswer& answer) {
  const Trace trace = read_trace(answer.path, file.opened_as());
  if (!trace.header_whole) {
    answer.what = "its header is damaged, so its shared memory cannot be found";
    return;
  }
  if (trace.header.state != kFileOpen) {
    answer.result = Recovery::kNotNeeded;
    free_leftover(trace.header);
    return;
  }
  const Liveness liveness = process_liveness(trace.header);
  if (liveness != Liveness::kDead) {
    answer.result = liveness == Liveness::kLives ? Recovery::kLives : Recovery::kElsewhere;
    return;
  }
  const auto copy =
      copy_segment(trace.header.segment_id, trace.header.cookie, {false, trace.aggregates()}, answer.what);
  if (!copy || trace.segment != SegmentState::kRead) {
    answer.result = Recovery::kGone;
    return;
  }
  answer.records = append_segment(file, trace, *copy);
  answer.result = Recovery::kDone;
  if (shmctl(trace.header.segment_id, IPC_RMID, nullptr) != 0) {
    answer.what = "its shared memory could not be removed: " + std::generic_category().message(errno);
  }
}

}  // namespace

RecoveryAnswer recover_trace(const std::string& path) {
  RecoveryAnswer answer;
  answer.path = path;
  try {
    const LockedFile file(path);
    if (file.size() == 0) {
      answer.result = Recovery::kEmpty;
      return answer;
    }
    recover_locked(file, answer);
  } catch (const TraceError& error) {
    answer.what = std::string(error.what()) + " (offset " + std::to_string(error.offset) + ")";
  } catch (const std::system_error& error) {
    answer.what = error.what();
  }
  return answer;
}

std::vector<RecoveryAnswer> recover_run(const std::string& run,
                                        const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  const std::vector<std::string> paths = trace_paths(run);
  std::vector<std::uint64_t> bytes;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    bytes.push_back(error ? 0 : size);
  }
  const std::uint64_t all = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  std::uint64_t done = 0;
  std::vector<RecoveryAnswer> answers;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    answers.push_back(recover_trace(paths[i]));
    done += bytes[i];
    if (progress) progress(done, all);
  }
  return answers;
}

}  // namespace hostprobe::analysis
