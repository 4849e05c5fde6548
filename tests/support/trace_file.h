// trace_file.h: builds trace files and segments byte by byte, so that tests of the reading side need no probe.
//
// It writes what format/file.h and format/segment.h say, by
// its own code: a mistake in the reader's checksum or offsets must not be shared by both sides.
#pragma once

#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "format/file.h"

namespace hostprobe::test {

// Two ticks are one nanosecond, so that a reader that forgets to convert is wrong by a factor.
inline constexpr std::uint64_t kTicksPerNs = 2;
inline constexpr std::uint64_t kStartTicks = 1'000'000'000;
inline constexpr std::uint64_t kStartMonotonicNs = 5'000'000'000;
inline constexpr std::uint64_t kStartRealtimeNs = 1'700'000'000'000'000'000;

// Ticks of a moment `us` microseconds after the start of every test trace.
constexpr std::uint64_t at_us(double us) {
  return kStartTicks + static_cast<std::uint64_t>(us * 1000 * static_cast<double>(kTicksPerNs));
}
constexpr ClockPair clock_at_us(double us) {
  const auto ns = static_cast<std::uint64_t>(us * 1000);
  return {at_us(us), kStartMonotonicNs + ns, kStartRealtimeNs + ns};
}

template <std::size_t N>
void set_text(char (&field)[N], std::string_view text) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), std::min(N - 1, text.size()));
}

inline std::uint64_t format_checksum(const std::string& bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = std::rotl(hash ^ word, 27) * 0x100000001b3;
  }
  return hash;
}

template <typename T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes;
}

struct HookLook {
  std::string name;
  Family family = Family::kWait;
  std::vector<std::string> labels = {"object:hex", "waker:post", "site:code", "result:i"};
  bool blocking = true;
  bool launch = false;
  bool found = true;
  HookRole role = HookRole::kUnsaid;  // then the name decides, as in files of versions 1 to 3
  std::uint8_t traits = 0;
};

inline HookLook wait_hook(const std::string& name) { return {.name = name}; }
inline HookLook launch_hook(const std::string& name) {
  return {.name = name,
          .family = Family::kCuda,
          .labels = {"kernel:str", "grid:dim", "block:dim", "stream:hex", "shared_bytes"},
          .blocking = false,
          .launch = true};
}
inline HookLook sync_hook(const std::string& name) {
  return {.name = name, .family = Family::kCuda, .labels = {"stream:hex", "", "site:code"}};
}

inline HookRow hook_row(const HookLook& look) {
  HookRow row{};
  set_text(row.name, look.name);
  set_text(row.versions, look.family == Family::kCuda ? "" : "GLIBC_2.34");
  for (std::size_t i = 0; i < look.labels.size(); ++i) set_text(row.labels[i], look.labels[i]);
  row.family = static_cast<std::uint8_t>(look.family);
  row.found = look.found;
  row.blocking = look.blocking;
  row.launch = look.launch;
  row.role = static_cast<std::uint8_t>(look.role);
  row.traits = look.traits;
  return row;
}

struct Call {
  std::uint16_t hook = 1;
  double begin_us = 0;
  double end_us = 0;
  std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0;
  std::uint16_t flags = 0;
  std::uint16_t stack = 0;
  std::uint16_t lap = 1;
};

inline Record record_of(const Call& call) {
  return {at_us(call.begin_us),
          at_us(call.end_us),
          call.hook,
          call.lap,
          call.flags,
          call.stack,
          call.a,
          call.b,
          call.c,
          call.d,
          call.e};
}

inline ThreadEntry thread_entry(std::uint32_t tid, std::string_view name = "", std::uint64_t records = 0) {
  ThreadEntry entry{};
  entry.state = kThreadLive;
  entry.tid = tid;
  entry.start_ticks = at_us(0);
  entry.records = records;
  set_text(entry.name, name);
  return entry;
}

inline std::string stack_bytes(const std::vector<std::uint64_t>& native, const std::vector<std::uint32_t>& python) {
  StackEntry entry{};
  entry.key = 1;
  entry.ready = 1;
  entry.native_count = static_cast<std::uint16_t>(native.size());
  entry.python_count = static_cast<std::uint16_t>(python.size());
  std::copy(native.begin(), native.end(), entry.native);
  std::copy(python.begin(), python.end(), entry.python);
  return bytes_of(entry);
}

// A strings area and the ids of what is in it.
class StringArea {
 public:
  std::uint32_t add(std::string_view text) {
    const auto id = static_cast<std::uint32_t>(bytes_.size() / 8 + 1);
    const StringHead head{static_cast<std::uint32_t>(text.size()), 0};
    bytes_ += padded(bytes_of(head) + std::string(text));
    return id;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class TraceFile {
 public:
  TraceFile() {
    header.magic = kFileMagic;
    header.version = kFileVersion;
    header.header_bytes = kFileHeaderBytes;
    header.state = kFileClosed;
    header.pid = 4242;
    header.parent_pid = 4000;
    header.rank = header.local_rank = header.segment_id = -1;
    header.start = clock_at_us(0);
    header.first = clock_at_us(10);
    header.last = clock_at_us(1'000'000);
    header.process_cpu_ns = 400'000'000;
    set_text(header.mode, "trace");
    set_text(header.host, "testhost");
    set_text(header.boot_id, "no-such-boot");
    set_text(header.program, "/usr/bin/python3.11");
    set_text(header.command, "python3 train.py");
  }

  FileHeader header{};

  // As if process `pid` of this machine, in this boot, had just begun to write it.
  void belongs_to(pid_t pid, std::string_view boot_id) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::uint64_t now_ns =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    for (ClockPair* pair : {&header.start, &header.first, &header.last})
      pair->monotonic_ns += now_ns - kStartMonotonicNs;
    header.pid = static_cast<std::uint32_t>(pid);
    set_text(header.boot_id, boot_id);
  }

  void block(BlockKind kind, const std::string& payload) {
    const std::string whole = padded(payload);
    BlockHead head{};
    head.magic = kBlockMagic;
    head.kind = kind;
    head.payload_bytes = whole.size();
    head.checksum = format_checksum(whole);
    head.head_checksum = format_checksum(bytes_of(head).substr(0, offsetof(BlockHead, head_checksum)));
    blocks_ += bytes_of(head) + whole;
  }
  void hooks(const std::vector<HookLook>& looks) {
    std::string payload;
    for (const HookLook& look : looks) payload += bytes_of(hook_row(look));
    block(kBlockHooks, payload);
  }
  void module(std::uint64_t begin, std::uint64_t end, const std::string& path, std::uint64_t seen_ticks = 0) {
    ModuleRow row{};
    row.begin = begin;
    row.end = end;
    row.bias = begin;
    row.seen_ticks = seen_ticks;
    row.path_bytes = static_cast<std::uint32_t>(path.size());
    block(kBlockModules, bytes_of(row) + padded(path));
  }
  void strings(const StringArea& area) {
    const StringsHead head{0, static_cast<std::uint32_t>(area.bytes().size())};
    block(kBlockStrings, bytes_of(head) + area.bytes());
  }
  void stack(std::uint32_t index, const std::vector<std::uint64_t>& native, const std::vector<std::uint32_t>& python) {
    const StacksHead head{index, 1};
    block(kBlockStacks, bytes_of(head) + stack_bytes(native, python));
  }
  void thread(const ThreadEntry& entry) { block(kBlockThreads, bytes_of(entry)); }
  void clock(const ClockPair& pair) { block(kBlockClock, bytes_of(pair)); }
  void calls(std::uint32_t tid, std::uint64_t first_sequence, const std::vector<Call>& calls, std::uint32_t slots = 0) {
    RecordsHead head{};
    head.thread_start_ticks = at_us(0);
    head.first_sequence = first_sequence;
    head.tid = tid;
    head.count = static_cast<std::uint32_t>(calls.size());
    head.slots = std::max(slots, head.count);
    std::string payload = bytes_of(head);
    for (const Call& call : calls) payload += bytes_of(record_of(call));
    block(kBlockRecords, payload);
  }

  std::string bytes() const {
    FileHeader whole = header;
    whole.data_bytes = kFileHeaderBytes + blocks_.size();
    whole.checksum = 0;
    std::string page = bytes_of(whole);
    page.resize(kFileHeaderBytes, '\0');
    whole.checksum = format_checksum(page);
    page.replace(0, sizeof(whole), bytes_of(whole));
    return page + blocks_;
  }
  void write(const std::filesystem::path& path) const { write_bytes(path, bytes()); }

  static void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
    // Some file systems bring a file to disk at once when it is cut to nothing and written anew.
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string blocks_;
};

// A real System V segment, laid out as format/segment.h says. Removed with the object.
class TraceSegment {
 public:
  static constexpr std::uint32_t kThreads = 4;
  static constexpr std::uint32_t kStacks = 4;
  static constexpr std::uint32_t kCounters = 4;
  static constexpr std::uint32_t kStringsBytes = 4096;
  static constexpr std::uint32_t kChunks = 4;
  static constexpr std::uint32_t kSmallChunkBytes = 8 * sizeof(Record);  // room for 7 records

  explicit TraceSegment(std::uint64_t cookie) {
    const std::size_t threads = 4096, stacks = threads + kThreads * sizeof(ThreadEntry);
    const std::size_t counters = stacks + kStacks * sizeof(StackEntry),
                      strings = counters + kCounters * sizeof(SiteCounter);
    const std::size_t chunks = strings + kStringsBytes;
    const std::size_t size = chunks + kChunks * kSmallChunkBytes;
    id_ = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
    base_ = static_cast<char*>(shmat(id_, nullptr, 0));
    SegmentHeader& h = header();
    h = SegmentHeader{};
    h.magic = kSegmentMagic;
    h.version = kSegmentVersion;
    h.pid = static_cast<std::uint32_t>(getpid());
    h.cookie = cookie;
    h.segment_bytes = size;
    h.threads_offset = threads;
    h.stacks_offset = stacks;
    h.sums_offset = counters;
    h.strings_offset = strings;
    h.chunks_offset = chunks;
    h.thread_count = kThreads;
    h.stack_count = kStacks;
    h.sum_count = kCounters;
    h.strings_bytes = kStringsBytes;
    h.chunk_count = h.chunks_ready = kChunks;
    h.chunk_bytes = kSmallChunkBytes;
    h.clock = clock_at_us(2'000'000);
  }
  ~TraceSegment() {
    leave();
    shmctl(id_, IPC_RMID, nullptr);
  }
  TraceSegment(const TraceSegment&) = delete;
  TraceSegment& operator=(const TraceSegment&) = delete;

  // It stays, with nobody in it.
  void leave() {
    if (base_ != nullptr) shmdt(base_);
    base_ = nullptr;
  }

  int id() const { return id_; }
  SegmentHeader& header() { return *reinterpret_cast<SegmentHeader*>(base_); }
  ThreadEntry& thread(std::uint32_t index) {
    return reinterpret_cast<ThreadEntry*>(base_ + header().threads_offset)[index];
  }
  StackEntry& stack(std::uint32_t index) {
    return reinterpret_cast<StackEntry*>(base_ + header().stacks_offset)[index];
  }
  SiteCounter& counters(std::uint32_t index) {
    return reinterpret_cast<SiteCounter*>(base_ + header().sums_offset)[index];
  }
  ChunkHead& chunk(std::uint32_t index) {
    return *reinterpret_cast<ChunkHead*>(base_ + header().chunks_offset + index * header().chunk_bytes);
  }
  Record& slot(std::uint32_t index, std::uint32_t slot) { return reinterpret_cast<Record*>(&chunk(index) + 1)[slot]; }

  void fill(std::uint32_t index, std::uint32_t tid, std::uint64_t first_sequence, const std::vector<Call>& calls) {
    ChunkHead& head = chunk(index);
    head.tid = tid;
    head.thread_start_ticks = at_us(0);
    head.first_sequence = first_sequence;
    head.lap = 1;
    head.state = kChunkFilling;
    for (std::uint32_t i = 0; i < calls.size(); ++i) slot(index, i) = record_of(calls[i]);
  }
  void strings(const StringArea& area) {
    std::memcpy(base_ + header().strings_offset, area.bytes().data(), area.bytes().size());
    header().strings_used = static_cast<std::uint32_t>(area.bytes().size());
  }

 private:
  int id_ = -1;
  char* base_ = nullptr;
};

// A folder that goes away with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hostprobe-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace hostprobe::test
