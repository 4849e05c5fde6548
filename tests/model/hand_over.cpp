// hand_over.cpp: the steps. See hand_over.h.
#include "hand_over.h"

#include <algorithm>
#include <bit>

namespace hostprobe::model {
namespace {

Byte bit(int call) { return static_cast<Byte>(1u << call); }
Byte id_of(int owner, int call) { return static_cast<Byte>(owner * kMostCalls + call + 1); }
int count(Byte mask) { return std::popcount(mask); }

void enqueue(Queue& queue, Byte chunk) { queue.chunks[queue.count++] = chunk; }
Byte dequeue(Queue& queue) {
  const Byte chunk = queue.chunks[0];
  std::copy(queue.chunks + 1, queue.chunks + kChunks, queue.chunks);
  queue.chunks[kChunks - 1] = 0;
  --queue.count;
  return chunk;
}

bool complete(const Chunk& chunk, int slot) { return chunk.slots[slot].lap != 0 && chunk.slots[slot].lap == chunk.lap; }

// ---- the program's threads: thread.cpp, hook.h ----

enum OwnerAt : Byte {
  kEnter,
  kReserve,
  kFillCall,
  kFillRest,
  kCommit,
  kReturn,
  kNeedChunk,
  kHide,
  kSayRecords,
  kSetFull,
  kEnqueue,
  kTake,
  kRaiseLap,
  kWipe,
  kSetFilling,
  kSayOwner,
  kSayFirst,
  kStartRecords,
  kPublish,
  kLose,
  kLastRecords,
  kSetEnded,
  kOver,
};

struct Thread {
  State& s;
  const Setup& setup;
  int i;
  Owner& o = s.owners[i];
  Entry& entry = s.entries[i];
  Chunk& chunk() { return s.chunks[o.chunk - 1]; }
  Slot& slot() { return chunk().slots[o.used - 1]; }
  bool ending() const { return o.returned == setup.calls[static_cast<std::size_t>(i)]; }
  Byte id() const { return id_of(i, o.entered - 1); }
  void go(OwnerAt at) { o.at = at; }

  // recording(): one load of g_gate. key_destructor, when the thread has made its calls.
  void enter() {
    if (s.gate == 0) return go(kOver);
    if (ending()) return go(o.chunk != 0 ? kHide : kLastRecords);
    ++o.entered;
    go(kReserve);
  }
  // reserve_record: xadd on the cursor
  void reserve() {
    if (o.chunk == 0 || o.used == kSlots) return go(kNeedChunk);
    ++o.used;
    go(setup.fault == Fault::kLastWordFirst ? kCommit : kFillCall);
  }
  // *r = …: begin_ticks, end_ticks, a …
  void fill_call() {
    slot().call = id();
    go(kFillRest);
  }
  void fill_rest() {
    slot().rest = id();
    go(setup.fault == Fault::kLastWordFirst ? kReturn : kCommit);
  }
  // commit_record: store of the last word
  void commit() {
    slot().lap = chunk().lap;
    go(setup.fault == Fault::kLastWordFirst ? kFillCall : kReturn);
  }
  void give_back_control() {
    ++o.returned;
    go(kEnter);
  }
  // reserve_in_new_chunk: g_gate.recording once more
  void need_chunk() { go(s.gate == 0 ? kLose : o.chunk != 0 ? kHide : kTake); }
  // give_chunk_away: t.end = 0; entry->chunk = 0
  void hide() {
    entry.chunk = 0;
    go(kSayRecords);
  }
  // give_chunk_away: entry->records = t.sequence + slots
  void say_records() {
    entry.records = static_cast<Byte>(o.sequence + (setup.fault == Fault::kAllSlotsAtTheEnd ? kSlots : o.used));
    go(kSetFull);
  }
  // hand_over: chunk->state = kChunkFull
  void set_full() {
    chunk().state = kFull;
    go(kEnqueue);
  }
  // hand_over: g_full->enqueue. Then start_chunk: t.sequence += kChunkRecords
  void enqueue_full() {
    enqueue(s.full[i], static_cast<Byte>(o.chunk - 1));
    o.chunk = 0;
    o.sequence = static_cast<Byte>(o.sequence + (ending() ? o.used : kSlots));
    o.used = 0;
    go(ending() ? kLastRecords : kTake);
  }
  // take_chunk: g_free->try_dequeue_from_producer. (A chunk that was never used comes the same way.)
  void take() {
    if (s.free.count == 0) return go(kLose);
    o.chunk = static_cast<Byte>(dequeue(s.free) + 1);
    go(kRaiseLap);
  }
  // take_chunk: ++chunk->lap
  void raise_lap() {
    chunk().lap = chunk().lap == kLastLap ? 0 : static_cast<Byte>(chunk().lap + 1);
    go(kWipe);
  }
  // take_chunk: memset, chunk->lap = 1; chunk->drained = 0
  void wipe() {
    if (chunk().lap == 0) {
      if (setup.fault != Fault::kNoWipeAtWrap) std::fill(chunk().slots, chunk().slots + kSlots, Slot{});
      chunk().lap = 1;
    }
    chunk().drained = 0;
    go(kSetFilling);
  }
  // take_chunk: chunk->state = kChunkFilling
  void set_filling() {
    chunk().state = kFilling;
    go(kSayOwner);
  }
  // start_chunk: chunk->tid, chunk->thread_start_ticks
  void say_owner() {
    chunk().owner = static_cast<Byte>(i);
    go(kSayFirst);
  }
  // start_chunk: chunk->first_sequence
  void say_first() {
    chunk().first = o.sequence;
    go(kStartRecords);
  }
  // start_chunk: entry->records = t.sequence
  void start_records() {
    entry.records = o.sequence;
    go(kPublish);
  }
  // start_chunk: entry->chunk; reserve_in_new_chunk: the first slot
  void publish() {
    entry.chunk = o.chunk;
    o.used = 1;
    go(setup.fault == Fault::kLastWordFirst ? kCommit : kFillCall);
  }
  // count_lost: ++entry->lost, ++t.sequence
  void lose() {
    o.lost = static_cast<Byte>(o.lost | bit(o.entered - 1));
    ++entry.lost;
    ++o.sequence;
    go(kReturn);
  }
  // end_thread: entry->records
  void last_records() {
    entry.records = o.sequence;
    go(kSetEnded);
  }
  // end_thread: entry->state = kThreadEnded
  void set_ended() {
    entry.state = kEnded;
    go(kOver);
  }
};

struct OwnerStep {
  const char* name;
  void (Thread::*act)();
};
constexpr OwnerStep kOwnerSteps[] = {
    {"enters a call, or ends", &Thread::enter},
    {"reserves a slot", &Thread::reserve},
    {"stores half of the record", &Thread::fill_call},
    {"stores the other half", &Thread::fill_rest},
    {"stores the last word", &Thread::commit},
    {"returns", &Thread::give_back_control},
    {"needs a chunk", &Thread::need_chunk},
    {"takes its chunk out of its entry", &Thread::hide},
    {"says how many records it has reserved", &Thread::say_records},
    {"sets its chunk full", &Thread::set_full},
    {"enqueues it", &Thread::enqueue_full},
    {"takes a free chunk", &Thread::take},
    {"raises its lap", &Thread::raise_lap},
    {"wipes it at the wrap", &Thread::wipe},
    {"sets it filling", &Thread::set_filling},
    {"says whose it is", &Thread::say_owner},
    {"says its first running number", &Thread::say_first},
    {"says how many records there are before it", &Thread::start_records},
    {"puts it into its entry", &Thread::publish},
    {"counts a loss", &Thread::lose},
    {"says its last number of records", &Thread::last_records},
    {"has ended", &Thread::set_ended},
};

// ---- the writer: drain.cpp, writer.cpp ----

enum WriterAt : Byte {
  kNextFull,
  kWriteFull,
  kNoteFull,
  kFreeFull,
  kGiveBack,
  kLookOpen,
  kWriteOpen,
  kNoteOpen,
  kLookEnded,
  kWriteEnded,
  kRelease,
  kWriteLiving,
  kEndPass,
  kWriteRest,
  kClose,
  kGone,
};

struct Draining {
  State& s;
  const Setup& setup;
  Writer& w = s.writer;
  Chunk& chunk() { return s.chunks[w.chunk]; }
  void go(WriterAt at) { w.at = at; }
  void next_entry(WriterAt same, WriterAt after) {
    w.which = static_cast<Byte>((w.which + 1) % kOwners);
    go(w.which != 0 ? same : after);
  }

  Byte last_complete() {
    int end = kSlots;
    while (end > chunk().drained && !complete(chunk(), end - 1)) --end;
    return static_cast<Byte>(end);
  }
  Byte first_incomplete() {
    int end = chunk().drained;
    while (end < kSlots && complete(chunk(), end)) ++end;
    return static_cast<Byte>(end);
  }
  // RecordBlock::write: one pwritev
  void append(Byte end) {
    const Chunk& c = chunk();
    Byte& kept = s.file.kept[c.owner];
    for (int slot = c.drained; slot < end; ++slot)
      if (complete(c, slot) && c.slots[slot].call == id_of(c.owner, c.first + slot))
        kept = static_cast<Byte>(kept | bit(c.first + slot));
    if (end > c.drained) s.file.end[c.owner] = std::max(s.file.end[c.owner], static_cast<Byte>(c.first + end));
    w.end = end;
  }
  bool early() const { return setup.fault == Fault::kDrainedBeforeWritten; }
  bool ended_first() const { return setup.fault == Fault::kEndedBeforeLiving; }
  bool recycles_early() const { return setup.fault == Fault::kRecycledBeforeWritten; }

  // next_full_chunk: any thread's queue may be the next. False: this one is empty
  bool next_full(int owner) {
    if (s.full[owner].count == 0) return false;
    w.chunk = dequeue(s.full[owner]);
    go(recycles_early() ? kFreeFull : kWriteFull);
    return true;
  }
  void no_full() {
    w.which = 0;
    go(w.last != 0 && setup.fault != Fault::kLastPassByThreads ? kWriteRest : kLookOpen);
  }
  // drain_full_chunks: g_trace_block.add(chunk, last_complete(chunk)). Nobody stores into a full chunk
  void write_full() {
    append(last_complete());
    go(recycles_early() ? kNextFull : kNoteFull);
  }
  // RecordBlock::write: chunk->drained = end
  void note_full() {
    chunk().drained = w.end;
    go(kFreeFull);
  }
  // recycle_chunk: chunk->state = kChunkFree
  void free_full() {
    chunk().state = kFree;
    go(kGiveBack);
  }
  // recycle_chunk: g_free->enqueue
  void give_back() {
    enqueue(s.free, w.chunk);
    go(recycles_early() ? kWriteFull : kNextFull);
  }
  // write_open_chunk: entry.chunk, chunk->tid
  void look_open() {
    const Entry& entry = s.entries[w.which];
    if (entry.state != kLive || entry.chunk == 0 || s.chunks[entry.chunk - 1].owner != w.which)
      return next_entry(kLookOpen, ended_first() ? kLookEnded : kWriteLiving);
    w.chunk = static_cast<Byte>(entry.chunk - 1);
    if (early()) w.end = first_incomplete();
    go(early() ? kNoteOpen : kWriteOpen);
  }
  // hand_open_chunks: g_trace_block.add(chunk, first_incomplete(chunk)). What is complete stays so: looking slot by slot finds no more than this
  void write_open() {
    if (!early()) append(first_incomplete());
    if (!early()) return go(kNoteOpen);
    chunk().drained = 0;  // as it was before; a State keeps no copy
    append(w.end);
    chunk().drained = w.end;
    next_entry(kLookOpen, ended_first() ? kLookEnded : kWriteLiving);
  }
  // RecordBlock::write: chunk->drained = end
  void note_open() {
    chunk().drained = w.end;
    if (early()) return go(kWriteOpen);
    next_entry(kLookOpen, ended_first() ? kLookEnded : kWriteLiving);
  }
  // drain_ended_threads: state == kThreadEnded
  void look_ended() {
    if (s.entries[w.which].state != kEnded) return next_entry(kLookEnded, ended_first() ? kWriteLiving : kEndPass);
    go(setup.fault == Fault::kReleasedBeforeWritten ? kRelease : kWriteEnded);
  }
  void write_entry() {
    s.file.records[w.which] = s.entries[w.which].records;
    s.file.lost[w.which] = s.entries[w.which].lost;
  }
  // drain_ended_threads: write_changed
  void write_ended() {
    write_entry();
    if (setup.fault == Fault::kReleasedBeforeWritten)
      return next_entry(kLookEnded, ended_first() ? kWriteLiving : kEndPass);
    go(kRelease);
  }
  // release_thread
  void release() {
    s.entries[w.which].state = kReleased;
    if (setup.fault == Fault::kReleasedBeforeWritten) return go(kWriteEnded);
    next_entry(kLookEnded, ended_first() ? kWriteLiving : kEndPass);
  }
  // write_living_threads: copy_words, write_changed
  void write_living() {
    if (s.entries[w.which].state == kLive) write_entry();
    next_entry(kWriteLiving, ended_first() ? kEndPass : kLookEnded);
  }
  // run_writer: told_to_stop; write_the_rest: work_last_round
  void end_pass() {
    if (w.last != 0) return go(kClose);
    w.last = s.gate == 0;
    w.chunk = w.end = 0;
    go(kNextFull);
  }
  // drain_last_chunks: every chunk that is not free
  void write_rest() {
    w.chunk = w.which;
    if (chunk().state != kFree) {
      append(last_complete());
      chunk().drained = w.end;
    }
    w.which = static_cast<Byte>((w.which + 1) % kChunks);
    if (w.which == 0) go(kLookOpen);
  }
  // end_trace: shmctl(IPC_RMID)
  void close() {
    s.segment = 0;
    go(kGone);
  }
};

struct WriterStep {
  const char* name;
  void (Draining::*act)();
};
constexpr WriterStep kWriterSteps[] = {
    {"finds no full chunk", &Draining::no_full},
    {"writes a full chunk", &Draining::write_full},
    {"notes that it did", &Draining::note_full},
    {"sets it free", &Draining::free_full},
    {"enqueues it as free", &Draining::give_back},
    {"looks for the chunk a thread fills", &Draining::look_open},
    {"writes what is complete of it", &Draining::write_open},
    {"notes what it wrote", &Draining::note_open},
    {"looks whether a thread has ended", &Draining::look_ended},
    {"writes its entry", &Draining::write_ended},
    {"gives its entry back", &Draining::release},
    {"writes a living thread's entry", &Draining::write_living},
    {"ends a pass", &Draining::end_pass},
    {"writes a chunk that is not free", &Draining::write_rest},
    {"removes the segment", &Draining::close},
};

// ---- a reader in another process: analysis/reader.cpp, analysis/segment_copy.cpp ----

enum ReaderAt : Byte {
  kBegin,
  kLookChunk,
  kCopyOwner,
  kCopyLap,
  kLookSlot,
  kCopyCall,
  kCopyRest,
  kLookAgain,
  kReadFile,
  kDone,
};

struct Reading {
  State& s;
  const Setup& setup;
  Reader& r = s.reader;
  const Chunk& chunk() const { return s.chunks[r.which]; }
  void go(ReaderAt at) { r.at = at; }
  void next_slot() {
    ++r.slot;
    go(r.slot < kSlots ? kLookSlot : kLookAgain);
  }
  void next_chunk() {
    r.owner = r.first = r.lap = r.slot = r.copied = r.bad = r.finished_call = 0;
    ++r.which;
    go(r.which < kChunks ? kLookChunk : kReadFile);
  }
  void take_file() {
    for (int i = 0; i < kOwners; ++i) r.kept[i] = static_cast<Byte>(r.kept[i] | s.file.kept[i]);
  }

  // read_trace: read_head
  void begin() {
    for (int i = 0; i < kOwners; ++i) r.must[i] = s.owners[i].returned;
    if (setup.fault == Fault::kFileBeforeSegment) take_file();
    go(kLookChunk);
  }
  // copy_chunk: load(chunk.state)
  void look_chunk() {
    if (chunk().state == kFree) return next_chunk();
    go(kCopyOwner);
  }
  // copy_chunk: head = chunk, which is no single load
  void copy_owner() {
    r.owner = chunk().owner;
    r.first = chunk().first;
    go(kCopyLap);
  }
  void copy_lap() {
    r.lap = chunk().lap;
    r.slot = chunk().drained;
    go(r.slot < kSlots ? kLookSlot : kLookAgain);
  }
  // finished: hook and lap
  void look_slot() {
    const Byte lap = chunk().slots[r.slot].lap;
    if (lap == 0 || lap != r.lap) return next_slot();
    go(kCopyCall);
  }
  // copy_chunk: insert of the record's bytes
  void copy_call() {
    r.finished_call = chunk().slots[r.slot].call;
    go(kCopyRest);
  }
  void copy_rest() {
    const Byte whole = id_of(r.owner, r.first + r.slot);
    if (r.finished_call == whole && chunk().slots[r.slot].rest == whole)
      r.copied = static_cast<Byte>(r.copied | bit(r.first + r.slot));
    else
      r.bad = 1;
    r.finished_call = 0;
    next_slot();
  }
  // same_owner
  void look_again() {
    const Chunk& c = chunk();
    const bool same = c.state != kFree && c.lap == r.lap && c.owner == r.owner && c.first == r.first;
    if (same || setup.fault == Fault::kNoSecondLook) {
      r.kept[r.owner] = static_cast<Byte>(r.kept[r.owner] | r.copied);
      r.wrong |= r.bad;
    }
    next_chunk();
  }
  // read_trace: walk_blocks
  void read_file() {
    if (setup.fault != Fault::kFileBeforeSegment) take_file();
    go(kDone);
  }
};

struct ReaderStep {
  const char* name;
  void (Reading::*act)();
};
constexpr ReaderStep kReaderSteps[] = {
    {"begins", &Reading::begin},
    {"looks whether a chunk is free", &Reading::look_chunk},
    {"copies whose it is", &Reading::copy_owner},
    {"copies its lap", &Reading::copy_lap},
    {"looks whether a slot is complete", &Reading::look_slot},
    {"copies half of a record", &Reading::copy_call},
    {"copies the other half", &Reading::copy_rest},
    {"looks whose it is once more", &Reading::look_again},
    {"reads the file", &Reading::read_file},
};

// ---- what must be true ----

struct Found {
  Byte kept[kOwners] = {};
  int unfinished[kOwners] = {};
};

std::string call_name(int owner, int call) {
  return "call " + std::to_string(call) + " of thread " + std::to_string(owner);
}

int reserved_of(const State& s, const Byte (&kept)[kOwners], int i) {
  const bool there = s.segment != 0 && s.entries[i].state != kReleased;
  const int records = there ? s.entries[i].records : s.file.records[i];
  return std::max({records, static_cast<int>(s.file.end[i]), static_cast<int>(std::bit_width(kept[i]))});
}

// copy_chunk, with nobody at work any more; "" = all that is found was made.
std::string look_into_segment(const State& s, Found& found) {
  for (const Chunk& c : s.chunks) {
    if (c.state == kFree) continue;
    for (int slot = c.drained; slot < kSlots; ++slot) {
      if (!complete(c, slot)) continue;
      const int call = c.first + slot;
      const Byte whole = id_of(c.owner, call);
      if (c.slots[slot].call != whole || c.slots[slot].rest != whole)
        return "what is found as " + call_name(c.owner, call) + " is no such call";
      found.kept[c.owner] = static_cast<Byte>(found.kept[c.owner] | bit(call));
    }
  }
  return "";
}

// Reader::unfinished_of
int unfinished_of(const State& s, int i, int reserved) {
  int sum = 0;
  for (const Chunk& c : s.chunks) {
    const int first = c.first + c.drained;
    if (s.segment == 0 || c.state == kFree || c.owner != i || first >= reserved) continue;
    int finished = 0;
    for (int slot = c.drained; slot < kSlots; ++slot) finished += complete(c, slot);
    const int slots = std::min(c.first + kSlots, reserved) - first;
    sum += slots - std::min(slots, finished);
  }
  return sum;
}

// Reader::count_records
int lost_of(const State& s, const Byte (&kept)[kOwners], int i) {
  const bool there = s.segment != 0 && s.entries[i].state != kReleased;
  const int reserved = reserved_of(s, kept, i);
  const int missing = reserved - std::min(reserved, count(kept[i]));
  const int unfinished = std::min(missing, unfinished_of(s, i, reserved));
  return std::max<int>(missing - unfinished, there ? s.entries[i].lost : s.file.lost[i]);
}

std::string missing_call(const Byte (&kept)[kOwners], const State& s, int i, int must) {
  for (int call = 0; call < must; ++call)
    if (((kept[i] | s.owners[i].lost) & bit(call)) == 0) return call_name(i, call) + " had returned and is gone";
  return "";
}

}  // namespace

State first_state(const Setup& setup) {
  State s = {};
  for (Byte i = 0; i < setup.chunks; ++i) {
    enqueue(s.free, i);
    if (!setup.worn) continue;
    s.chunks[i].lap = kLastLap;
    for (Slot& slot : s.chunks[i].slots) slot = {0, 0, 1};
  }
  s.gate = s.segment = 1;
  return s;
}

void add_next(const State& state, const Setup& setup, std::vector<Next>& next) {
  const auto add = [&](const State& s, const char* who, const char* what) { next.push_back({s, who, what}); };
  for (int i = 0; i < kOwners; ++i) {
    if (state.owners[i].at == kOver) continue;
    State s = state;
    const OwnerStep& step = kOwnerSteps[s.owners[i].at];
    Thread thread{s, setup, i};
    (thread.*step.act)();
    add(s, i == 0 ? "thread 0" : "thread 1", step.name);
  }
  bool any_full = false;
  for (int i = 0; i < kOwners && state.writer.at == kNextFull; ++i) {
    State s = state;
    if (!Draining{s, setup}.next_full(i)) continue;
    any_full = true;
    add(s, "the writer", "takes a full chunk");
  }
  if (state.writer.at != kGone && !any_full) {
    State s = state;
    const WriterStep& step = kWriterSteps[s.writer.at];
    Draining draining{s, setup};
    (draining.*step.act)();
    add(s, "the writer", step.name);
  }
  if (setup.reader && state.reader.at != kDone) {
    State s = state;
    const ReaderStep& step = kReaderSteps[s.reader.at];
    Reading reading{s, setup};
    (reading.*step.act)();
    add(s, "the reader", step.name);
  }
  if (setup.exits && state.gate != 0) {  // end_trace: g_gate.recording = 0
    State s = state;
    s.gate = 0;
    for (Owner& owner : s.owners) owner.must = owner.returned;
    add(s, "the process", "exits");
  }
}

std::string wrong_with(const State& s, const Setup& setup) {
  Found found;
  std::copy(s.file.kept, s.file.kept + kOwners, found.kept);
  if (s.segment != 0) {
    if (std::string wrong = look_into_segment(s, found); !wrong.empty()) return wrong;
  }
  for (int i = 0; i < kOwners; ++i) {
    const Owner& owner = s.owners[i];
    const int must = s.segment != 0 ? owner.returned : owner.must;
    if (std::string wrong = missing_call(found.kept, s, i, must); !wrong.empty()) return wrong;
    if (found.kept[i] >> owner.entered != 0) return "thread " + std::to_string(i) + " has more records than calls";
    const int lost = lost_of(s, found.kept, i), really = count(owner.lost);
    // What was lost while the process left is nobody's business any more.
    if (s.segment != 0 && lost != really)
      return "thread " + std::to_string(i) + " lost " + std::to_string(really) + ", " + std::to_string(lost) +
             " are told";
    if (s.segment == 0 && lost < count(static_cast<Byte>(owner.lost & (bit(must) - 1))))
      return "thread " + std::to_string(i) + " has losses that are not told";
  }
  if (!setup.reader || s.reader.at != kDone) return "";
  if (s.reader.wrong != 0) return "the reader took something for a record that never was one";
  for (int i = 0; i < kOwners; ++i)
    if (std::string wrong = missing_call(s.reader.kept, s, i, s.reader.must[i]); !wrong.empty())
      return "the reader did not find it: " + wrong;
  return "";
}

}  // namespace hostprobe::model
