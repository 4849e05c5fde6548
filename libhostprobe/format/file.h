// file.h: the trace file of one process. docs/reference/format.md says the same in prose and with drawings.
//
// Room 1 (format/). Written by the probe's writer thread (probe/writer.cpp), read by analysis/reader.cpp. A file is one
// 4096-byte FileHeader, rewritten in place, followed by blocks, only ever appended. Every block carries its length and a
// checksum, so a reader can say exactly which bytes are damaged and go on behind them.
#pragma once

#include "hook_role.h"
#include "segment.h"

namespace hostprobe {

inline constexpr std::uint64_t kFileMagic = 0x0a45434152545048;  // "HPTRACE\n" as little-endian bytes
inline constexpr std::uint32_t kFileVersion = 4;                 // raised when an old reader could misread a file
inline constexpr std::size_t kFileHeaderBytes = 4096;
inline constexpr char kFileSuffix[] = ".hptrace";
inline constexpr char kDumpSuffix[] = ".hpdump";  // <trace without its suffix>-NNNN: what one trigger wrote

enum FileState : std::uint32_t {
  kFileOpen = 1,       // the process lives, or was killed: look into its segment too
  kFileClosed = 2,     // complete, segment gone
  kFileRecovered = 3,  // `hostprobe recover` added what the segment still held
};

enum TraceSource : std::uint32_t {
  kFromProbe = 0,
  kFromProfile = 1,  // an imported GPU profile: ticks are nanoseconds of CLOCK_REALTIME
  kFromTable = 2,    // an imported table (CSV)
  kFromKernel = 3,   // what the kernel told of a machine, by `hostprobe sched` or imported: no process
  kFromDump = 4,     // a dump that a running process made of its last operations (PyTorch's Flight Recorder)
};

// Where steps are to be looked for.
enum StepSetting : std::uint32_t {
  kStepsAuto = 0,  // marks, else what repeats
  kStepsMarks = 1,
  kStepsOff = 2,
};

// Of the machine that was recorded: what numbers of system calls mean. Zero in older files, which were all of the first.
enum Architecture : std::uint32_t {
  kX86_64 = 0,
  kAarch64 = 1,
};

struct FileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  // kFileHeaderBytes; a newer version may have a longer one
  std::uint64_t checksum;      // over the first 4096 bytes with this field as 0
  std::uint32_t state;         // FileState
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint32_t forked_from;  // pid of the traced process this one was forked from (no exec since); 0 = none
  std::int32_t rank;          // of the job, from the environment; -1 = none
  std::int32_t local_rank;
  std::int32_t world_size;
  std::int32_t segment_id;   // System V shared memory id; -1 = the process had none that outlives it
  std::uint64_t cookie;      // equals SegmentHeader::cookie
  std::uint64_t data_bytes;  // length of the valid part of the file, as of the last header write
  ClockPair start;           // when the library was loaded into the process
  ClockPair first;           // when the trace was opened
  ClockPair last;            // latest reading
  std::uint64_t process_cpu_ns;
  std::uint64_t writer_cpu_ns;      // CPU of hostprobe's own thread
  std::uint64_t record_cost_ticks;  // measured on this CPU: what one record adds to a call, in 1/1024 ticks
  std::uint64_t quiet_cost_ticks;   // the same for a hooked call without a record
  std::uint64_t own_ticks;          // spent in slow paths by all threads, and by the kernel for us on them
  std::uint64_t quiet_calls;        // by all threads
  std::uint64_t records;            // reserved by all threads
  std::uint64_t lost;               // of those, not kept (no chunk free, file not writable, …)
  std::uint64_t lost_in_file;       // of those, taken from memory but not accepted by the file system
  std::int32_t file_errno;          // errno of the first failed write; 0 = none
  std::uint32_t invariant_ticks;    // 1 when the CPU promises a constant tick rate
  std::uint32_t stacks_lost;
  std::uint32_t source;  // TraceSource
  char mode[16];
  char host[64];
  char boot_id[40];
  char hostprobe_version[24];
  char hostprobe_commit[48];
  char program[256];   // the executable's path
  char command[1024];  // argv, joined by blanks, cut to length
  char out[512];       // the run folder as the process saw it
  std::uint64_t
      lost_by[kLossCauses];    // of `lost`, by LossCause; zeros in files that were written before it was counted
  std::uint32_t steps;         // StepSetting
  std::uint32_t architecture;  // Architecture
  // Which incarnation of its rank this process is, as its launcher said, plus 1; 0 = not said, and in files that were
  // written before it was noted.
  std::uint64_t incarnation;
  std::uint64_t cpus;  // that the process might use when its trace was opened; 0 as above
  // Of own_ticks, by the kernel: for records of context switches, for samples of running code; 0 as above.
  std::uint64_t switch_ticks;
  std::uint64_t sample_ticks;
  // Of the machine, by readings once a second: its CPUs, and for how long they were idle, all together, in so long a time. 0: not known.
  std::uint64_t machine_cpus;
  std::uint64_t idle_ns;
  std::uint64_t idle_of_ns;
  char job[64];  // the job's id as HOSTPROBE_JOB or a launcher said it; "" = not said, and in older files
  // Of writer_cpu_ns: for records, for context switches and counts of the machine, for samples of running threads; 0 as above.
  std::uint64_t own_records_ns;
  std::uint64_t own_switches_ns;
  std::uint64_t own_samples_ns;
  std::uint64_t own_end_ns;  // of writer_cpu_ns: for the end of the trace, behind the program's last step; 0 as above
};
static_assert(sizeof(FileHeader) <= kFileHeaderBytes);

inline constexpr std::uint32_t kBlockMagic = 0x4b425048;  // "HPBK"

enum BlockKind : std::uint16_t {
  kBlockHooks = 1,           // HookRow × n: the hook table; once, before any records
  kBlockModules = 2,         // ModuleRow × n, each followed by its path: loaded objects (again whenever they change)
  kBlockStrings = 3,         // StringsHead, then a slice of the segment's strings area
  kBlockThreads = 4,         // ThreadEntry × n: latest state of threads; a later entry replaces an earlier one
  kBlockStacks = 5,          // StacksHead, then StackEntry × n
  kBlockRecords = 6,         // RecordsHead, then Record × count
  kBlockClock = 7,           // ClockPair × n
  kBlockHookStates = 8,      // a byte per row of the hook table, padded to 8: kHook… bits, latest last
  kBlockShortWaits = 9,      // SiteRow × n, each followed by its buckets; a later row replaces an earlier one
  kBlockPackedRecords = 10,  // RecordsHead, PackedHead, then the same records in fewer bytes; since version 2
  kBlockCounters = 11,  // CounterRow × n, each followed by its buckets; a later row replaces an earlier one; since 3
  kBlockEvents = 12,    // EventRow × n: what hostprobe itself did and why; since version 3
  kBlockSwitches = 13,  // see switches.h
  kBlockSamples = 14,   // see samples.h
  kBlockKernel = 15,    // see kernel.h
  kBlockKernelNames = 16,      // see kernel.h
  kBlockFrequency = 17,        // see frequency.h; in dumps too
  kBlockMachine = 18,          // see machine.h; in dumps too
  kBlockKernelTotals = 19,     // see kernel_totals.h
  kBlockStartCounters = 20,    // as kBlockCounters: what they held when steps became known (kEventStepsKnown); once
  kBlockStartShortWaits = 21,  // as kBlockShortWaits: the same of these
  kBlockSteps =
      22,  // CounterRow with its buckets: lengths of steps that were seen so far, `site.key` is a StepsFrom; of
           // several rows the one with the most steps holds
};

//  block:  | BlockHead 32 | payload, payload_bytes, a multiple of 8 |
struct BlockHead {
  std::uint32_t magic;
  std::uint16_t kind;  // BlockKind; a reader skips kinds it does not know
  std::uint16_t reserved;
  std::uint64_t payload_bytes;
  std::uint64_t checksum;       // over the payload
  std::uint64_t head_checksum;  // over the 24 bytes before
};
static_assert(sizeof(BlockHead) == 32);

// Checksums are over little-endian 64-bit words w: h = 0x9e3779b97f4a7c15; for each w: h = rotl(h ^ w, 27) * 0x100000001b3.

struct HookRow {
  char name[64];
  char versions[32];      // symbol versions it is exported under, "" = none or hidden
  char labels[5][16];     // of a..e, see record.h
  std::uint8_t family;    // Family
  std::uint8_t found;     // 1: the real function was there from the start; later ones are told by kBlockHookStates
  std::uint8_t blocking;  // 1: time inside is waiting; 0: work or a launch
  std::uint8_t launch;    // 1: a GPU launch
  std::uint8_t type;      // RowType
  std::uint8_t role;      // HookRole; since version 4
  std::uint8_t traits;    // HookTrait bits; since version 4
  std::uint8_t reserved;
};
static_assert(sizeof(HookRow) == 184);

inline constexpr std::uint8_t kHookFound = 1;  // the process has the function
inline constexpr std::uint8_t kHookUsed = 2;   // it was called, whether or not that left records

struct ModuleRow {
  std::uint64_t begin;       // first mapped byte
  std::uint64_t end;         // one past the last
  std::uint64_t bias;        // what to subtract from an address to get one in the file's own numbering
  std::uint64_t seen_ticks;  // when this mapping was first seen
  std::uint32_t path_bytes;  // without NUL; the path follows, padded to 8
  std::uint32_t build_id_bytes;
  std::uint8_t build_id[24];
};
static_assert(sizeof(ModuleRow) == 64);

struct StringsHead {
  std::uint32_t offset;  // of the slice in the strings area, bytes
  std::uint32_t bytes;
};

struct StacksHead {
  std::uint32_t first;  // index of the first entry
  std::uint32_t count;
};

// What SiteCounter holds, without its empty buckets. A row is followed by `bucket_count` words: the bucket's number in bits
// 0–14, bit 15 set for one of `wake`, its count in bits 16–63.
struct SpansTotal {
  std::uint64_t ticks;
  std::uint64_t max_ticks;
};

struct SiteRow {
  std::uint64_t key;  // as in SiteCounter
  std::uint64_t thread_start_ticks;
  std::uint32_t tid;
  std::uint32_t waker_tid;
  std::uint32_t bucket_count;
  std::uint32_t reserved;
  SpansTotal time;
  SpansTotal wake;
};
static_assert(sizeof(SiteRow) == 64);
inline constexpr std::uint64_t kWakeBucket = 1u << 15;

// Of a counter at `sums_offset`; told apart by thread, key and object.
struct CounterRow {
  SiteRow site;
  std::uint64_t object;
  std::uint64_t amount;
};
static_assert(sizeof(CounterRow) == 80);

// A dump is a file of its own beside the trace: a FileHeader like the trace's, of which only magic, version, header_bytes,
// checksum, state, pid and cookie matter, and blocks of records, each of which is kRecordAggregated.
enum EventKind : std::uint32_t {
  kEventTrigger =
      1,  // `number`: of the dump, `amount`: records in it, text: its, or what went wrong; `number` 0: `amount`
          // of them came too soon after a dump
  kEventDumpGone = 2,    // `number`: of the dump that had to go for the disk quota; `amount`: its bytes
  kEventStarted = 3,     // recording goes on, by `hostprobe ctl`
  kEventStopped = 4,     // recording pauses
  kEventSetting = 5,     // text: "NAME=VALUE", by `hostprobe ctl`
  kEventDetail = 6,      // own cost: `number`: how much detail is shed now, 0 … 3; `amount`: cost in 1/1000 %
  kEventChildEnded = 7,  // a child was collected: `number`: its pid, `amount`: its status, as waitpid gives it; not 0
  kEventFix = 8,  // a fix was put in place or taken back; `number` 1: it is in place; text: which, and what it did
  kEventHalted =
      9,  // somebody had stopped the whole process (signal, debugger, freezer), until now; `amount`: ns by which
          // hostprobe's own thread was late, not for want of a CPU; `number`: ticks of its last look, not yet stopped.
          // 0 ns: it only was woken and put to sleep again meanwhile, as by a stop that was over before its sleep was
  kEventThrottled =
      10,  // its group's CPU quota was used up; `number`: periods, `amount`: ns, both since the reading before,
           // which was `reason` ms ago
  kEventSource = 11,  // a source of facts is missing; `reason`: errno; text: which, why, what to do
  // 12 and 13 are of traces made of another tool's file: imported.h.
  kEventProfile =
      15,  // a window of PyTorch's own profiler; `number`: of the window, `reason` 0: it is in the run folder,
           // `amount`: its bytes; 1: it is not; text: what it cost, or why there is none
  kEventWritesPipe = 17,  // the process can write into a pipe; `number`: its inode
  kEventThreadName = 18,  // what Python calls a thread; `number`: its id, text: its name
  kEventStuckChild =
      19,  // a child that was forked waits for a thread that it has not got; `number`: its pid, `amount`: the address
           // of the code that it is in, as in this process, text: its innermost Python function and line; "": none
  kEventStepsKnown = 14,  // monitor: end of start-up; `number`: steps so far, `amount`: main thread's run delay, ns
};

// What shows the steps of kBlockSteps.
enum StepsFrom : std::uint32_t { kStepsFromMarks = 1, kStepsFromOptimizer = 2, kStepsFromCalls = 3 };

// Why a trigger came, in EventRow::reason.
enum TriggerReason : std::uint32_t {
  kBySlowStep = 1,
  kBySignal = 2,
  kByCommand = 3,  // hostprobe ctl
  kByProgram = 4,  // C or Python call
  kByHang = 5,     // no progress
};

struct EventRow {
  std::uint64_t ticks;
  std::uint32_t kind;    // EventKind
  std::uint32_t reason;  // TriggerReason, of kEventTrigger
  std::uint64_t number;
  std::uint64_t amount;
  char text[96];  // what a person may want to know, NUL-terminated
};
static_assert(sizeof(EventRow) == 128);

struct RecordsHead {
  std::uint64_t thread_start_ticks;
  std::uint64_t first_sequence;  // running number, in its thread, of slot 0 of this slice
  std::uint32_t tid;
  std::uint32_t slots;  // how many running numbers the slice covers
  std::uint32_t count;  // how many of them hold a record; the rest is lost
  std::uint32_t reserved;
};
static_assert(sizeof(RecordsHead) == 32);

//  packed records:  | RecordsHead 32 | PackedHead 16 | stored_bytes | padding to 8 |
//  Stored is, by itself or compressed:  | heads, a byte per record | times, times_bytes | rest, rest_bytes |
//  probe/pack.cpp draws these three and works an example through.
struct PackedHead {
  std::uint32_t times_bytes;
  std::uint32_t rest_bytes;
  std::uint32_t stored_bytes;
  std::uint16_t codec;  // PackedCodec
  std::uint16_t reserved;
};
static_assert(sizeof(PackedHead) == 16);

enum PackedCodec : std::uint16_t { kCodecNone = 0, kCodecZstd = 1 };

inline constexpr std::uint32_t kPackedMost = 8192;     // records in a block
inline constexpr std::uint32_t kPackedTimesMost = 16;  // bytes of times that one record can take, and of the rest
inline constexpr std::uint32_t kPackedRestMost = 57;

}  // namespace hostprobe
