// memory_owner.cpp: see memory_owner.h. libc keeps the id of the calling thread, and fork() sets it anew in the child; a bare
// clone leaves the parent's. A mutex that checks for errors tells that id, as its owner's, without a system call. Where
// the two differ, the kernel is asked whether the thread of that id has the same memory.
#include "probe/runtime/memory_owner.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <signal.h>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {
namespace {

long thread_known_to_libc() {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_mutex_trylock(&mutex);
  return mutex.__data.__owner;
}

}  // namespace

// Where the kernel does not tell, the process goes without a trace: better than one that spoils its parent's.
bool memory_is_ours() {
  long known = thread_known_to_libc();
  if (known == system_call(SYS_gettid, 0, 0)) return true;
  long process = system_call(SYS_getpid, 0, 0);
  if (system_call(SYS_tgkill, process, known, 0) == 0) return true;  // a thread that was made without libc
  long order = system_call(SYS_kcmp, process, known, KCMP_VM, 0);
  return order > 0 || order == -ESRCH;
}

}  // namespace hostprobe::probe
