// fork.cpp: see fork.h. Cold.
#include "probe/process/fork.h"

#include <errno.h>
#include <pthread.h>
#include <sys/single_threaded.h>

#include <atomic>

#include "probe/fixes/fixes.h"
#include "probe/intercept/loader.h"
#include "probe/intercept/own_page.h"
#include "probe/process/lifecycle.h"
#include "probe/record/hook.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN std::atomic<bool> g_handlers{false};
HP_KEPT_BY_CHILDREN bool g_alone = false;  // the process had one thread when it forked last

void prepare() {
  before_fork();
  g_alone = __libc_single_threaded != 0;
  __atomic_fetch_add(&g_gate.forks, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&g_gate.visits, __ATOMIC_SEQ_CST) == 0) return;
  Nap nap(kPatienceMs);
  while (__atomic_load_n(&g_gate.visits, __ATOMIC_SEQ_CST) != 0 && nap.taken()) {
  }
}

void in_parent() {
  __atomic_fetch_sub(&g_gate.forks, 1, __ATOMIC_SEQ_CST);
  after_fork_in_parent();
}

void in_child() {
  take_page_over(g_alone);
  leave_fixes_to_child();
  in_forked_child();
}

}  // namespace

void watch_forks() {
  if (g_handlers.load(std::memory_order_relaxed) || !own_page()) return;
  if (!g_handlers.exchange(true, std::memory_order_acq_rel)) pthread_atfork(prepare, in_parent, in_child);
}

bool before_bare_fork() {
  if (!g_handlers.load(std::memory_order_relaxed) || t_local.muted != 0) return false;
  int saved = errno;
  prepare();
  errno = saved;
  return true;
}

void after_bare_fork(long result) {
  int saved = errno;
  result == 0 ? in_child() : in_parent();
  errno = saved;
}

}  // namespace hostprobe::probe
