// aggregation.h: a small model of how records become counters: two program threads, the writer in each of the three modes with its
// ring, its dumps and its rows, a reader of the living process, and a SIGKILL or an exit at any step.
//
// Beside hand_over.h, and in the same way: a State is all that is in memory and in the files, a step is what happens without
// anybody noticing something in between, and beside each step stands the code that it stands for. What hand_over.h has
// already (the words of a record, laps that begin again, the writer's entries) is coarser here.
// The time of call k is 2^k ticks: so the sum of a row's ticks tells which calls are in it, and a call that is in it twice,
// or half, shows.
//
// Not in it: several places of a thread, maxima, wakes and gaps (stored and undone as the ticks are), how losses are told,
// files that take no more, removed dumps, threads that end unseen (end_if_gone), a live writer that stands still for as
// long as the reader would wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hostprobe::model::aggregation {

using Byte = std::uint8_t;  // nothing else in a State: it has no padding, so that its bytes are its identity

inline constexpr int kOwners = 2;
inline constexpr int kChunks = 3;
inline constexpr int kSlots = 2;
inline constexpr int kRows = 2;

enum Mode : Byte { kTrace, kMonitor, kFlight };

// What is done wrong on purpose: the checker must find out.
enum class Fault {
  kNone,
  kAggregatedBeforeUndo,      // a slot is said to be aggregated, then it is
  kNoUndo,                    // what a row held before is not kept
  kUndoFilledLast,            // the Undo stands before it says what the row held
  kUndoNotTakenBack,          // the Undo stands on when the record is added
  kRecycledBeforeAggregated,  // a chunk is given back, then aggregated
  kRowFreedBeforeWritten,
  kRowClearedBeforeFreed,
  kRowEvictedTooEarly,       // a row goes to the file while a chunk of its thread is still in memory
  kRowIntoDump,              // a row that makes room while a dump is written goes into that dump
  kRowsBeforeLastAggregate,  // at exit the rows go to the file, then the last chunks are aggregated
  kAggregatedIntoFile,       // at exit what is aggregated already is written too
  kDumpedBeforeAggregated,   // records are in the dump and noted as written, then they are aggregated
  kDumpNotFlagged,           // the records of a dump do not say that they are among the counters
  kRecycledBeforeDumped,     // a chunk is given back, then written to the dump
  kReaderIgnoresSerial,
  kReaderIgnoresUndo,
  kReaderTakesFirstAggregated,  // how much is aggregated is read when the chunk is copied
  kReaderLooksOwnerFirst,       // whose chunk it is is looked at, then how much of it is aggregated
  kReaderTakesLaterRows,  // rows of the file that are newer than the look at the segment do not make it look again
};

struct Setup {
  std::string name;
  Fault fault = Fault::kNone;
  Mode mode = kFlight;
  std::vector<Byte> calls = {4, 2};  // that each thread makes before it ends
  Byte chunks = 2;
  Byte rows = kRows;
  Byte most_kept = 1;
  Byte triggers = 0;
  bool reader = false;
  bool exits = false;
  bool killed = false;  // while the reader looks
};

struct Slot {
  Byte call, lap;   // which call; 0 = nothing here
  Byte aggregated;  // kRecordAggregated
};

enum ChunkState : Byte { kFree, kFilling, kFull };
struct Chunk {
  Byte owner, first, lap, state, drained, aggregated;
  Slot slots[kSlots];
};

struct Entry {
  Byte ended, chunk;  // plus 1; 0 = none
};

struct Queue {
  Byte count;
  Byte chunks[kChunks];
};

struct Spans {
  Byte ticks, count, amount;
};
struct Row {
  Byte owner;  // plus 1; 0 = free
  Spans spans;
};
struct Undo {
  Byte sum, chunk, aggregated;
  Spans before;
};

struct Owner {
  Byte at;
  Byte entered, returned;
  Byte chunk;  // plus 1; 0 = none
  Byte used;   // slots reserved of it
  Byte lost;   // a bit per call that could not be kept. Known to the checker alone
  Byte must;   // how many calls had returned when the process left. Known to the checker alone
};

struct Files {
  Byte kept[kOwners];  // the trace: a bit per running number
  Spans rows[kOwners];
  Byte dumped[kOwners],
      unflagged[kOwners];  // dumps: records that say that they are among the counters, and that do not
  Byte wanted[kOwners];    // what the dump under way must hold. Known to the checker alone
  Byte bad;
};

struct Writer {
  Byte at, then;  // where to go on after aggregation or writing a chunk
  Byte chunk, end, slot, row, which, last, victim;
  Queue ring;
  Byte dumps;
};

struct Copy {  // of a chunk
  Byte owner, first, lap, aggregated;
  Byte slots;  // a bit each: records that are not among the counters; before: the first that is not in the file
  Byte bad;
};
struct Reader {
  Byte at, which;
  Byte moved;  // the serial did since it was looked at
  Byte wrong;
  Copy chunks[kChunks];
  Row rows[kRows];
  Spans counters[kOwners];
  Byte kept[kOwners], must[kOwners];
};

struct State {
  Chunk chunks[kChunks];
  Entry entries[kOwners];
  Queue full[kOwners], free;
  Row rows[kRows];
  Undo undo;
  Byte serial;  // odd or not
  Owner owners[kOwners];
  Files files;
  Writer writer;
  Reader reader;
  Byte gate;     // 1: recording
  Byte segment;  // 1: it is there
  Byte killed;
};

State first_state(const Setup& setup);

struct Next {
  State state;
  const char *who, *what;
};
// All that may happen next.
void add_next(const State& state, const Setup& setup, std::vector<Next>& next);

// What is wrong if everything stops here and somebody reads what there is; "" = nothing.
std::string wrong_with(const State& state, const Setup& setup);

}  // namespace hostprobe::model::aggregation
