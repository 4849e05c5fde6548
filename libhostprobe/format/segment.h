// segment.h: the shared memory of one process: threads, stacks, strings and chunks.
//
// Room 1 (format/). The probe creates one segment per process and writes it; its writer thread copies finished parts to
// the trace file; a reader that finds a trace still open attaches the same segment read-only and reads what the file
// does not have yet. The segment outlives the process, so nothing in it may be a pointer: offsets are bytes from the
// start of the segment, times are raw clock ticks. Fields marked [atomic] are accessed with std::atomic_ref by both sides.
#pragma once

#include "record.h"

namespace hostprobe {

inline constexpr std::uint64_t kSegmentMagic = 0x314753504f525048;  // "HPROPSG1" as little-endian bytes
inline constexpr std::uint32_t kSegmentVersion = 3;

// One reading of the three clocks at (nearly) the same instant.
struct ClockPair {
  std::uint64_t ticks;         // TSC (x86-64) or CNTVCT (aarch64)
  std::uint64_t monotonic_ns;  // CLOCK_MONOTONIC
  std::uint64_t realtime_ns;   // CLOCK_REALTIME, for people and for other hosts
};

// What `hostprobe ctl` asks of a process, and what the process answers. One that asks takes `owner` (its pid, by compare
// and exchange; that of a dead process may be taken over), fills `request`, raises `asked`; the writer, which looks four
// times a second, fills `answer` and sets `answered` to `asked`; the asker sets `owner` back to 0.
struct Control {
  std::uint32_t owner;     // [atomic]
  std::uint32_t asked;     // [atomic]
  std::uint32_t answered;  // [atomic]
  std::uint32_t refused;   // 1: `answer` says why it was not done
  char request[256];       // "trigger TEXT" "start" "stop" "status" "set NAME=VALUE" "check …": only looks
  char answer[1024];       // lines, NUL-terminated
};

// One record is being aggregated: what its counter held before. A reader of a process that was killed in the middle puts
// it back, and the record counts as not added.
struct Undo {
  std::uint32_t sum;         // [atomic] which counter, plus 1; 0 = nothing is under way
  std::uint32_t chunk;       // which chunk the record is in
  std::uint32_t aggregated;  // of that chunk, before
  std::uint32_t waker_tid;
  std::uint64_t amount;
  struct Before {
    std::uint64_t ticks, max_ticks;
    std::uint32_t bucket, unused;
    std::uint64_t count;  // of that bucket
  } time, wake;
};

// Why records were lost, as far as that was known when they were: each is counted here too.
enum LossCause : std::uint32_t {
  kLostNoChunk = 0,      // every chunk was full: the writer did not keep up, or could not write
  kLostNoWriter = 1,     // the same, and there was no writer to empty them
  kLostThreadTable = 2,  // the thread had no ThreadEntry, because all were taken
  kLostJumpedOut = 3,    // a hook or a wait was left by a jump out of a signal handler, or its thread ended in it
  kLostInHandler = 4,    // made by a signal handler that had interrupted a hook, whose full chunk had to stay
  kLostElsewhere = 5,    // made by another process that shares the memory of this one
  kLostNoSums = 6,       // more call sites than there are counters (modes monitor and flight)
};
inline constexpr std::uint32_t kLossCauses = 8;  // room for more

// One step that the process saw end; nanoseconds of CLOCK_MONOTONIC.
struct StepPlace {
  std::uint64_t end_ns;
  std::uint64_t length_ns;
};
inline constexpr std::uint32_t kStepPlaces = 64;

// The last steps, for whoever looks at the running process. Step N of those counted is at N % kStepPlaces; the count is
// raised last. It begins again where something else shows the steps from then on.
struct StepRing {
  std::uint32_t from;   // [atomic] StepsFrom; 0 = none are seen
  std::uint32_t count;  // [atomic] of steps so far
  StepPlace places[kStepPlaces];
};

// How far the fix `auto` is.
enum class AutoStage : std::uint32_t {
  kOff,
  kNoSteps,    // it waits for the program's first steps
  kGathering,  // it waits for the other ranks
  kUnderWay,   // fixes are tried, or those that were kept are watched
  kOver,       // all were tried and none was kept, or it had to end early
};

// What the fix `auto` does, for whoever looks at the running process. The rank that decides knows the fix; the others show
// their stage alone. Step times are medians of the windows' mean steps; 0 as long as there is no pair of windows.
struct ShownTrial {
  std::uint32_t serial;  // [atomic] odd while it is being written: look again
  AutoStage stage;
  std::uint32_t pairs;  // of windows, one without and one with the fix
  std::uint32_t unused;
  double without_ms, with_ms;
  double gain_pct, low_pct, high_pct;  // of the step time; the interval holds from kTrialLeastPairs on
  char fix[24];                        // that is tried, or was tried last; "": none
  char decision[16];                   // "": it is being tried
  char kept[128];                      // comma-separated
};

//  segment:  | SegmentHeader 4096 | ThreadEntry × thread_count | StackEntry × stack_count | SiteCounter × short_count |
//            | SiteCounter × sum_count | strings | chunks |
struct alignas(64) SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t pid;
  std::uint64_t cookie;  // random; the same number stands in the trace file, so a recycled segment id is noticed
  std::uint64_t segment_bytes;
  std::uint64_t threads_offset;
  std::uint64_t stacks_offset;
  std::uint64_t shorts_offset;
  std::uint64_t strings_offset;
  std::uint64_t chunks_offset;
  std::uint32_t thread_count;
  std::uint32_t stack_count;
  std::uint32_t short_count;
  std::uint32_t strings_bytes;
  std::uint32_t chunk_count;
  std::uint32_t chunk_bytes;
  std::uint32_t chunks_ready;    // [atomic] chunks that have ever been in use: those before this index
  std::uint32_t strings_used;    // [atomic] bytes of the strings area handed out
  std::uint32_t stacks_lost;     // [atomic] stacks that found the table full
  std::uint64_t lost;            // [atomic] records lost by threads that had no ThreadEntry
  ClockPair clock;               // latest reading, refreshed by the writer
  std::uint64_t process_cpu_ns;  // refreshed with the clock
  std::uint64_t writer_cpu_ns;
  std::uint64_t sums_offset;
  std::uint32_t sum_count;
  std::uint32_t aggregate_serial;  // [atomic] odd while the writer aggregates records: look again
  Undo undo;
  Control control;
  std::uint64_t lost_by[kLossCauses];  // [atomic] by LossCause
  std::uint32_t threads_used;          // [atomic] entries that have ever been taken: those before this index
  std::uint32_t merges;                // [atomic] how often something was merged: see Merged
  std::uint32_t gate_moves;            // [atomic] how often recording paused or went on: odd in a pause
  StepRing steps;
  std::uint64_t throttled_ns;  // [atomic] for which the quota of its group stopped it so far, of all CPUs together
  ShownTrial trial;
};
static_assert(sizeof(SegmentHeader) <= 4096);

// Of threads that ended and have no entry of their own any more, the entries are merged into one, and so are the rows of counters
// of the same key and object. The sum is made in a free place, and one store to SegmentHeader::merges puts it in the place of
// what it is made of: a process may be killed at any instant, and everything counts once.
struct Merged {
  std::uint32_t since;  // [atomic] holds from this number of `merges` on; 0: always
  std::uint32_t until;  // [atomic] and before this one; 0: for ever

  constexpr bool holds(std::uint32_t merges) const { return since <= merges && (until == 0 || merges < until); }
};

// The wait that a thread is in. `key` is stored last when it begins, and set to that of the wait around it when it ends.
struct OpenWait {
  std::uint64_t key;  // call address in bits 0–47, hook (as in a record) in 48–63; 0 = the thread is in no wait
  std::uint64_t begin_ticks;
  std::uint64_t object;
};

// One thread, alive or ended. A thread is named by (tid, start_ticks): thread ids are reused by the kernel.
// The owner thread writes the counters; the writer thread writes cpu_ns, run_delay_ns and name; readers only read.
struct alignas(64) ThreadEntry {
  std::uint32_t state;  // [atomic] ThreadState
  std::uint32_t tid;
  std::uint64_t start_ticks;
  std::uint64_t end_ticks;      // 0 while it lives
  std::uint64_t start_routine;  // code address given to pthread_create; 0 = not seen
  std::uint64_t creator_site;   // return address of that pthread_create call; 0 = not seen
  std::uint32_t creator_tid;
  std::uint32_t type_name;  // string id of the C++ type behind a std::thread; 0 = none
  Merged merged;
  std::uint32_t
      stands_for;  // how many threads were merged into it, which began at `start_ticks` or later; 0: it is one thread's
  std::uint32_t cpus;  // that it may use, as the writer has read them last; 0: not known, and in older traces
  // second cache line: written by the owner all the time
  alignas(64) std::uint64_t records;  // records reserved so far, kept or not
  std::uint64_t lost;                 // of those, how many could not be kept
  std::uint64_t quiet_calls;          // hooked calls that needed no record (uncontended, idle signal)
  std::uint64_t own_ticks;            // spent in hostprobe's slow paths (stacks, taking chunks)
  std::uint32_t chunk;                // chunk being filled, plus 1; 0 = none
  std::uint32_t migrations;           // of an NCCL progress thread: how often it polled from another CPU than before
  std::uint64_t skipped;              // calls that were not recorded to keep hostprobe's cost within its budget
  std::uint64_t lived_ticks;          // of one that stands for several: how long they lived, added up
  // third cache line: written by the writer thread
  alignas(64) std::uint64_t cpu_ns;
  std::uint64_t run_delay_ns;   // runnable but not running
  char name[16];                // the kernel's name of the thread, NUL-terminated
  std::uint64_t created_ticks;  // when pthread_create was called for it; 0 = not seen
  OpenWait open;                // written by the owner, when it blocks
};
static_assert(sizeof(ThreadEntry) == 192);

// Merged: the entry stands for several, its thread id is 0.
enum ThreadState : std::uint32_t {
  kThreadFree = 0,
  kThreadTaken = 1,
  kThreadLive = 2,
  kThreadEnded = 3,
  kThreadMerged = 4
};

inline constexpr std::size_t kStackFrames = 20;
inline constexpr std::size_t kStackPythonFrames = 15;

// One distinct call stack, innermost frame first. Entries are only ever added.
struct alignas(64) StackEntry {
  std::uint64_t key;    // [atomic] hash of the frames; 0 = free
  std::uint32_t ready;  // [atomic] 1 once everything below is complete
  std::uint16_t native_count;
  std::uint16_t python_count;
  std::uint64_t native[kStackFrames];        // return addresses
  std::uint32_t python[kStackPythonFrames];  // string ids, "function (file:line)"
  std::uint32_t reserved;
};
static_assert(sizeof(StackEntry) == 256);

// Counters: calls of one thread at one call site, without records of their own; exact counts and totals, and histograms.
// There are two areas of them. `shorts`: waits below the recording threshold, and the polls of an NCCL progress thread (then
// a value is the time since the poll before), added by the thread itself. Those at `sums_offset`: what left the memory of a process
// that does not write everything to disk (modes monitor and flight), added by the writer thread.
// Bucket 0 holds values below 128 ticks; above, an octave has 16 buckets: 1 + 16 × (octave - 7) + the four bits behind the
// leading one; the last bucket also holds what is longer. Example: 300 ticks = 0b1'0010'1100, octave 8: bucket
// 1 + 16 + 2 = 19, which holds 288 … 303.
inline constexpr std::uint32_t kSpanFirstOctave = 7;
inline constexpr std::uint32_t kSpanOctaves = 34;  // up to 2^41 ticks, a quarter of an hour
inline constexpr std::uint32_t kSpanBuckets = 1 + 16 * kSpanOctaves;

struct Spans {
  std::uint64_t ticks;  // sum
  std::uint64_t max_ticks;
  std::uint64_t buckets[kSpanBuckets];
};

struct alignas(64) SiteCounter {
  std::uint64_t key;  // [atomic] call address in bits 0–47 (0: launches), hook (as in a record) in 48–63; 0 = free
  std::uint64_t thread_start_ticks;
  std::uint32_t tid;
  std::uint32_t waker_tid;  // the last known one; 0 = none
  // Not of shorts: the communicator of an NCCL operation; kRecordFile for waits on a file; of launches kRecordFailed,
  // kRecordCaptured, kKernelsUnknown.
  std::uint64_t object;
  std::uint64_t amount;  // not of shorts: bytes of NCCL operations; how many of the waits timed out; kernels of graphs
  Spans time;            // how long they took
  Spans wake;  // where the waker is known: from its post to the return; of launches: since the one before had returned
  Merged merged;
};

inline constexpr std::uint64_t kSiteSkipped = 2;  // of shorts: launches that were only counted, to keep to the budget
inline constexpr std::uint64_t kKernelsUnknown = 1 << 16;  // launches of graphs of which nobody knows what is in them
inline constexpr std::uint64_t kSiteNotTaken = 1;          // in the place of the site: NCCL operations that failed

constexpr std::uint64_t pack_place(std::uint64_t site, std::uint16_t hook) {
  return (site & 0xffffffffffff) | std::uint64_t{hook} << 48;
}
constexpr std::uint64_t sum_site(std::uint64_t key) { return key & 0xffffffffffff; }
constexpr std::uint16_t sum_hook(std::uint64_t key) { return static_cast<std::uint16_t>(key >> 48); }

// The strings area is a sequence of { u32 length; u32 hash; char text[length]; padding to 8 }. A string's id is the
// offset of its header divided by 8, plus 1; id 0 means "no string". `length` is stored last (release).
struct StringHead {
  std::uint32_t length;  // [atomic] bytes of text; 0 = not complete yet
  std::uint32_t hash;
};
static_assert(sizeof(StringHead) == 8);

// A chunk: one header line and the records of one thread.
struct alignas(64) ChunkHead {
  std::uint64_t thread_start_ticks;  // with tid: whose records these are
  std::uint64_t first_sequence;      // the thread's running number of the record in slot 0
  std::uint32_t tid;
  std::uint16_t lap;  // a record belongs to this lap of the chunk, or it is an old one
  std::uint16_t reserved;
  std::uint32_t state;       // [atomic] ChunkState
  std::uint32_t drained;     // slots whose records are in the file already
  std::uint32_t aggregated;  // [atomic] slots whose records are aggregated already
  std::uint32_t next;        // of chunks that mode flight keeps: the next younger one, plus 1; 0 = none
  std::uint32_t padding[6];
};
static_assert(sizeof(ChunkHead) == 64);

enum ChunkState : std::uint32_t { kChunkFree = 0, kChunkFilling = 1, kChunkFull = 2 };

inline constexpr std::size_t kChunkBytes = 16384;
inline constexpr std::uint32_t kChunkRecords = kChunkBytes / sizeof(Record) - 1;

}  // namespace hostprobe
