// thread_slack.cpp: see thread_slack.h. By bare system calls: prctl is hooked, and errno is the program's.
#include "probe/fixes/waiting/thread_slack.h"

#include <sys/prctl.h>

#include <atomic>

#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

// Kept: a child that was forked by a thread with ours has it too.
HP_KEPT_BY_CHILDREN std::atomic<unsigned long> g_base{0}, g_ours{0};  // 0: nothing was ever wanted
HP_OF_PROCESS std::atomic<unsigned long> g_first{0};
HP_OF_PROCESS std::atomic<bool> g_on{false};
HP_OF_PROCESS std::atomic<unsigned> g_threads{0};

unsigned long own_slack() { return static_cast<unsigned long>(system_call(SYS_prctl, PR_GET_TIMERSLACK, 0)); }

bool change_own(unsigned long from, unsigned long to) {
  return own_slack() == from && system_call(SYS_prctl, PR_SET_TIMERSLACK, static_cast<long>(to)) == 0;
}

}  // namespace

void note_first_slack() { g_first.store(own_slack(), std::memory_order_relaxed); }
unsigned long first_slack() { return g_first.load(std::memory_order_relaxed); }

void want_slack(bool on, unsigned long base, unsigned long ours) {
  g_base.store(base, std::memory_order_relaxed);
  g_ours.store(ours, std::memory_order_relaxed);
  g_on.store(on, std::memory_order_release);
}

void set_own_slack() {
  const bool on = g_on.load(std::memory_order_acquire);
  const unsigned long base = g_base.load(std::memory_order_relaxed), ours = g_ours.load(std::memory_order_relaxed);
  if (base == 0 || !change_own(on ? base : ours, on ? ours : base)) return;
  on ? g_threads.fetch_add(1, std::memory_order_relaxed) : g_threads.fetch_sub(1, std::memory_order_relaxed);
}

void leave_own_slack() {
  const unsigned long base = g_base.load(std::memory_order_relaxed);
  if (base != 0) change_own(g_ours.load(std::memory_order_relaxed), base);
}

unsigned threads_with_slack() { return g_threads.load(std::memory_order_relaxed); }

}  // namespace hostprobe::probe
