// record.h: one finished call, as the probe writes it into a chunk and as the reader finds it in a file.
//
// Room 1 (format/): agreed on by the probe and the analysis, run by neither. A record is exactly one cache line, so
// that writing it touches one line and a reader can never see half of its neighbour. It is valid once `hook` is not 0
// and `lap` equals the lap of its chunk: those two are the last thing a hook stores, so a record that a SIGKILL cut
// short simply is not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hostprobe {

//  byte 0        8        16   18   20    22    24  32  40  48  56      64
//       | begin  | end    |hook|lap |flags|stack| a | b | c | d | e     |
//       | ticks  | ticks  | u16| u16| u16 | u16 | five words, named by the hook's labels |
//  Example: sem_clockwait of thread 7, hook table row 4, in lap 1 of its chunk, 2.6e6 ticks long:
//       begin=1000000 end=3600000 hook=5 lap=1 flags=0 stack=0 a=&sem b=post c=return address d=result e=0
struct alignas(64) Record {
  std::uint64_t begin_ticks;
  std::uint64_t end_ticks;
  std::uint16_t hook;   // row in the file's hook table, plus 1; 0 = nothing here
  std::uint16_t lap;    // how often the chunk had been taken when this was written
  std::uint16_t flags;  // kRecord…
  std::uint16_t stack;  // entry in the stack table, plus 1; 0 = no stack was taken
  std::uint64_t a, b, c, d, e;
};
static_assert(sizeof(Record) == 64);
static_assert(std::is_trivially_copyable_v<Record>);

inline constexpr std::uint16_t kRecordFailed = 1;     // the function reported an error (its own convention)
inline constexpr std::uint16_t kRecordCancelled = 2;  // the thread ended inside the call; end_ticks is the thread's end
inline constexpr std::uint16_t kRecordTimedOut = 4;   // a timed wait that ended by its time limit
inline constexpr std::uint16_t kRecordAtOnce = 8;     // a wait that was satisfied without blocking
inline constexpr std::uint16_t kRecordFile = 16;      // the descriptor is a file: time of its disk, not of a peer
inline constexpr std::uint16_t kRecordAggregated = 32;  // is counted in a counter of its thread too (format/segment.h)
// Launches between the thread's record before and this one were left out, to keep to the budget.
inline constexpr std::uint16_t kRecordAfterSkipped = 64;
// The making of the communicator was not seen: its running numbers count from this rank's first call that was, and its id is
// this process's own.
inline constexpr std::uint16_t kRecordRelative = 128;
inline constexpr std::uint16_t kRecordCaptured = 256;  // a launch that a stream capture took: nothing ran

// A hook's five labels say how to print a..e. A label is "name" or "name:form"; an empty label means an unused word.
// Forms: (none) unsigned decimal · i signed decimal · hex · code address in a module (printed module+offset or symbol)
//        · str string id (strings block) · dim packed grid or block · post packed waker · us microseconds
//        · nccl packed call · ranks packed ranks · real bits of a double
// dim:   x in bits 0–31, y in 32–47, z in 48–63 (a grid's y and z never exceed 65 535).
// post:  waker's thread id in bits 0–21, the low 42 bits of its clock ticks in 22–63; 0 = waker unknown.
inline constexpr unsigned kPostTidBits = 22;  // the kernel's largest thread id is 2^22 - 1
inline constexpr std::uint64_t kPostTidMask = (std::uint64_t{1} << kPostTidBits) - 1;

constexpr std::uint64_t pack_post(std::uint32_t tid, std::uint64_t ticks) {
  return (ticks << kPostTidBits) | (tid & kPostTidMask);
}
constexpr std::uint32_t post_tid(std::uint64_t post) { return static_cast<std::uint32_t>(post & kPostTidMask); }
// The full tick count of a post, known that it lies at most 2^42 ticks (20 minutes at 3.6 GHz) before `end_ticks`.
constexpr std::uint64_t post_ticks(std::uint64_t post, std::uint64_t end_ticks) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << (64 - kPostTidBits)) - 1;
  return end_ticks - ((end_ticks - (post >> kPostTidBits)) & mask);
}
constexpr std::uint64_t pack_dim(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return std::uint64_t{x} | std::uint64_t{y & 0xffffu} << 32 | std::uint64_t{z & 0xffffu} << 48;
}

// nccl:  running number on its communicator in bits 0–31 (0 = not taken), group in 32–47 (0 = none), data type in 48–55,
//        reduction in 56–63, both as in nccl.h.
// ranks: own rank plus 1 in bits 0–20, size in 21–41, root or peer plus 1 in 42–62; 0 = not known, or none.
inline constexpr std::uint32_t kNcclGroupMask = 0x7fff;
inline constexpr int kNcclNoOp = 0xff;
inline constexpr int kNcclNoType = 0xff;

constexpr std::uint64_t pack_nccl_call(std::uint32_t sequence, std::uint32_t group, int type, int op) {
  return std::uint64_t{sequence} | std::uint64_t{group & 0xffffu} << 32 | std::uint64_t(type & 0xff) << 48 |
         std::uint64_t(op & 0xff) << 56;
}
constexpr std::uint64_t pack_nccl_ranks(int rank, int size, int peer) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << 21) - 1;
  return (std::uint64_t(rank + 1) & mask) | (std::uint64_t(size < 0 ? 0 : size) & mask) << 21 |
         (std::uint64_t(peer + 1) & mask) << 42;
}

// Families of hooks. The number is part of the format.
enum class Family : std::uint8_t {
  kCuda = 0,
  kNccl = 1,
  kWait = 2,
  kWake = 3,
  kThread = 4,
  kIo = 5,
  kPython = 6,
  kGpu = 7,    // work on the GPU, of an imported profile
  kRange = 8,  // what a program, or PyTorch, calls a part of its own time
};

// What a row of the hook table is about, where its family does not tell.
enum RowType : std::uint8_t {
  kRowCall = 0,    // a call, as its family says
  kRowKernel = 1,  // on a stream of the GPU, this and the next two
  kRowCopy = 2,
  kRowFill = 3,
  kRowRange = 4,  // "name:str", "category:str"
  kRowStep = 5,   // one training step, "number": from begin to end
  kRowMark = 6,   // "name:str", "value:real", at one moment
};

// Streams of the GPU stand among the threads of a trace: their records are kernels, copies and fills, named by these labels:
//   a "name:str" · b "stream" device in bits 32–63, stream below · c "launch" begin ticks of the launch call, 0 = not known ·
//   d "bytes" · e "call" correlation in bits 32–63, thread id of the launch call below
inline constexpr std::uint32_t kStreamTid =
    0x80000000;  // from here on a thread id is a stream: no kernel gives such ids

constexpr std::uint64_t pack_pair(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

}  // namespace hostprobe
