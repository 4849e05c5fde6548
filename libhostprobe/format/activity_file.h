// activity_file.h: what ran on the simulated devices of one process, as the simulated driver itself knows it.
//
// Room 1 (format/). Written by simnode/node/activities.cpp into a mapped file, read by trace/activity_file.cpp. The
// file is right at any instant, also after SIGKILL: a row is whole before `rows` counts it. All times are CLOCK_MONOTONIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hostprobe {

inline constexpr std::uint64_t kActivityMagic = 0x0a59544956495443;  // "CTIVITY\n" as little-endian bytes
inline constexpr std::uint32_t kActivityVersion = 1;
inline constexpr std::size_t kActivityHeadBytes = 4096;
inline constexpr std::uint64_t kLatestActivityNs = std::uint64_t{1} << 62;
inline constexpr char kActivitySuffix[] = ".hpdevice";  // <pid>-0, and so on where that name is taken

enum ActivityRowType : std::uint8_t {
  kActivityNone = 0,
  kActivityKernel = 1,
  kActivityCopy = 2,
  kActivityFill = 3,
  kActivityName = 4,  // `bytes` of text follow, padded to whole rows; its number is `name`
};

inline constexpr std::uint8_t kActivityCollective = 1;  // a kernel that waits for those of other ranks

//  file:  | ActivityHead, 4096 bytes | rows of 48 bytes, `rows` of them | zeros up to what the disk has reserved |
//  Example: a kernel named "gemm" that thread 7 launched:
//       {type=4 name=1 bytes=4} "gemm" + 44 zeros {begin_ns=… end_ns=… launch_ns=… stream=3 name=1 launch_tid=7 type=1}
struct ActivityRow {
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t launch_ns;  // a moment inside the call that launched it
  std::uint64_t bytes;      // of a copy or fill; of a name, its length
  std::uint32_t stream;     // running number in its process
  std::uint32_t name;       // of a name row; 0 = none
  std::uint32_t launch_tid;
  std::uint8_t device;
  std::uint8_t type;   // ActivityRowType
  std::uint8_t flags;  // kActivity…
  std::uint8_t reserved;
};
static_assert(sizeof(ActivityRow) == 48);
static_assert(std::is_trivially_copyable_v<ActivityRow>);

struct ActivityTotal {
  std::uint64_t count;
  std::uint64_t ns;  // all their durations together
};

struct ActivityHead {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t head_bytes;
  std::uint32_t pid;
  std::uint32_t row_bytes;
  std::uint64_t start_ns;  // when the driver was initialised
  std::uint64_t start_ticks;
  std::uint64_t last_ns;  // a later moment, of no meaning: the two tell the rate of the ticks
  std::uint64_t last_ticks;
  char boot_id[40];
  char program[256];  // the executable's path
  std::uint64_t rows;
  ActivityTotal without_row[4];  // by ActivityRowType: what came when the file was full
};
static_assert(sizeof(ActivityHead) <= kActivityHeadBytes);

}  // namespace hostprobe
