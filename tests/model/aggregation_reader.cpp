// aggregation_reader.cpp: the steps of a reader of the living process, and what a reader of a dead one finds. See aggregation.h.
#include "aggregation_reader.h"

#include <algorithm>

namespace hostprobe::model::aggregation {
namespace {

// ---- what must be true ----

std::string call_name(int owner, int call) {
  return "call " + std::to_string(call) + " of thread " + std::to_string(owner);
}

std::string whole(const Spans& counters, int owner) {
  if (counters.amount == counters.ticks && counters.count == count(counters.ticks)) return "";
  return "the counters of thread " + std::to_string(owner) + " are torn: " + std::to_string(counters.count) +
         " calls, " + std::to_string(counters.ticks) + " ticks, amount " + std::to_string(counters.amount);
}

// What is said of the calls of a thread, of which the first `must` had returned.
std::string wrong_sums(const Spans& counters, Byte kept, const Owner& owner, int i, int must) {
  if (std::string wrong = whole(counters, i); !wrong.empty()) return wrong;
  for (int call = 0; call < kMostCalls; ++call) {
    const bool once = ((counters.ticks | kept) & bit(call)) != 0;
    if ((counters.ticks & kept & bit(call)) != 0) return call_name(i, call) + " counts twice";
    if (once && call >= owner.entered) return call_name(i, call) + " was never made";
    if (!once && call < must && (owner.lost & bit(call)) == 0) return call_name(i, call) + " had returned and is gone";
  }
  return "";
}

// ---- a reader of the living process: analysis/reader.cpp, analysis/segment_copy.cpp ----

struct Reading {
  State& s;
  const Setup& setup;
  Reader& r = s.reader;
  bool is(Fault fault) const { return setup.fault == fault; }
  const Chunk& chunk() const { return s.chunks[r.which]; }
  Copy& copy() { return r.chunks[r.which]; }
  void go(ReaderAt at) {
    r.at = at;
    r.which = 0;
  }
  // The same step for the next one of `all`
  void next(ReaderAt same, int all, ReaderAt after) {
    if (++r.which == all) return go(after);
    r.at = same;
  }
  bool same_owner() {
    const Chunk& c = chunk();
    return c.state != kFree && c.lap == copy().lap && c.owner == copy().owner && c.first == copy().first;
  }

  void begin() {
    for (int i = 0; i < kOwners; ++i) r.must[i] = s.gate != 0 ? s.owners[i].returned : s.owners[i].must;
    go(kAttach);
  }
  // copy_segment; where it has gone, the file is complete
  void attach() { go(s.segment != 0 ? kCopyHead : kReadFile); }
  // copy_one: state, head
  void copy_head() {
    const Chunk& c = chunk();
    copy() = {};
    if (c.state == kFree) return next(kCopyHead, setup.chunks, kLookSerial);
    copy() = {c.owner, c.first, c.lap, c.aggregated, c.drained, 0};
    r.at = kCopyRecords;
  }
  // copy_one: records
  void copy_records() {
    Byte slots = 0;
    for (int slot = copy().slots; slot < kSlots; ++slot) {
      const Slot& each = chunk().slots[slot];
      if (each.lap == 0 || each.lap != copy().lap) continue;
      set(slots, bit(slot));
      if (each.call != id_of(copy().owner, copy().first + slot)) copy().bad = 1;
    }
    copy().slots = slots;
    r.at = kLookAgain;
  }
  // copy_one: same_owner
  void look_again() {
    if (copy().slots == 0 || !same_owner()) copy() = {};
    r.wrong |= copy().bad;
    next(kCopyHead, setup.chunks, kLookSerial);
  }
  // copy_sums_and_chunks: aggregate_serial. While it is odd it is looked at again
  void look_serial() {
    r.moved = 0;
    go(kCopyRow);
  }
  // copy_sums
  void copy_row() {
    r.rows[r.which] = s.rows[r.which];
    if (takes_back() && s.undo.sum == r.which + 1) r.rows[r.which].spans = s.undo.before;
    next(kCopyRow, setup.rows, looks_owner_first() ? kLookOwner : kLookAggregated);
  }
  bool looks_owner_first() const { return is(Fault::kReaderLooksOwnerFirst); }
  // Chunks::look_again: aggregated
  void look_aggregated() {
    if (!is(Fault::kReaderTakesFirstAggregated)) copy().aggregated = chunk().aggregated;
    if (takes_back() && s.undo.sum != 0 && s.undo.chunk == r.which) copy().aggregated = s.undo.aggregated;
    if (copy().slots == 0) copy() = {};
    if (looks_owner_first()) return next(kLookOwner, setup.chunks, kLookSerialAgain);
    r.at = kLookOwner;
  }
  // Chunks::look_again: same_owner. What is there no more is in the counters, or in the file
  void look_owner() {
    if (!same_owner()) copy() = {};
    if (!looks_owner_first()) return next(kLookAggregated, setup.chunks, kLookSerialAgain);
    r.at = kLookAggregated;
  }
  void look_serial_again() {
    const bool good = r.moved == 0 || is(Fault::kReaderIgnoresSerial);
    for (Copy& each : r.chunks) {
      for (int slot = 0; slot < each.aggregated && good; ++slot)
        each.slots = static_cast<Byte>(each.slots & ~bit(slot));
      if (!is(Fault::kReaderTakesFirstAggregated)) each.aggregated = 0;
      if (each.slots == 0) each = {};
    }
    if (!good) std::fill(r.rows, r.rows + kRows, Row{});
    go(good ? kReadFile : kLookSerial);
  }
  // Reader::read: walk_blocks, add_segment, overtaken
  void read_file() {
    for (int i = 0; i < kOwners; ++i) {
      const Byte in_memory = not_aggregated(i);
      const Spans copied = row_of(i);
      const bool newer = s.files.rows[i].count > copied.count;
      if (newer && in_memory != 0 && !is(Fault::kReaderTakesLaterRows)) return start_again();
      r.counters[i] = newer ? s.files.rows[i] : copied;
      r.kept[i] = static_cast<Byte>(in_memory | s.files.kept[i] | s.files.unflagged[i]);
      if (!wrong_sums(r.counters[i], r.kept[i], s.owners[i], i, r.must[i]).empty()) r.wrong = 1;
    }
    if (r.wrong == 0) r = {};
    go(kDone);
  }
  void start_again() {
    const Reader before = r;
    r = {};
    std::copy(before.must, before.must + kOwners, r.must);
    go(kAttach);
  }
  Byte not_aggregated(int owner) const {
    Byte calls = 0;
    for (const Copy& each : r.chunks)
      for (int slot = 0; slot < kSlots && each.owner == owner; ++slot)
        if ((each.slots & bit(slot)) != 0) set(calls, bit(each.first + slot));
    return calls;
  }
  Spans row_of(int owner) const {
    for (const Row& row : r.rows)
      if (row.owner == owner + 1) return row.spans;
    return {};
  }
  // copy_sums_and_chunks: a live writer goes on, and is waited for; of one that was killed the Undo is taken
  bool waits() const {
    return r.at == kLookSerial && s.serial != 0 && s.killed == 0 && !is(Fault::kReaderIgnoresSerial);
  }
  bool takes_back() const { return s.killed != 0 && !is(Fault::kReaderIgnoresUndo); }
};

struct ReaderStep {
  const char* name;
  void (Reading::*act)();
};
constexpr ReaderStep kReaderSteps[] = {
    {"begins", &Reading::begin},
    {"attaches the segment", &Reading::attach},
    {"copies a chunk's head", &Reading::copy_head},
    {"copies its records", &Reading::copy_records},
    {"looks whose it is once more", &Reading::look_again},
    {"looks at the serial", &Reading::look_serial},
    {"copies a row", &Reading::copy_row},
    {"looks how much of a chunk is aggregated", &Reading::look_aggregated},
    {"looks whose it is now", &Reading::look_owner},
    {"looks at the serial again", &Reading::look_serial_again},
    {"reads the file", &Reading::read_file},
};

// ---- a reader of a dead process ----

// What it finds in the segment.
struct Found {
  Spans rows[kOwners] = {};
  Byte kept[kOwners] = {};
};

// copy_sums_and_chunks: undo_row, Chunks::undo; keep_newer
Spans undone_row(const State& s, int i) {
  const Undo& undo = s.undo;
  return undo.sum == i + 1 ? undo.before : s.rows[i].spans;
}

std::string look_into_segment(const State& s, Found& found) {
  for (int i = 0; i < kRows; ++i) {
    if (s.rows[i].owner == 0) continue;
    Spans& known = found.rows[s.rows[i].owner - 1];
    const Spans row = undone_row(s, i);
    if (row.count >= known.count) known = row;
  }
  for (int i = 0; i < kChunks; ++i) {
    const Chunk& c = s.chunks[i];
    if (c.state == kFree) continue;
    const int aggregated = s.undo.sum != 0 && s.undo.chunk == i ? s.undo.aggregated : c.aggregated;
    for (int slot = c.drained; slot < kSlots; ++slot) {
      if (!complete(c, slot)) continue;
      const int call = c.first + slot;
      if (c.slots[slot].call != id_of(c.owner, call)) return "a record is not what it is found as";
      if (slot >= aggregated && c.slots[slot].aggregated != 0)
        return call_name(c.owner, call) + " is flagged and not aggregated";
      if (slot >= aggregated) set(found.kept[c.owner], bit(call));
    }
  }
  return "";
}

}  // namespace

void add_reader_step(const State& state, const Setup& setup, std::vector<Next>& next) {
  State s = state;
  Reading reading{s, setup};
  if (!setup.reader || s.reader.at == kDone || reading.waits()) return;
  const ReaderStep& step = kReaderSteps[s.reader.at];
  (reading.*step.act)();
  next.push_back({s, "the reader", step.name});
}

std::string wrong_with(const State& s, const Setup&) {
  Found found;
  for (int i = 0; i < kOwners; ++i) found.rows[i] = s.files.rows[i];
  if (s.segment != 0) {
    if (std::string wrong = look_into_segment(s, found); !wrong.empty()) return wrong;
  }
  for (int i = 0; i < kOwners; ++i) {
    const Owner& owner = s.owners[i];
    const auto kept = static_cast<Byte>(found.kept[i] | s.files.kept[i] | s.files.unflagged[i]);
    const int must = s.segment != 0 ? owner.returned : owner.must;
    if (std::string wrong = wrong_sums(found.rows[i], kept, owner, i, must); !wrong.empty()) return wrong;
  }
  if (s.files.bad != 0) return "a dump does not hold what it should";
  const Reader& r = s.reader;
  for (int i = 0; i < kOwners && r.at == kDone && r.wrong != 0; ++i)
    if (std::string wrong = wrong_sums(r.counters[i], r.kept[i], s.owners[i], i, r.must[i]); !wrong.empty())
      return "the reader finds that " + wrong;
  return r.wrong != 0 ? "the reader took something for a record that never was one" : "";
}

}  // namespace hostprobe::model::aggregation
