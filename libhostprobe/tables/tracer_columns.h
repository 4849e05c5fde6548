// tracer_columns.h: the columns of a table of events (CSV): those of tracers that look at CUDA calls through eBPF, and behind
// them what else a call of ours tells. `export --csv` writes them, `import --csv` reads them.
//
// Room 3. docs/reference/export.md lists them; a test holds it to this list.
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
  kCount,
  kHost,
  kRole,
  kRealtime,
  kColumns,
};

inline constexpr std::size_t kColumnCount = static_cast<std::size_t>(Column::kColumns);

struct TracerColumn {
  std::string_view name, of, meaning;  // `of`: lines that have it
};

inline constexpr std::array<TracerColumn, kColumnCount> kTracerColumns = {{
    {"timestamp_ns", "all", "CLOCK_MONOTONIC, ns"},
    {"event_type", "all", "the function; of a process its command"},
    {"pid", "all", "process"},
    {"tid", "all", "thread"},
    {"comm", "all", "the thread's name; of a process its program"},
    {"cpu", "the kernel's", "CPU"},
    {"grid_x", "launches", "blocks"},
    {"grid_y", "launches", "blocks"},
    {"grid_z", "launches", "blocks"},
    {"block_x", "launches", "threads"},
    {"block_y", "launches", "threads"},
    {"block_z", "launches", "threads"},
    {"shared_mem", "launches", "dynamic shared memory, bytes"},
    {"stream", "launches, syncs, collectives", "its handle"},
    {"last_offcpu_ns", "switches", "when the thread left its CPU; 0: it comes"},
    {"last_oncpu_ns", "switches", "when the thread came to its CPU; 0: it goes"},
    {"irq_num", "interrupts", "number"},
    {"irq_name", "interrupts", "name"},
    {"duration_ns", "calls, ends of interrupts", "from begin to return, ns"},
    {"type", "all",
     "`launch`, `sync`, `wait`, `collective`; `switch` and `interrupt` of the kernel ([kernel.md](kernel.md)); "
     "`process` and `thread` "
     "say who and from when to when; `lost` and `counted` where calls are missing: lost, or known to counters alone"},
    {"kernel", "launches", "its name"},
    {"library", "waits", "that called"},
    {"flags", "calls, switches", "as in a record, [format.md](format.md)"},
    {"wake_ns", "waits", "from the waker's post to the return, ns"},
    {"waker_tid", "waits", "thread that posted"},
    {"communicator", "collectives", "as in [format.md](format.md), as the next six"},
    {"elements", "collectives", "as the caller gave them"},
    {"sequence", "collectives", "running number"},
    {"data_type", "collectives", "number of the type"},
    {"rank", "collectives, processes", "on the communicator; of the job"},
    {"size", "collectives, processes", "ranks of the communicator; of the job"},
    {"peer", "collectives", "root, or the other end of a message"},
    {"count", "`lost`, `counted`", "calls"},
    {"host", "processes", "name of the host"},
    {"role", "threads", "what it is for"},
    {"realtime_ns", "processes", "the time of day at its begin, ns"},
}};

// What a line is about, in the column "type".
namespace row_type {
inline constexpr std::string_view kProcess = "process", kThread = "thread", kLaunch = "launch", kSync = "sync",
                                  kWait = "wait", kCollective = "collective", kLost = "lost", kCounted = "counted",
                                  kSwitch = "switch", kInterrupt = "interrupt";
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
