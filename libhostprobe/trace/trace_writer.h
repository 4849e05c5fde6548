// trace_writer.h: a trace file out of what was measured elsewhere: an imported profile or table.
//
// Room 3. The file has its name once it is complete, and nothing is ever written over: until then it stands beside it
// under another one, and goes away with the writer. What the probe writes itself is in probe/writer/.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/kernel.h"
#include "format/kernel_totals.h"
#include "trace.h"

namespace hostprobe::analysis {

// What a row of the hook table is made of. Labels as in format/record.h.
struct HookShape {
  std::string name;
  Family family = Family::kCuda;
  RowType type = kRowCall;
  std::vector<std::string_view> labels = {};
  bool blocking = false;
  bool launch = false;
};

class TraceWriter {
 public:
  // `header` says whose trace it is and from when to when: pid, ranks, host, source, texts, start and last. Throws
  // std::system_error when nothing can be written in `run`, which is made if missing.
  TraceWriter(std::string run, const FileHeader& header);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // What the header says, where that is not known from the beginning, or changes.
  void set_header(const FileHeader& header);

  // The row's number as a record names it; at most kMostHooks of them.
  std::uint16_t add_hook(const HookShape& shape);
  std::uint64_t add_string(std::string_view text);  // 0 for ""
  void add_module(const Module& module);
  // The entry's count of records is what add_records() was given.
  void add_thread(const ThreadEntry& entry);
  void add_clock(const ClockPair& pair);
  void add_records(const ThreadKey& thread, const std::vector<Record>& records);
  // So many numbers of the thread are missing here.
  void skip_records(const ThreadKey& thread, std::uint64_t count) { sequences_[thread] += count; }
  // Of one CPU, in time order; `lost` were between `begin_ticks` and the last row and are missing.
  void add_kernel(std::uint32_t cpu, std::uint64_t begin_ticks, std::uint64_t lost,
                  const std::vector<hostprobe::KernelRow>& rows);
  void add_kernel_names(const std::vector<KernelNameRow>& names);
  // The head's counts are those of the lists.
  void add_kernel_totals(KernelTotalsHead head, const std::vector<KernelThreadTotals>& threads,
                         const std::vector<KernelTookTotals>& took, const std::vector<KernelIrqTotals>& irqs);
  void add_event(const EventRow& event);
  // As Record::stack names it, the first is 1.
  void add_stack(const StackEntry& stack);

  // So far, for whoever completes it after a kill by giving it its name.
  void write_header();
  const std::string& unfinished_path() const { return unfinished_; }
  // Completes the file and gives it its name, which is returned: <host>-<pid>-<start>.hptrace, of the first start that no
  // other file has.
  std::string finish();

  static constexpr std::size_t kMostHooks = 65534;

 private:
  void write_table();
  void write_strings();
  void write_block(BlockKind kind, std::string payload);
  void write_at(std::uint64_t offset, const char* bytes, std::size_t count) const;
  std::string give_name();

  std::string run_;
  std::string unfinished_;  // path while it is written
  int file_ = -1;
  FileHeader header_;
  std::uint64_t end_ = kFileHeaderBytes;
  std::uint64_t records_ = 0;
  std::uint32_t stacks_ = 0;
  std::vector<HookRow> hooks_;
  std::size_t hooks_written_ = 0;
  std::deque<std::string> texts_;  // what string_ids_ looks into
  std::unordered_map<std::string_view, std::uint64_t> string_ids_;
  std::string strings_;  // the part of the strings area that is not written yet
  std::uint64_t strings_begin_ = 0;
  std::map<ThreadKey, std::uint64_t> sequences_;
  std::vector<ThreadEntry> threads_;
};

// Of a field of a header or row: cut to its length, zeros behind.
template <std::size_t N>
void set_field(char (&field)[N], std::string_view text) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), text.size() < N - 1 ? text.size() : N - 1);
}

}  // namespace hostprobe::analysis
