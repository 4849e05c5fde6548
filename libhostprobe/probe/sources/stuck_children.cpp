// stuck_children.cpp: see stuck_children.h. Price: three system calls for each look, and six for each child.
#include "probe/sources/stuck_children.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "probe/runtime/of_process.h"
#include "probe/runtime/own_threads.h"
#include "probe/runtime/safe_memory.h"
#include "probe/runtime/small_file.h"
#include "probe/stacks/python_frames.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kLookNs = 2000000000;
constexpr unsigned kMostChildren = 32;

struct Child {
  int pid;
  std::uint64_t stack, place;  // at the last look
  bool noted;
};
HP_OF_PROCESS Child g_children[kMostChildren];
HP_OF_PROCESS std::uint64_t g_next_look_ns = 0;

// The kernel gives each program that it executes bytes of chance, which a fork copies. A child that shares its parent's memory has
// whoever its parent has.
bool is_a_copy_of_us(int pid) {
  constexpr std::size_t kBytes = 16;
  const std::uint64_t at = getauxval(AT_RANDOM);
  char its[kBytes];
  std::uint64_t its_look_ns = 0;
  const Memory memory(pid);
  if (at == 0 || !memory.copy(its, at, kBytes) || memcmp(its, reinterpret_cast<const void*>(at), kBytes) != 0)
    return false;
  return memory.copy(&its_look_ns, reinterpret_cast<std::uint64_t>(&g_next_look_ns), sizeof its_look_ns) &&
         its_look_ns != g_next_look_ns;
}

bool is_single(int pid) {
  char path[40];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  unsigned threads = 0;
  for_each_number(path, [&](int) { ++threads; });
  return threads == 1;
}

// What it waits for is a futex of its own, for ever.
bool waits_for_ever(int pid, std::uint64_t& stack, std::uint64_t& place) {
  char path[40], line[256];
  snprintf(path, sizeof path, "/proc/%d/syscall", pid);
  if (!read_small_file(path, line, sizeof line)) return false;
  char* next = line;
  if (strtol(line, &next, 10) != SYS_futex || next == line) return false;
  std::uint64_t words[8];  // six arguments, the stack's pointer, the program's counter
  for (std::uint64_t& word : words) word = strtoull(next, &next, 16);
  const std::uint64_t kind = words[1] & static_cast<std::uint64_t>(FUTEX_CMD_MASK);
  stack = words[6], place = words[7];
  return (words[1] & FUTEX_PRIVATE_FLAG) != 0 && (kind == FUTEX_WAIT || kind == FUTEX_WAIT_BITSET) && words[3] == 0;
}

Child* remembered(int pid) {
  Child* free = nullptr;
  for (Child& one : g_children) {
    if (one.pid == pid) return &one;
    if (one.pid == 0 && free == nullptr) free = &one;
  }
  if (free != nullptr) *free = {pid, 0, 0, false};
  return free;
}

void look_at(int pid) {
  std::uint64_t stack = 0, place = 0;
  if (!waits_for_ever(pid, stack, place) || !is_single(pid) || !is_a_copy_of_us(pid)) return;
  Child* child = remembered(pid);
  if (child == nullptr || child->noted) return;
  child->noted = child->stack == stack && child->place == place;
  child->stack = stack, child->place = place;
  if (!child->noted) return;
  PythonFrame frame;
  const bool is_python = python_frames_of_child(pid, &frame, 1) == 1;
  note_event(kEventStuckChild, 0, static_cast<std::uint64_t>(pid), place, is_python ? frame.text : "");
}

}  // namespace

void note_stuck_children(const Round& round) {
  if (round.last || round.now_ns < g_next_look_ns) return;
  g_next_look_ns = round.now_ns + kLookNs;
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", own_process());
  if (!read_small_file(path, line, sizeof line)) return;
  char* next = line;
  for (unsigned i = 0; i < kMostChildren; ++i) {
    const long pid = strtol(next, &next, 10);
    if (pid <= 0 || *next != ' ') return;  // a number at the end may have been cut
    look_at(static_cast<int>(pid));
  }
}

}  // namespace hostprobe::probe
