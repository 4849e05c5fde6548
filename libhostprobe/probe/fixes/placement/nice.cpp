// nice.cpp: the fix `nice`: the threads of this process come before those of others.
//
// Room 2 (probe/). It begins once the process uses a GPU, so that launchers, whose value children have, are left out. HOSTPROBE_NICE says by how much. Where the kernel groups sessions, that alone has no effect between them: then the
// group's own value is set too, by the process that leads its session, and else it is said that it cannot work.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "probe/fixes/placement/gpu_of_process.h"
#include "probe/fixes/placement/machine.h"
#include "probe/fixes/row/fix.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/own_threads.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN std::atomic<bool> g_wanted{false};
HP_OF_PROCESS std::atomic<FixState> g_settled{FixState::kOff};

struct Nice {
  int base, ours;
  bool has_group;
  int group_before;
  LookSeldom looks;
};
HP_OF_PROCESS Nice g_nice{};

constexpr int kLowest = -20;

void note(bool on, const char* text) { note_event(kEventFix, 0, on, 0, text); }

// The kernel's answer is 20 minus the value.
int nice_of(int tid) { return 20 - static_cast<int>(system_call(SYS_getpriority, PRIO_PROCESS, tid)); }
long set_nice(int tid, int nice) { return system_call(SYS_setpriority, PRIO_PROCESS, tid, nice); }

// All that have one value get the other. Our own thread is none of them.
unsigned change_all(int from, int to) {
  unsigned changed = 0;
  const int self = own_task();
  for_each_thread([&](int tid) {
    if (tid != self && nice_of(tid) == from && set_nice(tid, to) == 0) ++changed;
  });
  return changed;
}

bool is_grouping() {
  char text[8];
  return read_small_file("/proc/sys/kernel/sched_autogroup_enabled", text, sizeof text) && text[0] == '1';
}

int write_group(int nice) {
  char text[16];
  const int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int length = snprintf(text, sizeof text, "%d", nice);
  const int error = write(fd, text, static_cast<std::size_t>(length)) == length ? 0 : errno;
  close(fd);
  return error;
}

// `text`: what came of it.
void raise_group(char* text, std::size_t bytes) {
  char line[64];
  int group = 0, before = 0;
  text[0] = 0;
  if (!is_grouping() || !read_small_file("/proc/self/autogroup", line, sizeof line) ||
      !parse_autogroup(line, group, before))
    return;
  const int leader = static_cast<int>(system_call(SYS_getsid, 0, 0));
  if (leader != own_process()) {
    snprintf(text, bytes, "; no effect on other sessions, %d leads ours", leader);
    return;
  }
  const int wanted = before - (g_nice.base - g_nice.ours);
  if (write_group(wanted < kLowest ? kLowest : wanted) != 0) {
    snprintf(text, bytes, "; no effect on other sessions, its group cannot be set");
    return;
  }
  g_nice.has_group = true;
  g_nice.group_before = before;
  snprintf(text, bytes, "; its session's group too");
}

void begin() {
  char text[96], group[64];
  const int wanted = nice_of(own_task()) - static_cast<int>(g_options.nice);
  g_nice = Nice{};
  g_nice.base = nice_of(own_task());
  g_nice.ours = wanted < kLowest ? kLowest : wanted;
  const long answer = set_nice(own_process(), g_nice.ours);
  if (answer != 0) {
    snprintf(text, sizeof text, "nice refused: %d needs CAP_SYS_NICE or a higher RLIMIT_NICE", g_nice.ours);
    g_settled.store(FixState::kRefused, std::memory_order_release);
    return note(false, text);
  }
  set_nice(own_process(), g_nice.base);
  const unsigned threads = change_all(g_nice.base, g_nice.ours);
  raise_group(group, sizeof group);
  snprintf(text, sizeof text, "nice on: %d instead of %d, %u threads%.48s", g_nice.ours, g_nice.base, threads, group);
  g_settled.store(FixState::kOn, std::memory_order_release);
  note(true, text);
}

void end(FixState settled) {
  if (settled == FixState::kOn) {
    // The kernel takes one such change in a tenth of a second.
    if (g_nice.has_group && write_group(g_nice.group_before) == EAGAIN) return;
    char text[96];
    const unsigned threads = change_all(g_nice.ours, g_nice.base);
    snprintf(text, sizeof text, "nice off: %d again, %u threads", g_nice.base, threads);
    note(false, text);
  }
  g_settled.store(FixState::kOff, std::memory_order_release);
}

void want(bool on) { g_wanted.store(on, std::memory_order_release); }

void tend(bool last) {
  if (last) return;
  const FixState settled = g_settled.load(std::memory_order_relaxed);
  const bool wanted = g_wanted.load(std::memory_order_acquire);
  if (wanted && settled == FixState::kOff && process_uses_gpu()) begin();
  if (wanted && settled == FixState::kOn) g_nice.looks.now_and_then([] { change_all(g_nice.base, g_nice.ours); });
  if (!wanted && settled != FixState::kOff) end(settled);
}

FixState state() { return state_of(g_wanted, g_settled); }

}  // namespace

const Fix kNiceFix{fix_name::nice, want, state, tend};

}  // namespace hostprobe::probe
