// own_page.cpp: see own_page.h. Cold, but for own_page()'s first line.
#include "probe/intercept/own_page.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#include <atomic>

#include "probe/intercept/inherited_locks.h"
#include "probe/record/gate.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

// 0, or the process whose thread is at it, or one of these. A child that was forked in the middle finds another process's
// number and begins anew.
constexpr std::uint32_t kReady = ~0u, kImpossible = ~1u;
HP_KEPT_BY_CHILDREN std::atomic<std::uint32_t> g_page{0};

bool make_page() {
  // Our zeros are part of the file (layout.ld), but only memory of no file can be emptied by the kernel.
  long page = word_of_pointer(&g_gate);
  return system_call_of_six(SYS_mmap, page, sizeof g_gate, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page &&
         system_call(SYS_madvise, page, sizeof g_gate, MADV_WIPEONFORK) == 0;
}

bool is_owned() { return __atomic_load_n(&g_gate.owned, __ATOMIC_ACQUIRE) != 0; }
void own() { __atomic_store_n(&g_gate.owned, 1, __ATOMIC_RELEASE); }

__attribute__((noinline)) bool own_page_now() {
  auto self = static_cast<std::uint32_t>(system_call(SYS_getpid, 0, 0));
  std::uint32_t state = g_page.load(std::memory_order_acquire);
  if (state == kImpossible || is_owned()) return state != kImpossible;
  if (state == kReady) {
    take_page_over(__libc_single_threaded != 0);
    return true;
  }
  if (state != self && g_page.compare_exchange_strong(state, self, std::memory_order_acq_rel)) {
    const bool made = make_page();
    if (made) own();
    g_page.store(made ? kReady : kImpossible, std::memory_order_release);
    return made;
  }
  for (int i = 0; i < 10000 && !is_owned(); ++i) sched_yield();
  return is_owned();
}

}  // namespace

// What it found empty was made in a forebear.
void take_page_over(bool was_alone) {
  inherit_loader(was_alone);
  own();
}

bool own_page() { return HP_LIKELY(is_owned()) || own_page_now(); }

}  // namespace hostprobe::probe
