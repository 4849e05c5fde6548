// hooks/thread.cpp: threads are created, named and ended; processes end.
//
// Room 2 (probe/). pthread_create runs the new thread through start_thread below, so that its entry carries who created
// it and with what. start_thread is not noexcept: pthread_exit and cancellation unwind through it.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe/hooks/thread_begin.h"
#include "probe/hooks/thread_type.h"
#include "probe/intercept/resolve.h"
#include "probe/intercept/routes.h"
#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/progress.h"
#include "probe/record/strings.h"
#include "probe/record/thread.h"
#include "probe/record/wait.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_KEPT_BY_CHILDREN constinit std::atomic<void (*)()> g_thread_begins{nullptr};

namespace {

using Routine = void* (*)(void*);

void* start_thread(void* place) {
  auto* note = static_cast<ThreadNote*>(place);
  std::uint32_t index = thread_of(*note);
  Routine routine = note->routine;
  void* argument = note->argument;
  t_local.polls = note->polls;
  // By now a filter may be set that none of these calls passes.
  if (trace_is_open()) adopt_thread(&g_segment.threads[index], index);
  if (auto begins = g_thread_begins.load(std::memory_order_acquire); begins != nullptr) begins();
  return routine(argument);
}

// True when it is a thread of NCCL's own.
bool describe(ThreadEntry* entry, const void* site, Routine routine, const void* argument) {
  ThreadOrigin origin = thread_origin(site, reinterpret_cast<const void*>(routine), argument);
  entry->start_routine = reinterpret_cast<std::uint64_t>(origin.routine);
  entry->creator_site = reinterpret_cast<std::uint64_t>(site);
  entry->creator_tid = t_local.tid;
  entry->created_ticks = ticks();
  if (origin.type != nullptr) entry->type_name = string_id(origin.type, strlen(origin.type));
  return origin.of_nccl;
}

void note_own_name(const char* name) {
  ThreadLocal& t = t_local;
  if (ThreadEntry* entry = t.entry) strncpy(entry->name, name, sizeof entry->name - 1);
  if (is_progress_name(name)) t.polls = true;
}

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe;
using namespace hostprobe::probe;

HP_ROW(kThread, kThread, pthread_create, "GLIBC_2.34", 0, 0, "start:code", "", "site:code", "type:str", "result:i")
extern "C" HP_EXPORT int hp_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Routine routine,
                                           void* argument) __asm__("pthread_create");

namespace {

constexpr std::size_t kLongestName = 15;

void fill_thread_record(Record* r, std::uint64_t begin, std::uint64_t end, const void* site, int result) {
  r->begin_ticks = begin;
  r->end_ticks = end;
  r->a = r->b = r->d = 0;
  r->c = reinterpret_cast<std::uint64_t>(site);
  r->e = static_cast<std::uint64_t>(static_cast<std::int64_t>(result));
}

// Records the call itself; `type` is the string id of the std::thread's type.
void record_create(std::uint64_t begin, Routine routine, const void* site, std::uint32_t type, int result) {
  std::uint64_t end = ticks();
  Record* r = reserve_record();
  if (r == nullptr) return;
  fill_thread_record(r, begin, end, site, result);
  r->a = reinterpret_cast<std::uint64_t>(routine);
  r->d = type;
  commit_record(r, g_hook_pthread_create, result == 0 ? 0 : kRecordFailed, 0);
}

}  // namespace

extern "C" int hp_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Routine routine, void* argument) {
  auto real = libc_target<int (*)(pthread_t*, const pthread_attr_t*, Routine, void*)>(g_hook_pthread_create);
  if (!hooks_enabled()) return real(thread, attributes, routine, argument);
  watch_forks();
  scan_new_objects(ScanBy::kPassing);
  look_for_target();
  const void* site = HP_SITE;
  if (!recording_or_begun(Moment::kPlain) || !attach_thread()) return real(thread, attributes, routine, argument);
  mark_used(g_hook_pthread_create);
  have_nccl_threads_named();
  std::uint64_t begin = ticks();
  std::uint32_t index = 0;
  ThreadEntry* entry = reserve_thread(index);
  if (entry == nullptr) {
    int result = real(thread, attributes, routine, argument);
    record_create(begin, routine, site, 0, result);
    return result;
  }
  bool polls = describe(entry, site, routine, argument);
  std::uint32_t type = entry->type_name;
  ThreadNote& note = note_of(index);
  note.routine = routine;
  note.argument = argument;
  note.polls = polls;
  int result = real(thread, attributes, start_thread, &note);
  if (result != 0) release_thread(entry);
  record_create(begin, routine, site, type, result);
  start_writer();
  return result;
}

HP_ROW(kThread, kThread, pthread_setname_np, "GLIBC_2.34", 0, 0, "thread:hex", "name:str", "site:code", "", "result:i")
extern "C" HP_EXPORT int hp_pthread_setname_np(pthread_t thread, const char* name) __asm__("pthread_setname_np");
extern "C" int hp_pthread_setname_np(pthread_t thread, const char* name) {
  auto real = libc_target<int (*)(pthread_t, const char*)>(g_hook_pthread_setname_np);
  if (!recording_or_begun(Moment::kPlain)) return real(thread, name);
  mark_used(g_hook_pthread_setname_np);
  std::uint64_t begin = ticks();
  int result = real(thread, name);
  std::uint64_t end = ticks();
  Record* r = reserve_record();
  if (r == nullptr) return result;
  fill_thread_record(r, begin, end, HP_SITE, result);
  r->a = static_cast<std::uint64_t>(thread);
  if (result == 0) r->b = string_id(name, strlen(name));
  if (result == 0 && pthread_equal(thread, pthread_self())) note_own_name(name);
  commit_record(r, g_hook_pthread_setname_np, result == 0 ? 0 : kRecordFailed, 0);
  return result;
}

HP_ROW(kThread, kThread, prctl, "GLIBC_2.2.5", 0, 0, "", "name:str", "site:code", "", "result:i")
extern "C" HP_EXPORT int hp_prctl(int option, long a, long b, long c, long d) __asm__("prctl");
extern "C" int hp_prctl(int option, long a, long b, long c, long d) {
  auto real = libc_target<int (*)(int, ...)>(g_hook_prctl);
  if (HP_UNLIKELY(option == PR_SET_SECCOMP)) leave_before_seccomp();
  if (option != PR_SET_NAME || !recording()) return real(option, a, b, c, d);
  std::uint64_t begin = ticks();
  int result = real(option, a, b, c, d);
  std::uint64_t end = ticks();
  mark_used(g_hook_prctl);
  Record* r = reserve_record();
  if (r == nullptr) return result;
  const char* name = reinterpret_cast<const char*>(a);
  fill_thread_record(r, begin, end, HP_SITE, result);
  if (result == 0) {
    r->b = string_id(name, strnlen(name, kLongestName));
    note_own_name(name);
  }
  commit_record(r, g_hook_prctl, result == 0 ? 0 : kRecordFailed, 0);
  return result;
}

// The first 64 CPUs of the mask, and how many it holds in all. Who sets it is worth a stack however short the call.
#define HP_AFFINITY_HOOK(name, versions, label, Thread)                                                  \
  HP_ROW(kThread, kThread, name, versions, 0, 0, label, "mask:hex", "site:code", "cpus", "result:i")     \
  extern "C" HP_EXPORT int hp_##name(Thread thread, size_t bytes, const cpu_set_t* cpus) __asm__(#name); \
  extern "C" int hp_##name(Thread thread, size_t bytes, const cpu_set_t* cpus) {                         \
    auto real = libc_target<int (*)(Thread, size_t, const cpu_set_t*)>(g_hook_##name);                   \
    if (!recording()) return real(thread, bytes, cpus);                                                  \
    std::uint64_t begin = ticks();                                                                       \
    int result = real(thread, bytes, cpus);                                                              \
    std::uint64_t end = ticks();                                                                         \
    const int saved = errno;                                                                             \
    const std::uint16_t stack = trace_is_open() ? sample_stack(end, HP_SITE, UINT64_MAX) : 0;            \
    errno = saved;                                                                                       \
    mark_used(g_hook_##name);                                                                            \
    Record* r = reserve_record();                                                                        \
    if (r == nullptr) return result;                                                                     \
    fill_thread_record(r, begin, end, HP_SITE, result);                                                  \
    r->a = static_cast<std::uint64_t>(thread);                                                           \
    if (result == 0) {                                                                                   \
      memcpy(&r->b, cpus, bytes < sizeof r->b ? bytes : sizeof r->b);                                    \
      r->d = static_cast<std::uint64_t>(CPU_COUNT_S(bytes, cpus));                                       \
    }                                                                                                    \
    commit_record(r, g_hook_##name, result == 0 ? 0 : kRecordFailed, stack);                             \
    return result;                                                                                       \
  }
HP_AFFINITY_HOOK(sched_setaffinity, "GLIBC_2.3.4", "thread:i", pid_t)
HP_AFFINITY_HOOK(pthread_setaffinity_np, "GLIBC_2.34", "thread:hex", pthread_t)

// Nothing is recorded of these: the fix `pin` stands in front of them.
HP_ROW(kThread, kOther, sched_getaffinity, "GLIBC_2.3.4", 0, 0, "", "", "", "", "")
extern "C" HP_EXPORT int hp_sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t* cpus) __asm__("sched_getaffinity");
extern "C" int hp_sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t* cpus) {
  return libc_call<int>(g_hook_sched_getaffinity, thread, bytes, cpus);
}
HP_ROW(kThread, kOther, pthread_getaffinity_np, "GLIBC_2.32", 0, 0, "", "", "", "", "")
extern "C" HP_EXPORT int hp_pthread_getaffinity_np(pthread_t thread, size_t bytes,
                                                   cpu_set_t* cpus) __asm__("pthread_getaffinity_np");
extern "C" int hp_pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t* cpus) {
  return libc_call<int>(g_hook_pthread_getaffinity_np, thread, bytes, cpus);
}
