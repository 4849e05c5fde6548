// switch_drain.cpp: see switch_drain.h.
#include "probe/sources/switch_drain.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "probe/record/chunk.h"
#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/sources/perf/perf_ring.h"
#include "probe/sources/perf/raw_clock.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

namespace {

// How often the buffers are looked at, which takes no system call: a burst may come at any time.
constexpr std::uint64_t kLongestNs = 50000000, kShortestNs = 2000000;
constexpr double kFullest = 0.25;  // of a buffer, when it is read

HP_OF_PROCESS constinit RawClock g_clock{};
HP_OF_PROCESS SwitchRow* g_rows = nullptr;  // as many as the buffers hold
HP_OF_PROCESS std::uint64_t g_row_capacity = 0;
HP_OF_PROCESS std::uint64_t g_open_ticks = 0;
HP_OF_PROCESS std::uint64_t g_begin_ticks = 0;  // of the next block
// Switches that are missing: as counted by thread, as dropped by the kernel, in blocks that the file did not take; and what blocks have told.
HP_OF_PROCESS std::uint64_t g_missing = 0, g_dropped = 0, g_not_written = 0, g_told_lost = 0;
HP_OF_PROCESS bool g_counts_read = false;  // since the last block
HP_OF_PROCESS std::uint64_t g_drained_ns = 0, g_next_ns = 0;

bool is_needed() { return holds_to_rates() || !g_switch_rings.is_overwritten(); }

void free_rows() {
  if (g_rows != nullptr) munmap(g_rows, (g_row_capacity + kMostLeftOutRows) * sizeof(SwitchRow));
  g_rows = nullptr;
}

bool make_rows() {
  g_row_capacity = 2 * g_switch_rings.capacity();  // drops take two rows
  const std::size_t bytes = (g_row_capacity + kMostLeftOutRows) * sizeof(SwitchRow);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, bytes, MADV_DONTFORK);
  g_rows = static_cast<SwitchRow*>(memory);
  return true;
}

// What is new, sorted as it was in each buffer.
class Reading {
 public:
  Reading() : from_(g_begin_ticks) {
    g_clock.add(read_raw_pair());
    g_switch_rings.read([this](const PerfSwitch& found) { add(found); },
                        [this](const PerfDrops& drops, std::uint64_t since_raw_ns) { add(drops, since_raw_ns); },
                        [this](bool whole) { end_ring(whole); });
  }
  std::uint64_t count() const { return count_; }
  // From here on nothing is missing that was not lost.
  std::uint64_t from_ticks() const { return from_; }
  bool is_whole() const { return whole_; }

 private:
  void add(const PerfSwitch& found) {
    if (count_ == g_row_capacity) return;
    const SwitchRow row{g_clock.ticks_of(found.raw_ns), found.tid, found.cpu, found.what};
    if (g_switch_counts.add(row, ring_)) g_rows[count_++] = row;
  }
  // From the row before them on.
  void add(const PerfDrops& drops, std::uint64_t since_raw_ns) {
    g_dropped += drops.count;
    if (count_ + 2 > g_row_capacity) return;
    const std::uint64_t begin = since_raw_ns == 0 ? g_open_ticks : g_clock.ticks_of(since_raw_ns);
    const auto count = static_cast<std::uint32_t>(drops.count < UINT32_MAX ? drops.count : UINT32_MAX);
    g_rows[count_++] = {begin, 0, 0, kDropsBegin};
    g_rows[count_++] = {g_clock.ticks_of(drops.raw_ns), count, 0, kDropsEnd};
  }
  void end_ring(bool whole) {
    if (g_switch_rings.is_overwritten())
      for (std::uint64_t low = first_, high = count_; high > low + 1; ++low) {
        --high;
        const SwitchRow row = g_rows[low];
        g_rows[low] = g_rows[high];
        g_rows[high] = row;
      }
    if (!whole) {
      whole_ = false;
      const std::uint64_t oldest = count_ > first_ ? g_rows[first_].ticks : ticks();
      if (g_switch_rings.is_overwritten() && oldest > from_) from_ = oldest;
    }
    first_ = count_;
    ++ring_;
  }

  std::uint64_t from_, count_ = 0, first_ = 0;
  std::uint32_t ring_ = 0;
  bool whole_ = true;
};

void write_block() {
  const std::uint64_t end = ticks();
  const Reading reading;
  g_missing += g_switch_counts.settle(!g_switch_rings.is_overwritten() || reading.is_whole());
  // Both see what living threads lost, and a record is half of a switch.
  const std::uint64_t dropped = (g_dropped + 1) / 2, all = (dropped > g_missing ? dropped : g_missing) + g_not_written;
  const std::uint64_t begin = reading.from_ticks() < end ? reading.from_ticks() : end;
  const std::uint64_t count = reading.count() + add_left_out(g_rows + reading.count(), begin, end);
  SwitchesHead head{begin, end, all - g_told_lost, static_cast<std::uint32_t>(count), g_counts_read};
  iovec parts[] = {{&head, sizeof head}, {g_rows, count * sizeof(SwitchRow)}};
  if (append_block(kBlockSwitches, parts, 2))
    g_told_lost = all;
  else
    g_not_written += (reading.count() + 1) / 2;
  if (!g_switch_rings.is_overwritten()) forget_left_out(end);  // else another dump may tell of the same time
  g_begin_ticks = end;
  g_counts_read = false;
}

bool has_no_ring(ThreadEntry& entry) {
  return is_live(entry) && !g_switch_rings.has_thread(entry.tid) && !is_left_out(entry.tid);
}

void remove_ended_threads() {
  drain_switches(true);
  g_switch_rings.remove_all_but([](std::uint32_t tid) {
    for (std::uint32_t i = 0, end = threads_used(); i < end; ++i)
      if (is_live(g_segment.threads[i]) && g_segment.threads[i].tid == tid) return true;
    return false;
  });
}

// Threads that have come since the last pass; those that went make room when it is needed.
void attach_threads() {
  bool removed = false;
  for (std::uint32_t i = 0, end = threads_used(); i < end; ++i) {
    ThreadEntry& entry = g_segment.threads[i];
    if (!has_no_ring(entry) || g_switch_rings.add_thread(entry.tid) || removed) continue;
    remove_ended_threads();
    removed = true;
    g_switch_rings.add_thread(entry.tid);
  }
}

}  // namespace

RingFailure open_switches(const RingSetting& setting, double times) {
  if (!may_ask_for_perf_events()) return {EPERM, "a seccomp filter is in force, so perf is not asked", false};
  if (address_space_is_limited()) return {ENOMEM, "the address space is limited, so it is left alone", false};
  if (const RingFailure failure = g_switch_rings.open(setting, origin_of); failure.error != 0) return failure;
  if (!make_rows() || !open_limit(times)) {
    close_switches();
    return {ENOMEM, "no memory", false};
  }
  g_clock.forget();
  g_clock.add(read_raw_pair());
  g_open_ticks = g_begin_ticks = ticks();
  g_drained_ns = read_clock_ns(CLOCK_MONOTONIC);
  g_next_ns = is_needed() ? g_drained_ns + kLongestNs : kNever;
  return {};
}

void close_switches() {
  g_switch_rings.close();
  close_limit();
  free_rows();
}

void tend_open_switches() {
  if (g_switch_rings.is_overwritten()) g_clock.add(read_raw_pair());
  hold_to_rates(read_clock_ns(CLOCK_MONOTONIC));
  g_switch_rings.is_per_thread() ? attach_threads() : follow_threads();
}

void note_run_count(std::uint32_t tid, std::uint64_t created_ticks, std::uint64_t count) {
  if (!g_switch_rings.is_open()) return;
  g_counts_read = true;
  compare_runs(tid, created_ticks, count);
}

void drain_switches(bool last) {
  if (!g_switch_rings.is_open() || (g_switch_rings.is_overwritten() && !last)) return;
  const double fill = g_switch_rings.fill();
  const std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC), passed = now - g_drained_ns;
  write_block();
  g_drained_ns = now;
  const double most = static_cast<double>(kLongestNs),
               soon = fill > 0 ? static_cast<double>(passed) * kFullest / fill : most;
  const auto interval = static_cast<std::uint64_t>(soon < most ? soon : most);
  g_next_ns = now + (interval > kShortestNs ? interval : kShortestNs);
}

void tend_full_rings() {
  if (!g_switch_rings.is_open()) return;
  const std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
  hold_to_rates(now);
  if (g_switch_rings.fill() > kFullest / 2) return drain_switches(false);
  if (now >= g_next_ns) g_next_ns = is_needed() ? now + kLongestNs : kNever;
}

std::uint64_t switch_drain_ns() { return g_switch_rings.is_open() ? g_next_ns : kNever; }

}  // namespace hostprobe::probe
