// hand_over.h: a small model of how chunks change hands: two program threads, the writer, a reader in another process, and
// a SIGKILL or an exit at any step.
//
// A State is all that is in memory and in the file. A step is what may happen without anybody noticing something in
// between: one store that others look at, or several that cannot be told apart. Beside each step stands the code that
// it stands for: who changes that code changes the step. explore.cpp runs the steps of all actors in every order. Stores
// are seen in their order, as on x86-64; that a load may overtake an older store there matters to no step. Sizes are tiny,
// so that chunks fill, run out and come to the wrap of their laps.
//
// Not in it: signal handlers inside a hook (tests/unit/probe_records.cpp), torn blocks in the file (that is what checksums
// are for), the inside of the queues (a library's; here lists in the order of enqueuing).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hostprobe::model {

using Byte = std::uint8_t;  // nothing else in a State: it has no padding, so that its bytes are its identity

inline constexpr int kOwners = 2;
inline constexpr int kChunks = 2;
inline constexpr int kSlots = 2;
inline constexpr int kLastLap = 2;  // then the laps begin again; 65 535 in the probe
inline constexpr int kMostCalls = 8;

// What is done wrong on purpose: the checker must find out.
enum class Fault {
  kNone,
  kLastWordFirst,          // a record is marked complete before it is
  kNoWipeAtWrap,           // old records stay when the laps begin again
  kRecycledBeforeWritten,  // the writer gives a chunk back, then writes it
  kDrainedBeforeWritten,   // the writer notes slots as written, then writes them
  kNoSecondLook,           // the reader does not look once more whose chunk it has copied
  kFileBeforeSegment,      // the reader reads the file first
  kAllSlotsAtTheEnd,       // an ending thread claims all slots of its chunk before it says how many it used
  kReleasedBeforeWritten,  // an ended thread's entry is given back before it is in the file
  kEndedBeforeLiving,      // ended threads are looked for before the living ones are written: one may be neither
  kLastPassByThreads,      // at exit only chunks that are queued, or that a thread says to fill, are written
};

struct Setup {
  std::string name;
  Fault fault = Fault::kNone;
  std::vector<Byte> calls = {4, 3};  // that each thread makes before it ends
  Byte chunks = kChunks;
  bool reader = false;
  bool exits = false;
  bool worn = false;  // the chunks are in their last lap, with records of the first one left in them
};

struct Slot {
  Byte call, rest;  // the words of the record but the last, in two halves: which call it is
  Byte lap;         // the last word: hook and lap. 0 = nothing here
};

enum ChunkState : Byte { kFree, kFilling, kFull };
struct Chunk {
  Byte owner, first, lap, state, drained;
  Slot slots[kSlots];
};

enum EntryState : Byte { kLive, kEnded, kReleased };
struct Entry {
  Byte state, records, lost, chunk;
};

struct Queue {
  Byte count;
  Byte chunks[kChunks];
};

struct Owner {
  Byte at;
  Byte entered, returned;
  Byte chunk;  // plus 1; 0 = none
  Byte used;   // slots reserved of it
  Byte sequence;
  Byte lost;  // a bit per call that could not be kept. Known to the checker alone
  Byte must;  // how many calls had returned when the process left. Known to the checker alone
};

struct File {
  Byte kept[kOwners];  // a bit per running number
  Byte end[kOwners];   // one past the last running number that a block covers
  Byte records[kOwners], lost[kOwners];
};

struct Writer {
  Byte at, chunk, which, end, last;
};

struct Reader {
  Byte at, which, slot;
  Byte owner, first, lap, finished_call;  // the chunk's head as copied; half a record
  Byte copied, bad;                       // of the chunk at hand
  Byte kept[kOwners], must[kOwners], wrong;
};

struct State {
  Chunk chunks[kChunks];
  Entry entries[kOwners];
  Queue full[kOwners], free;
  Owner owners[kOwners];
  File file;
  Writer writer;
  Reader reader;
  Byte gate;     // 1: recording
  Byte segment;  // 1: it is there
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

}  // namespace hostprobe::model
