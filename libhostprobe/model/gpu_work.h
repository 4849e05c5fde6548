// gpu_work.h: what a process gave its GPU to do, stream by stream in the order of the calls, and what is known of when it was done.
//
// Room 3. From its own calls and hostprobe's timing events alone (docs/reference/gpu-time.md): what a driver tells about its device besides, nobody
// asks. gpu_replay.h makes the GPU's timeline of it. Times as in event.h until put_on() moves them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "nccl_parts.h"

namespace hostprobe::analysis {

class Timeline;

inline constexpr std::uint32_t kNoOp = ~std::uint32_t{0};

enum class GpuOpType : std::uint8_t {
  kKernel,
  kGraph,
  kCopy,
  kFill,
  kCallback,  // the stream stands still until a function of the program's returns
  kMark,      // an event: no work, but a place in the stream
  kJoin,      // the stream waits for `other`
};

inline bool is_work(GpuOpType type) { return type < GpuOpType::kCallback; }

struct GpuOp {
  double begin_ns = 0, end_ns = 0;  // of the call
  double told_ns = 0;               // when the GPU could learn of it at the earliest
  // Its end, as a timed event behind it tells; NaN: there is none.
  double timed_ns = std::numeric_limits<double>::quiet_NaN();
  // It had ended by then: such an event came into an empty stream, so it tells no more. inf: nothing is known.
  double latest_ns = std::numeric_limits<double>::infinity();
  // The latest return of a wait that had seen all that its stream held before this call; -inf: none had.
  double drained_ns = -std::numeric_limits<double>::infinity();
  std::uint64_t bytes = 0;
  std::uint64_t launch_ticks = 0;
  std::uint32_t tid = 0;
  std::uint32_t stream = 0;     // in GpuWork::streams
  std::uint32_t kind = 0;       // in GpuWork::kinds; of work
  std::uint32_t other = kNoOp;  // of a kJoin
  std::uint32_t kernels = 1;
  std::uint32_t first_part = 0;  // in GpuWork::parts
  std::uint16_t parts = 0;       // a kernel of NCCL's: in as many operations
  GpuOpType type = GpuOpType::kKernel;
  bool collective = false;
  bool blocks = false;  // its call returned when it was done

  bool is_timed() const { return timed_ns == timed_ns; }
};

// Ops of one kind are expected to last equally long.
constexpr double kLeastBytesPerNs = 1;  // no bus is slower: what takes longer is the call, not the copy
// No CPU copies pageable memory faster: a call that is quicker and long waited for its place in the queue.
constexpr double kMostBytesPerNs = 30;

struct GpuOpKind {
  GpuOpType type = GpuOpType::kKernel;
  bool collective = false;
  std::uint64_t what = 0;  // kernel, graph, function; of a copy or fill the row of its function
  std::uint64_t grid = 0, block = 0;
  std::uint64_t bytes = 0;  // of a copy or fill
  std::uint32_t name = 0;   // in GpuWork::names
};

// A wait of the host's for the GPU.
struct GpuSync {
  double begin_ns = 0, end_ns = 0;
  std::uint32_t op = kNoOp;  // the last that it waited for, in one stream
};

struct GpuStream {
  std::uint64_t handle = 0;
  std::uint32_t thread = 0;  // of a thread's own default stream
  std::uint32_t device = 0;
  bool blocking = false;           // ordered with the legacy stream
  std::vector<std::uint32_t> ops;  // in GpuWork::ops
};

struct GpuWork {
  std::vector<GpuStream> streams;
  std::vector<GpuOp> ops;  // by the begin of the call
  std::vector<GpuOpKind> kinds;
  std::vector<GpuPart> parts;
  std::vector<GpuSync> syncs;  // by end
  std::vector<std::string> names;
  std::uint64_t timed = 0;    // ops with a timed end
  double clock_error_ns = 0;  // of the device's clock against the host's
  double event_ns = 0;        // that an event behind an op takes of its stream
  // From the return of a call that puts an event into an empty stream until it is reached; 0: not known.
  double empty_event_ns = 0;
  bool whole = true;  // false: records of some calls are missing
  bool any() const { return !ops.empty(); }
};

// Nothing, and cheaply, of a process that launched nothing.
GpuWork gpu_work(const Timeline& timeline);

// Onto the axis of another process.
void move_by(GpuWork& work, double ns);

}  // namespace hostprobe::analysis
