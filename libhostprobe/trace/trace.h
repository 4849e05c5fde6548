// trace.h: what one process wrote, as the reader hands it to every question.
//
// Room 3. Records stay where they are (the mapped file, packed or not, or the copy of a segment); see thread.h. Times are
// still ticks here: ask `clock`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "answer/damage.h"
#include "clock.h"
#include "format/file.h"
#include "mapped_file.h"
#include "memory_budget.h"
#include "thread.h"

namespace hostprobe::analysis {

// Damage that leaves nothing of a trace to read. `offset` is the byte in the file where reading had to end.
struct TraceError : std::runtime_error {
  TraceError(const std::string& what, std::uint64_t at) : std::runtime_error(what), offset(at) {}
  std::uint64_t offset;
};

// How a word of a record is to be understood; see format/record.h.
enum class Form { kDecimal, kSigned, kHex, kCode, kString, kDim, kPost, kMicroseconds, kNcclCall, kRanks, kReal };

struct Label {
  std::string name;  // "" = the word is not used
  Form form = Form::kDecimal;
};

struct Hook {
  std::string name;
  std::string versions;
  Label labels[5];
  std::uint8_t family = 0;
  std::uint8_t type = kRowCall;  // RowType
  HookRole role = HookRole::kOther;
  std::uint8_t traits = 0;  // HookTrait bits
  bool found = false;
  bool used = false;  // it was called, whether or not that left records
  bool blocking = false;
  bool launch = false;

  // Which of a..e carries this label; -1 = none.
  int word_of(std::string_view label) const;
};

struct Module {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t bias;
  std::uint64_t seen_ticks;
  std::string path;
  std::string build_id;  // hexadecimal
};

// What the counters of a thread held when steps became known, in mode monitor.
struct StartCounters {
  std::map<std::uint64_t, SiteSum> short_waits;
  std::map<SumKey, SiteSum> counters;
};

// Steps that the process itself saw while it ran, in mode monitor.
struct StepsSeen {
  StepsFrom from{};
  ThreadKey thread;
  SiteSum lengths;
};

// The content of a block, where it lies in the file; aligned to 8 bytes or not.
struct BlockBytes {
  const std::byte* bytes;
  std::uint64_t count;
};

struct Stack {
  std::vector<std::uint64_t> native;
  std::vector<std::uint32_t> python;  // string ids
};

enum class SegmentState { kNotNeeded, kRead, kGone };

// Bytes of the strings area, as far as they are known.
class Strings {
 public:
  void put(std::uint64_t offset, const std::byte* bytes, std::size_t count);
  // "" for id 0, for an id nobody wrote, and for a string that was not complete.
  std::string_view text(std::uint64_t id) const;
  std::size_t size() const { return area_.size(); }

 private:
  std::string area_;
};

struct Trace {
  std::string path;
  FileHeader header{};
  bool header_whole = true;  // false: only what the blocks and the file's name tell is known of the process
  SegmentState segment = SegmentState::kNotNeeded;
  bool alive = false;  // the process was running while this was read
  std::uint64_t file_bytes = 0;
  std::uint64_t whole_end = 0;  // behind the last whole block
  bool cut_short = false;       // the file ends inside a block: what a kill leaves, not damage
  std::uint64_t lost_without_thread = 0;
  std::uint64_t process_cpu_ns = 0;
  std::uint64_t writer_cpu_ns = 0;
  ClockPair last{};

  std::vector<ClockPair> clock_pairs;  // from clock blocks; `clock` knows those of the header and the segment too
  TickClock clock;
  std::vector<Hook> hooks;
  std::vector<Module> modules;
  Strings strings;
  std::map<std::uint32_t, Stack> stacks;  // by index, which is Record::stack - 1
  std::map<ThreadKey, Thread> threads;
  std::map<ThreadKey, StartCounters> start_counters;
  std::optional<StepsSeen> steps_seen;
  std::vector<EventRow> events;
  std::vector<BlockBytes> switches;  // see format/switches.h; the heads are whole and tell the truth about their length
  std::vector<BlockBytes> samples;   // see format/samples.h
  std::vector<BlockBytes> frequency;  // see format/frequency.h
  std::vector<BlockBytes> machine;    // see format/machine.h
  std::vector<BlockBytes> kernel;     // see format/kernel.h, likewise
  std::vector<BlockBytes> kernel_names;
  std::vector<BlockBytes> kernel_totals;  // see format/kernel_totals.h, likewise
  std::vector<Damage> damages;

  std::unique_ptr<MappedFile> file;
  std::vector<std::unique_ptr<MappedFile>> dumps;
  std::vector<std::vector<std::byte>> segment_chunks;
  MemoryBudget* budget = nullptr;  // for `expanded`; nullptr: nothing is held
  std::vector<HeldBytes> expanded;

  const Hook* hook_of(const Record& record) const { return hook_of(record.hook); }
  const Hook* hook_of(std::uint16_t number) const {
    return number == 0 || number > hooks.size() ? nullptr : &hooks[number - 1u];
  }
  // The module mapped at `address`, as of `ticks` where several were mapped there one after the other.
  const Module* module_at(std::uint64_t address, std::uint64_t ticks = UINT64_MAX) const;
  // The thread that had this id at that time.
  const Thread* thread_at(std::uint32_t tid, std::uint64_t ticks) const;
  std::uint64_t records() const;
  std::uint64_t lost() const;
  // Gives what is held of it back: whoever walks its records again expands them again.
  void release();
  // nullptr: steps never became known, or in another mode.
  const EventRow* steps_known() const;
  // The process moves records into counters, instead of writing each of them to its file.
  bool aggregates() const;
};

}  // namespace hostprobe::analysis
