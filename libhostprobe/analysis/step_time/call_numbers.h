// call_numbers.h: which system call a number is on the machine that a trace is of, whatever the one is that reads it.
//
// Room 3. Newer architectures lack the older forms of a call; what libc calls there in their place stands beside them.
#pragma once

#include <algorithm>
#include <iterator>

#include "answer/step_time.h"
#include "format/file.h"

namespace hostprobe::analysis {

// -1: there is none.
struct KernelCall {
  int x86_64, aarch64;

  constexpr int on(std::uint32_t architecture) const { return architecture == kAarch64 ? aarch64 : x86_64; }
};

inline constexpr KernelCall kFutexCall{202, 98};

// What reads and writes has hooks; these look for files, make and remove them, map them, or have them read by the kernel.
inline constexpr KernelCall kFileCalls[] = {
    {2, -1},     // open
    {257, 56},   // openat
    {85, -1},    // creat
    {4, -1},     // stat
    {6, -1},     // lstat
    {5, 80},     // fstat
    {262, 79},   // newfstatat
    {332, 291},  // statx
    {21, -1},    // access
    {-1, 48},    // faccessat
    {82, -1},    // rename
    {264, 38},   // renameat
    {316, 276},  // renameat2
    {83, -1},    // mkdir
    {-1, 34},    // mkdirat
    {84, -1},    // rmdir
    {86, -1},    // link
    {-1, 37},    // linkat
    {87, -1},    // unlink
    {263, 35},   // unlinkat
    {78, -1},    // getdents
    {162, 81},   // sync
    {217, 61},   // getdents64
    {306, 267},  // syncfs
    {3, 57},     // close
    {9, 222},    // mmap
    {11, 215},   // munmap
    {26, 227},   // msync
    {149, 228},  // mlock
    {28, 233},   // madvise
    {76, 45},    // truncate
    {74, 82},    // fsync
    {75, 83},    // fdatasync
    {77, 46},    // ftruncate
    {187, 213},  // readahead
    {285, 47},   // fallocate
    {208, 4},    // io_getevents
    {277, 84},   // sync_file_range
    {426, 426},  // io_uring_enter
    {437, 437},  // openat2
};
inline constexpr KernelCall kChildCalls[] = {{61, 260}, {247, 95}};                    // wait4, waitid
inline constexpr KernelCall kReadCalls[] = {{0, 63}, {19, 65}, {45, 207}, {47, 212}};  // read, readv, recvfrom, recvmsg
inline constexpr KernelCall kWriteCalls[] = {
    {1, 64}, {20, 66}, {44, 206}, {46, 211}};  // write, writev, sendto, sendmsg

template <std::size_t count>
constexpr bool is_one_of(const KernelCall (&calls)[count], int call, std::uint32_t architecture) {
  return call >= 0 &&
         std::any_of(calls, calls + count, [=](const KernelCall& one) { return one.on(architecture) == call; });
}

// For another process, or for whatever a descriptor leads to: a pipe, a socket, a file. kOther: none of these.
constexpr CallKind kind_of_call(int call, std::uint32_t architecture) {
  if (is_one_of(kChildCalls, call, architecture)) return CallKind::kChild;
  if (is_one_of(kReadCalls, call, architecture)) return CallKind::kRead;
  return is_one_of(kWriteCalls, call, architecture) ? CallKind::kWrite : CallKind::kOther;
}

}  // namespace hostprobe::analysis
