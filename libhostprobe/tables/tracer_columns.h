// table_columns.h: the columns of a table of events (CSV): those of tracers that look at CUDA calls through eBPF, and behind
// them what else a call of ours tells.
//
// Room 3. docs/import.md says what stands in each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hostprobe::analysis {

enum class Column : std::uint8_t {
  kTime,
  kEvent,
  kPid,
  kTid,
  kThreadName,
  kCpu,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kSharedBytes,
  kStream,
  kLastOff,
  kLastOn,
  kIrqNumber,
  kIrqName,
  kDuration,
  // ours
  kType,
  kKernel,
  kLibrary,
  kFlags,
  kWake,
  kWaker,
  kCommunicator,
  kElements,
  kSequence,
  kDataType,
  kRank,
  kSize,
  kPeer,
  kCount,  // of calls: 1 where it is empty
  kLongest,
  kBuckets,
  kLongestWake,
  kWakeBuckets,
  kAmount,
  kHost,
  kRole,
  kRealtime,
  kTicksPerNs,
  kColumns,
};

inline constexpr std::size_t kColumnCount = static_cast<std::size_t>(Column::kColumns);

inline constexpr std::array<std::string_view, kColumnCount> kColumnNames = {
    "timestamp_ns",    "event_type",    "pid",     "tid",       "comm",         "cpu",         "grid_x",
    "grid_y",          "grid_z",        "block_x", "block_y",   "block_z",      "shared_mem",  "stream",
    "last_offcpu_ns",  "last_oncpu_ns", "irq_num", "irq_name",  "duration_ns",  "type",        "kernel",
    "library",         "flags",         "wake_ns", "waker_tid", "communicator", "elements",    "sequence",
    "data_type",       "rank",          "size",    "peer",      "count",        "longest_ns",  "buckets",
    "longest_wake_ns", "wake_buckets",  "amount",  "host",      "role",         "realtime_ns", "ticks_per_ns"};

// What a line is about, in the column "type".
namespace row_type {
inline constexpr std::string_view kProcess = "process", kThread = "thread", kLaunch = "launch", kSync = "sync",
                                  kWait = "wait", kCollective = "collective", kLost = "lost", kCounted = "counted",
                                  kSwitch = "switch", kInterrupt = "interrupt";
// Calls of which only counters are left, and those too short for records of their own.
inline constexpr std::string_view kCounter = " counter", kShort = " short";
}  // namespace row_type

struct TableRow {
  std::array<std::string, kColumnCount> cells;

  std::string& operator[](Column column) { return cells[static_cast<std::size_t>(column)]; }
  const std::string& operator[](Column column) const { return cells[static_cast<std::size_t>(column)]; }
  void clear() {
    for (std::string& cell : cells) cell.clear();
  }
};

}  // namespace hostprobe::analysis
