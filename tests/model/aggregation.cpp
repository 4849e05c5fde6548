// aggregation.cpp: the steps of the program's threads and of the writer. See aggregation.h; the readers are in aggregation_reader.cpp.
#include "aggregation.h"

#include <algorithm>

#include "aggregation_reader.h"

namespace hostprobe::model::aggregation {
namespace {

void enqueue(Queue& queue, Byte chunk) { queue.chunks[queue.count++] = chunk; }
Byte dequeue(Queue& queue) {
  const Byte chunk = queue.chunks[0];
  std::copy(queue.chunks + 1, queue.chunks + kChunks, queue.chunks);
  queue.chunks[kChunks - 1] = 0;
  --queue.count;
  return chunk;
}

// ---- the program's threads: thread.cpp, hook.h ----

enum OwnerAt : Byte {
  kEnter,
  kCommit,
  kNeedChunk,
  kHide,
  kHandOver,
  kTake,
  kSetFilling,
  kPublish,
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
  bool ending() const { return o.returned == setup.calls[static_cast<std::size_t>(i)]; }
  void go(OwnerAt at) { o.at = at; }

  // recording(), reserve_record. key_destructor, when the thread has made its calls
  void enter() {
    if (s.gate == 0) return go(kOver);
    if (ending()) return go(o.chunk != 0 ? kHide : kSetEnded);
    ++o.entered;
    if (o.chunk == 0 || o.used == kSlots) return go(kNeedChunk);
    ++o.used;
    go(kCommit);
  }
  // commit_record
  void commit() {
    chunk().slots[o.used - 1] = {id_of(i, o.entered - 1), chunk().lap, 0};
    ++o.returned;
    go(kEnter);
  }
  // reserve_in_new_chunk: g_gate.recording once more
  void need_chunk() { go(s.gate == 0 ? kOver : o.chunk != 0 ? kHide : kTake); }
  // give_chunk_away: entry->chunk = 0
  void hide() {
    entry.chunk = 0;
    go(kHandOver);
  }
  // hand_over: chunk->state = kChunkFull, g_full->enqueue
  void hand_over() {
    chunk().state = kFull;
    enqueue(s.full[i], static_cast<Byte>(o.chunk - 1));
    o.chunk = o.used = 0;
    go(ending() ? kSetEnded : kTake);
  }
  // take_chunk: g_free->try_dequeue_from_producer, ++chunk->lap, chunk->drained = chunk->aggregated = 0; count_lost
  void take() {
    if (s.free.count == 0) {
      set(o.lost, bit(o.entered - 1));
      ++o.returned;
      return go(kEnter);
    }
    o.chunk = static_cast<Byte>(dequeue(s.free) + 1);
    ++chunk().lap;
    chunk().drained = chunk().aggregated = 0;
    go(kSetFilling);
  }
  // take_chunk: chunk->state = kChunkFilling
  void set_filling() {
    chunk().state = kFilling;
    go(kPublish);
  }
  // start_chunk: chunk->tid, chunk->first_sequence, entry->chunk; reserve_in_new_chunk: the first slot
  void publish() {
    chunk().owner = static_cast<Byte>(i);
    chunk().first = static_cast<Byte>(o.entered - 1);
    entry.chunk = o.chunk;
    o.used = 1;
    go(kCommit);
  }
  // end_thread: entry->state = kThreadEnded
  void set_ended() {
    entry.ended = 1;
    go(kOver);
  }
};

struct OwnerStep {
  const char* name;
  void (Thread::*act)();
};
constexpr OwnerStep kOwnerSteps[] = {
    {"enters a call, or ends", &Thread::enter}, {"stores its record and returns", &Thread::commit},
    {"needs a chunk", &Thread::need_chunk},     {"takes its chunk out of its entry", &Thread::hide},
    {"hands it over", &Thread::hand_over},      {"takes a free chunk", &Thread::take},
    {"sets it filling", &Thread::set_filling},  {"says whose it is", &Thread::publish},
    {"has ended", &Thread::set_ended},
};

// ---- the writer: drain.cpp, aggregate.cpp, site_rows.cpp, flight.cpp, record_block.cpp ----

enum WriterAt : Byte {
  kNextFull,
  kAge,
  kAnswer,
  kDumpAggregate,
  kDumpFlag,
  kDumpWrite,
  kDumpNote,
  kDumpRecycle,
  kOpenLook,
  kOpenFlag,
  kOpenWrite,
  kOpenNote,
  kDumpEnd,
  kRest,
  kWriteRows,
  kClose,
  kGone,
  kRecycle,
  kWrite,
  kNote,
  kBeginAggregate,
  kAggregateSlot,
  kFillUndo,
  kSetUndo,
  kAddTicks,
  kAddCount,
  kAddAmount,
  kSayAggregated,
  kTakeUndoBack,
  kEndAggregate,
  kWriteRow,
  kFreeRow,
  kClearTicks,
  kClearCount,
  kClearAmount,
};

struct Draining {
  State& s;
  const Setup& setup;
  Byte choice = 0;  // where more than one thing may come next
  Writer& w = s.writer;
  Chunk& chunk() { return s.chunks[w.chunk]; }
  Row& row() { return s.rows[w.row]; }
  bool is(Fault fault) const { return setup.fault == fault; }
  void go(WriterAt at) {
    w.at = at;
    if (at == kNextFull || at == kAge || at == kAnswer)
      w.chunk = w.end = w.slot = w.row = w.which = w.then = w.victim = 0;
  }
  void go_on() { go(static_cast<WriterAt>(w.then)); }
  void aggregate_then(WriterAt then) {
    w.then = then;
    go(kBeginAggregate);
  }
  void write_then(WriterAt then) {
    w.then = then;
    go(kWrite);
  }

  Byte last_complete(const Chunk& c) const {
    int end = kSlots;
    while (end > c.drained && !complete(c, end - 1)) --end;
    return static_cast<Byte>(end);
  }
  Byte first_incomplete(const Chunk& c) const {
    int end = c.drained;
    while (end < kSlots && complete(c, end)) ++end;
    return static_cast<Byte>(end);
  }
  void take(Byte index) {
    w.chunk = index;
    w.end = last_complete(chunk());
  }

  // next_full_chunks: any thread's queue may be the next; hand_full_chunks
  void next_full() {
    take(dequeue(s.full[choice]));
    if (setup.mode == kFlight) {  // keep_chunk
      enqueue(w.ring, w.chunk);
      return go(kNextFull);
    }
    if (setup.mode == kTrace) return write_then(kRecycle);
    is(Fault::kRecycledBeforeAggregated) ? go(kRecycle) : aggregate_then(kRecycle);
  }
  // age_kept_chunks: how old a chunk is is anybody's guess
  void age() {
    if (choice == 0) return w.dumps < setup.triggers ? go(kAnswer) : end_pass();
    take(dequeue(w.ring));
    is(Fault::kRecycledBeforeAggregated) ? go(kRecycle) : aggregate_then(kRecycle);
  }
  // recycle_chunk
  void recycle() {
    give_back(w.chunk);
    if (is(Fault::kRecycledBeforeAggregated)) return aggregate_then(kNextFull);
    go(setup.mode == kFlight ? kAge : kNextFull);
  }
  void give_back(Byte index) {
    s.chunks[index].state = kFree;
    enqueue(s.free, index);
  }

  // answer_trigger: a trigger may have come or not
  void answer() {
    if (choice == 0) return end_pass();
    ++w.dumps;
    for (int i = 0; i < w.ring.count; ++i) {
      const Chunk& c = s.chunks[w.ring.chunks[i]];
      want(c, last_complete(c));
    }
    go(is(Fault::kDumpedBeforeAggregated) ? kDumpFlag : kDumpAggregate);
  }
  void want(const Chunk& c, Byte end) {
    for (int slot = c.drained; slot < end; ++slot)
      if (complete(c, slot)) set(s.files.wanted[c.owner], bit(c.first + slot));
  }
  // The next chunk of the ring; false: there is none, and `after` comes next
  bool next_kept(WriterAt after) {
    if (w.which == w.ring.count) {
      w.which = 0;
      go(after);
      return false;
    }
    take(w.ring.chunks[w.which++]);
    return true;
  }
  // dump_kept_chunks: aggregate
  void dump_aggregate() {
    const bool late = is(Fault::kDumpedBeforeAggregated) || is(Fault::kRecycledBeforeDumped);
    if (next_kept(late ? kDumpRecycle : kDumpFlag)) aggregate_then(kDumpAggregate);
  }
  // RecordBlock::add: records[i].flags |= kRecordAggregated
  void flag(Chunk& c, Byte end) {
    for (int slot = c.drained; slot < end; ++slot)
      if (complete(c, slot) && !is(Fault::kDumpNotFlagged)) c.slots[slot].aggregated = 1;
  }
  void dump_flag() {
    if (next_kept(kDumpWrite)) flag(chunk(), w.end);
  }
  // RecordBlock::write: one pwritev
  void dump(const Chunk& c, Byte end) {
    for (int slot = c.drained; slot < end; ++slot) {
      if (!complete(c, slot)) continue;
      const int call = c.first + slot;
      if (c.slots[slot].call != id_of(c.owner, call)) s.files.bad = 1;
      set(s.files.dumped[c.owner], bit(call));
      if (c.slots[slot].aggregated == 0) set(s.files.unflagged[c.owner], bit(call));
    }
  }
  void dump_write() {
    for (int i = 0; i < w.ring.count; ++i) {
      const Chunk& c = s.chunks[w.ring.chunks[i]];
      dump(c, last_complete(c));
    }
    go(kDumpNote);
  }
  // RecordBlock::write: chunk->drained = end
  void dump_note() {
    const WriterAt after = is(Fault::kDumpedBeforeAggregated) ? kDumpAggregate
                           : is(Fault::kRecycledBeforeDumped) ? kOpenLook
                                                              : kDumpRecycle;
    if (next_kept(after)) chunk().drained = w.end;
  }
  // dump_kept_chunks: recycle_chunk
  void dump_recycle() {
    if (next_kept(is(Fault::kRecycledBeforeDumped) ? kDumpFlag : kOpenLook)) give_back(w.chunk);
  }
  // dump_open_chunks: open_chunk_of, first_incomplete, aggregate
  void open_look() {
    w.ring = {};
    if (w.which == kOwners) return go(kDumpEnd);
    const Byte i = w.which++;
    const Entry& entry = s.entries[i];
    if (entry.ended != 0 || entry.chunk == 0 || s.chunks[entry.chunk - 1].owner != i) return;
    w.chunk = static_cast<Byte>(entry.chunk - 1);
    w.end = first_incomplete(chunk());
    want(chunk(), w.end);
    is(Fault::kDumpedBeforeAggregated) ? go(kOpenFlag) : aggregate_then(kOpenFlag);
  }
  void open_flag() {
    flag(chunk(), w.end);
    go(kOpenWrite);
  }
  void open_write() {
    dump(chunk(), w.end);
    go(kOpenNote);
  }
  void open_note() {
    chunk().drained = std::max(chunk().drained, w.end);
    is(Fault::kDumpedBeforeAggregated) ? aggregate_then(kOpenLook) : go(kOpenLook);
  }
  void dump_end() {
    for (int i = 0; i < kOwners; ++i) {
      if ((s.files.wanted[i] & ~s.files.dumped[i]) != 0) s.files.bad = 1;
      s.files.wanted[i] = s.files.dumped[i] = 0;
    }
    end_pass();
  }

  // work_last_round: drain_last_chunks. run_writer: told_to_stop; write_the_rest: work_last_round
  void end_pass() {
    const bool was_last = w.last != 0;
    w.last = s.gate == 0;
    go(kNextFull);
    if (was_last) go(is(Fault::kRowsBeforeLastAggregate) ? kWriteRows : kRest);
  }
  // drain_last_chunks: every chunk that is not free
  void rest() {
    if (w.which == kChunks) {
      w.which = 0;
      return go(is(Fault::kRowsBeforeLastAggregate) ? kClose : kWriteRows);
    }
    take(w.which++);
    if (chunk().state == kFree) return;
    setup.mode == kMonitor ? aggregate_then(kRest) : write_then(kRest);
  }
  // write_all_rows
  void write_rows() {
    if (w.which == kRows) {
      w.which = 0;
      return go(is(Fault::kRowsBeforeLastAggregate) ? kRest : kClose);
    }
    const Row& each = s.rows[w.which++];
    if (each.owner != 0) s.files.rows[each.owner - 1] = each.spans;
  }
  // end_trace: shmctl(IPC_RMID)
  void close() {
    s.segment = 0;
    go(kGone);
  }

  // RecordBlock::write: one pwritev
  void write() {
    const Chunk& c = chunk();
    for (int slot = is(Fault::kAggregatedIntoFile) ? 0 : c.drained; slot < w.end; ++slot)
      if (complete(c, slot) && c.slots[slot].call == id_of(c.owner, c.first + slot))
        set(s.files.kept[c.owner], bit(c.first + slot));
    go(kNote);
  }
  // RecordBlock::write: chunk->drained = end
  void note() {
    chunk().drained = w.end;
    go_on();
  }

  // Which number it is says no more than whether it is odd, and whether the reader finds another one.
  void change_serial() {
    s.serial ^= 1;
    if (looks_at_sums(s.reader)) s.reader.moved = 1;
  }
  // aggregate: aggregate_serial
  void begin_aggregate() {
    if (w.end <= chunk().aggregated) return go_on();
    change_serial();
    w.slot = chunk().aggregated;
    go(kAggregateSlot);
  }
  // aggregate_slot: is_complete, site_row
  void aggregate_slot() {
    if (w.slot == w.end) return go(kEndAggregate);
    if (!complete(chunk(), w.slot)) return skip_slot();
    if (find_row(chunk().owner + 1) || (find_row(0) && w.row < setup.rows)) {
      row().owner = static_cast<Byte>(chunk().owner + 1);
      return go(is(Fault::kAggregatedBeforeUndo) ? kSayAggregated : kSetUndo);
    }
    for (w.row = 0; w.row < setup.rows; ++w.row)
      if (!has_more_to_come(row().owner - 1)) return make_room();
    set(s.owners[chunk().owner].lost, bit(chunk().first + w.slot));
    skip_slot();
  }
  bool find_row(int owner) {
    for (w.row = 0; w.row < setup.rows; ++w.row)
      if (row().owner == owner) return true;
    return false;
  }
  void skip_slot() {
    w.row = 0;
    chunk().aggregated = ++w.slot;
    go(kAggregateSlot);
  }
  bool has_more_to_come(int owner) const {
    if (s.entries[owner].ended == 0) return true;
    if (is(Fault::kRowEvictedTooEarly)) return false;
    return std::any_of(s.chunks, s.chunks + kChunks,
                       [&](const Chunk& c) { return c.state != kFree && c.owner == owner; });
  }
  // commit: undo.chunk, undo.aggregated, undo.amount, remember. Nobody looks at them before undo.sum is stored
  void fill_undo() {
    s.undo.chunk = w.chunk;
    s.undo.aggregated = w.slot;
    s.undo.before = row().spans;
    go(kAddTicks);
  }
  // commit: undo.sum
  void set_undo() {
    if (!is(Fault::kUndoFilledLast)) fill_undo();
    if (!is(Fault::kNoUndo)) s.undo.sum = static_cast<Byte>(w.row + 1);
    go(is(Fault::kUndoFilledLast) ? kFillUndo : kAddTicks);
  }
  Byte ticks() { return bit(chunk().first + w.slot); }
  // add_to: spans.ticks
  void add_ticks() {
    row().spans.ticks = static_cast<Byte>(row().spans.ticks + ticks());
    go(kAddCount);
  }
  // add_to: ++spans.buckets[…]
  void add_count() {
    ++row().spans.count;
    go(kAddAmount);
  }
  // commit: counters.amount
  void add_amount() {
    row().spans.amount = static_cast<Byte>(row().spans.amount + ticks());
    go(is(Fault::kAggregatedBeforeUndo) ? kTakeUndoBack : kSayAggregated);
  }
  // commit: chunk->aggregated
  void say_aggregated() {
    chunk().aggregated = static_cast<Byte>(w.slot + 1);
    go(is(Fault::kAggregatedBeforeUndo) ? kSetUndo : kTakeUndoBack);
  }
  // commit: undo.sum = 0
  void take_undo_back() {
    if (!is(Fault::kUndoNotTakenBack)) s.undo = {};
    w.row = 0;
    ++w.slot;
    go(kAggregateSlot);
  }
  // aggregate: aggregate_serial
  void end_aggregate() {
    change_serial();
    w.slot = 0;
    go_on();
  }

  // make_room: write_row, free_row: its key, clear_spans
  void make_room() {
    w.victim = static_cast<Byte>(row().owner - 1);
    go(is(Fault::kRowFreedBeforeWritten) ? kFreeRow : kWriteRow);
  }
  void write_row() {
    const bool dumping = w.then == kDumpAggregate || w.then == kOpenFlag;
    if (!(dumping && is(Fault::kRowIntoDump))) s.files.rows[w.victim] = row().spans;
    const bool freed = is(Fault::kRowFreedBeforeWritten) || is(Fault::kRowClearedBeforeFreed);
    go(freed ? kClearTicks : kFreeRow);
  }
  void free_row() {
    row().owner = 0;
    if (is(Fault::kRowClearedBeforeFreed)) return room_is_made();
    go(is(Fault::kRowFreedBeforeWritten) ? kWriteRow : kClearTicks);
  }
  void clear_ticks() {
    row().spans.ticks = 0;
    go(kClearCount);
  }
  void clear_count() {
    row().spans.count = 0;
    go(kClearAmount);
  }
  void clear_amount() {
    row().spans.amount = 0;
    if (is(Fault::kRowClearedBeforeFreed)) return go(kFreeRow);
    room_is_made();
  }
  void room_is_made() {
    w.victim = w.row = 0;
    go(kAggregateSlot);
  }
};

struct WriterStep {
  const char* name;
  void (Draining::*act)();
};
constexpr WriterStep kWriterSteps[] = {
    {"takes a full chunk", &Draining::next_full},
    {"finds no full chunk, and looks how old the oldest kept one is", &Draining::age},
    {"looks for a trigger", &Draining::answer},
    {"has the next kept chunk aggregated for the dump", &Draining::dump_aggregate},
    {"flags the next kept chunk", &Draining::dump_flag},
    {"writes the kept chunks into the dump", &Draining::dump_write},
    {"notes that it did", &Draining::dump_note},
    {"gives the next kept chunk back", &Draining::dump_recycle},
    {"looks for an open chunk to dump", &Draining::open_look},
    {"flags it", &Draining::open_flag},
    {"writes it into the dump", &Draining::open_write},
    {"notes what it wrote", &Draining::open_note},
    {"ends the dump", &Draining::dump_end},
    {"takes a chunk that is not free", &Draining::rest},
    {"writes a row of counters", &Draining::write_rows},
    {"removes the segment", &Draining::close},
    {"has gone", nullptr},
    {"gives a chunk back", &Draining::recycle},
    {"writes a chunk", &Draining::write},
    {"notes that it is written", &Draining::note},
    {"begins to aggregate", &Draining::begin_aggregate},
    {"looks for the row of a slot", &Draining::aggregate_slot},
    {"fills the Undo", &Draining::fill_undo},
    {"sets the Undo", &Draining::set_undo},
    {"adds the ticks", &Draining::add_ticks},
    {"counts", &Draining::add_count},
    {"adds the amount", &Draining::add_amount},
    {"says that the slot is aggregated", &Draining::say_aggregated},
    {"takes the Undo back", &Draining::take_undo_back},
    {"ends aggregating", &Draining::end_aggregate},
    {"writes a row to make room", &Draining::write_row},
    {"frees the row", &Draining::free_row},
    {"clears its ticks", &Draining::clear_ticks},
    {"clears its count", &Draining::clear_count},
    {"clears its amount", &Draining::clear_amount},
};

}  // namespace

State first_state(const Setup& setup) {
  State s = {};
  for (Byte i = 0; i < setup.chunks; ++i) enqueue(s.free, i);
  for (int i = 0; i < kOwners; ++i) {
    if (setup.calls[static_cast<std::size_t>(i)] != 0) continue;  // there is no such thread
    s.owners[i].at = kOver;
    s.entries[i].ended = 1;
  }
  s.gate = s.segment = 1;
  return s;
}

namespace {

void add_writer_steps(const State& state, const Setup& setup, std::vector<Next>& next) {
  const Writer& w = state.writer;
  const auto add = [&](WriterAt at, int choice) {
    State s = state;
    Draining draining{s, setup, static_cast<Byte>(choice)};
    (draining.*kWriterSteps[at].act)();
    next.push_back({s, "the writer", kWriterSteps[at].name});
  };
  if (w.at == kGone) return;
  bool any_full = false;
  for (int i = 0; i < kOwners && w.at == kNextFull; ++i) {
    if (state.full[i].count == 0) continue;
    any_full = true;
    add(kNextFull, i);
  }
  if (any_full) return;
  const WriterAt at = w.at == kNextFull ? kAge : static_cast<WriterAt>(w.at);
  const bool must = at == kAge && w.ring.count > setup.most_kept;
  const bool may = at == kAge ? w.ring.count != 0 : at == kAnswer;
  if (!must) add(at, 0);
  if (may) add(at, 1);
}

}  // namespace

void add_next(const State& state, const Setup& setup, std::vector<Next>& next) {
  add_reader_step(state, setup, next);
  if (state.killed != 0) return;
  for (int i = 0; i < kOwners; ++i) {
    if (state.owners[i].at == kOver) continue;
    State s = state;
    const OwnerStep& step = kOwnerSteps[s.owners[i].at];
    Thread thread{s, setup, i};
    (thread.*step.act)();
    next.push_back({s, i == 0 ? "thread 0" : "thread 1", step.name});
  }
  add_writer_steps(state, setup, next);
  if (setup.killed && state.reader.at > kAttach && state.reader.at < kReadFile) {
    State s = state;
    s.killed = 1;
    next.push_back({s, "the process", "is killed"});
  }
  if (setup.exits && state.gate != 0) {  // end_trace: g_gate.recording = 0
    State s = state;
    s.gate = 0;
    for (Owner& owner : s.owners) owner.must = owner.returned;
    next.push_back({s, "the process", "exits"});
  }
}

}  // namespace hostprobe::model::aggregation
