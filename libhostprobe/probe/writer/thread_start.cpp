// thread_start.cpp: see thread_start.h.
#include "probe/writer/thread_start.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "probe/hooks/thread_type.h"
#include "probe/intercept/resolve.h"
#include "probe/record/gate.h"
#include "probe/record/shelter.h"
#include "probe/writer/file/passed_file.h"
#include "probe/writer/own_thread.h"

namespace hostprobe::probe {
namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// glibc takes the static thread-local storage of all objects out of a thread's stack, and says (to its friends: the name is
// one that Java asks for as well) how much that leaves unusable. 0: it does not, and the default must do.
std::size_t stack_bytes(const pthread_attr_t& attributes) {
  constexpr std::size_t kUsed = std::size_t{256} << 10;
  using Least = std::size_t (*)(const pthread_attr_t*);
  auto least = reinterpret_cast<Least>(find_behind_us("__pthread_get_minstack", "GLIBC_PRIVATE"));
  return least == nullptr ? 0 : (least(&attributes) + kUsed + 4095) & ~std::size_t{4095};
}

int create_thread(Create create, void* (*run)(void*), int parked) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (std::size_t bytes = stack_bytes(attributes); bytes != 0) pthread_attr_setstacksize(&attributes, bytes);
  int result = create(&g_writer_thread, &attributes, run, reinterpret_cast<void*>(std::intptr_t{parked}));
  pthread_attr_destroy(&attributes);
  return result;
}

}  // namespace

// In a shelter, because a signal handler that jumps out in the middle would leave it neither started nor not.
void start_own_thread(void* (*run)(void*)) {
  WriterState none = WriterState::kNone;
  if (g_writer_state.load(std::memory_order_relaxed) != none || t_local.taking || !trace_is_open()) return;
  if (!writer_may_start()) return;
  Shelter shelter;
  if (!g_writer_state.compare_exchange_strong(none, WriterState::kStarting, std::memory_order_acq_rel)) return;
  have_nccl_threads_named();
  auto create = reinterpret_cast<Create>(find_behind_us("pthread_create", "GLIBC_2.34"));
  int saved = errno;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);  // the new thread inherits it
  g_writer_state.store(WriterState::kRunning, std::memory_order_release);
  const int parked = parked_file();
  if (create == nullptr || create_thread(create, run, parked) != 0) {
    put_off_writer();
    g_writer_state.store(WriterState::kNone, std::memory_order_release);
  } else {
    await_copy(parked);
  }
  errno = saved;
}

}  // namespace hostprobe::probe
