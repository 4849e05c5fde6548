// flight.cpp: see flight.h.
#include "probe/writer/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "format/asked_trigger.h"
#include "probe/record/chunk.h"
#include "probe/record/limits.h"
#include "probe/record/thread.h"
#include "probe/record/trigger.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/drain.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/record_block.h"
#include "probe/writer/file/trace_file.h"
#include "probe/sources/frequency.h"
#include "probe/sources/hang.h"
#include "probe/sources/machine_load.h"
#include "probe/sources/sample_rows.h"
#include "probe/sources/switches.h"

namespace hostprobe::probe {

namespace {

// A list through ChunkHead::next, index plus 1.
HP_OF_RECORDING std::uint32_t g_oldest = 0;
HP_OF_RECORDING std::uint32_t g_newest = 0;
HP_OF_RECORDING std::uint32_t g_kept = 0;

HP_OF_RECORDING RecordBlock g_dump_block;
HP_OF_RECORDING std::uint32_t g_dumps = 0;  // number of the newest
HP_OF_RECORDING std::uint32_t g_dumps_removed = 0;
HP_OF_RECORDING std::uint64_t g_dump_bytes = 0;  // of all that are there
HP_OF_RECORDING std::uint64_t g_next_dump_ns = 0;
HP_OF_RECORDING Trigger g_refused_trigger;
HP_OF_RECORDING std::uint64_t g_refused = 0;

std::uint64_t most_kept() {
  std::uint64_t wanted = (g_options.flight_mb << 20) / kChunkBytes;
  std::uint64_t half = g_segment.header->chunk_count / 2;
  return g_segment.header->chunk_count > wanted + half / 2 ? wanted : half;
}

ChunkHead* take_oldest() {
  if (g_oldest == 0) return nullptr;
  ChunkHead* chunk = chunk_at(g_oldest - 1);
  g_oldest = chunk->next;
  if (g_oldest == 0) g_newest = 0;
  --g_kept;
  return chunk;
}

bool is_too_old(const ChunkHead* chunk, std::uint64_t now) {
  std::uint32_t end = last_complete(chunk);
  if (end == 0) return true;
  std::uint64_t newest = reinterpret_cast<const Record*>(chunk + 1)[end - 1].end_ticks;
  // What came before a hang is kept until somebody had the time to notice it.
  std::uint64_t second = g_limits.flight_ticks / (g_options.flight_s == 0 ? 1 : g_options.flight_s);
  std::uint64_t most = g_limits.flight_ticks + quiet_ns() / 1000000000u * second;
  return now > newest && now - newest > most;
}

void dump_path(char (&path)[sizeof TraceFile::path], const char* trace, std::uint32_t number) {
  std::size_t length = strlen(trace) - (sizeof kFileSuffix - 1);
  int used = snprintf(path, sizeof path, "%.*s-%04u%s", static_cast<int>(length), trace, number, kDumpSuffix);
  if (used >= static_cast<int>(sizeof path)) path[0] = 0;
}

// While it lives, blocks go into the dump.
class DumpFile {
 public:
  explicit DumpFile(std::uint32_t number) : trace_(g_file) {
    g_file.error = 0;
    g_file.bytes = kFileHeaderBytes;
    g_file.names_hooks = true;  // the table is the trace's
    dump_path(g_file.path, trace_.path, number);
    g_file.fd = open(g_file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (g_file.fd < 0)
      g_file.error = errno;
    else
      fchmod(g_file.fd, 0600);  // whatever the umask left
    write_header();
  }
  ~DumpFile() {
    write_header();
    close_file();
    g_file = trace_;
    g_header.file_errno = trace_.error;
  }
  DumpFile(const DumpFile&) = delete;
  DumpFile& operator=(const DumpFile&) = delete;

  // Counters that make room for others go into the trace: a dump may be removed.
  void aggregate(ChunkHead* chunk, std::uint32_t end) {
    swap_files();
    probe::aggregate(chunk, end);
    swap_files();
  }
  std::uint64_t bytes() const { return g_file.bytes; }
  int error() const { return g_file.error; }

 private:
  void swap_files() {
    TraceFile other = trace_;
    trace_ = g_file;
    g_file = other;
  }

  TraceFile trace_;  // the one that blocks do not go into now
};

void dump_kept_chunks(DumpFile& dump) {
  ChunkHead* chunks[RecordBlock::kMostChunks];
  std::uint32_t count = 0;
  do {
    count = 0;
    while (count < RecordBlock::kMostChunks && (chunks[count] = take_oldest()) != nullptr) ++count;
    sort_by_thread(chunks, count);
    for (std::uint32_t i = 0; i < count; ++i) dump.aggregate(chunks[i], last_complete(chunks[i]));
    for (std::uint32_t i = 0; i < count; ++i) g_dump_block.add(chunks[i], last_complete(chunks[i]));
    g_dump_block.write();
    for (std::uint32_t i = 0; i < count; ++i) recycle_chunk(chunks[i]);
  } while (count == RecordBlock::kMostChunks);
}

void dump_open_chunks(DumpFile& dump) {
  for (std::uint32_t i = 0, used = threads_used(); i < used; ++i) {
    ChunkHead* chunk = open_chunk_of(g_segment.threads[i]);
    if (chunk == nullptr) continue;
    std::uint32_t end = first_incomplete(chunk);
    dump.aggregate(chunk, end);
    g_dump_block.add(chunk, end);
    g_dump_block.write();
  }
}

void remove_oldest_dump() {
  char path[sizeof TraceFile::path];
  dump_path(path, g_file.path, ++g_dumps_removed);
  struct stat file {};
  std::uint64_t bytes = stat(path, &file) == 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
  unlink(path);
  g_dump_bytes -= bytes < g_dump_bytes ? bytes : g_dump_bytes;
  note_event(kEventDumpGone, 0, g_dumps_removed, bytes, "HOSTPROBE_DUMPS_MB");
}

void write_dump(const Trigger& trigger) {
  g_dump_block.add_flags(kRecordAggregated);
  std::uint64_t before = g_dump_block.slots() - g_dump_block.lost();
  std::uint32_t number = ++g_dumps;
  int error = 0;
  {
    DumpFile dump(number);
    dump_kept_chunks(dump);
    dump_open_chunks(dump);
    write_living();
    dump_switches();
    write_samples(g_limits.flight_ticks);
    write_frequency();
    write_machine_load();
    error = dump.error();
    g_dump_bytes += dump.bytes();
  }
  std::uint64_t records = g_dump_block.slots() - g_dump_block.lost() - before;
  note_event(kEventTrigger, trigger.reason, number, records, error == 0 ? trigger.text : strerrordesc_np(error));
  while (g_dump_bytes > g_options.dumps_mb << 20 && g_dumps_removed + 1 < g_dumps) remove_oldest_dump();
}

}  // namespace

void keep_chunk(ChunkHead* chunk) {
  chunk->next = 0;
  std::uint32_t index = chunk_index(chunk) + 1;
  if (g_newest != 0)
    chunk_at(g_newest - 1)->next = index;
  else
    g_oldest = index;
  g_newest = index;
  ++g_kept;
}

void age_kept_chunks() {
  std::uint64_t now = ticks(), most = most_kept();
  while (g_kept > most || (g_oldest != 0 && is_too_old(chunk_at(g_oldest - 1), now))) {
    ChunkHead* chunk = take_oldest();
    aggregate(chunk, last_complete(chunk));
    recycle_chunk(chunk);
  }
}

void note_refused_triggers() {
  if (g_refused != 0) note_event(kEventTrigger, g_refused_trigger.reason, 0, g_refused, g_refused_trigger.text);
  g_refused = 0;
}

void answer_trigger() {
  Trigger trigger;
  if (!take_trigger(trigger) || g_options.mode != kFlight) return;
  std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
  if (now < g_next_dump_ns && !is_asked_by_person(trigger.reason)) {
    ++g_refused;
    g_refused_trigger = trigger;
    return;
  }
  note_refused_triggers();
  write_dump(trigger);
  g_next_dump_ns = now + g_options.trigger_s * 1000000000u;
}

}  // namespace hostprobe::probe
