// hooks_thread.cpp: threads are created, named and ended; processes end.
//
// Room 2 (probe/). pthread_create runs the new thread through start_thread below, so that its entry carries who created
// it and with what. start_thread is not noexcept: pthread_exit and cancellation unwind through it.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "chunk.h"
#include "hook.h"
#include "lifecycle.h"
#include "resolve.h"
#include "routes.h"
#include "strings.h"
#include "thread_type.h"
#include "writer.h"

namespace hostprobe::probe {
namespace {

using Routine = void* (*)(void*);

struct Start {
  Routine routine;
  void* argument;
};
Start g_starts[kThreads];  // one per ThreadEntry, valid from reserve_thread to the thread's first instruction

void* start_thread(void* place) {
  auto index = static_cast<std::uint32_t>(static_cast<Start*>(place) - g_starts);
  Start start = g_starts[index];
  adopt_thread(&g_segment.threads[index], index);
  return start.routine(start.argument);
}

void describe(ThreadEntry* entry, const void* site, Routine routine, const void* argument) {
  entry->start_routine = reinterpret_cast<std::uint64_t>(routine);
  entry->creator_site = reinterpret_cast<std::uint64_t>(site);
  entry->creator_tid = t_local.tid;
  const char* type = thread_type(site, argument);
  if (type != nullptr) entry->type_name = string_id(type, strlen(type));
}

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe;
using namespace hostprobe::probe;

#define HP_SITE __builtin_return_address(0)

HP_ROW(kThread, pthread_create, "GLIBC_2.34", 0, 0, nullptr, "start:code", "", "site:code", "type:str", "result:i")
extern "C" HP_EXPORT int hp_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Routine routine,
                                           void* argument) __asm__("pthread_create");

namespace {

// Records the call itself; `type` is the string id of the std::thread's type.
void record_create(std::uint64_t begin, Routine routine, const void* site, std::uint32_t type, int result) {
  std::uint64_t end = ticks();
  Record* r = reserve_record();
  if (r == nullptr) return;
  r->begin_ticks = begin;
  r->end_ticks = end;
  r->a = reinterpret_cast<std::uint64_t>(routine);
  r->b = 0;
  r->c = reinterpret_cast<std::uint64_t>(site);
  r->d = type;
  r->e = static_cast<std::uint64_t>(static_cast<std::int64_t>(result));
  commit_record(r, g_hook_pthread_create, result == 0 ? 0 : kRecordFailed, 0);
}

}  // namespace

extern "C" int hp_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Routine routine, void* argument) {
  auto real = libc_real<int (*)(pthread_t*, const pthread_attr_t*, Routine, void*)>(g_hook_pthread_create);
  if (!hooks_enabled()) return real(thread, attributes, routine, argument);
  scan_new_objects();
  look_for_target();
  const void* site = HP_SITE;
  if (!recording_or_begun(Moment::kPlain) || !attach_thread()) return real(thread, attributes, routine, argument);
  mark_used(g_hook_pthread_create);
  std::uint64_t begin = ticks();
  std::uint32_t index = 0;
  ThreadEntry* entry = reserve_thread(index);
  if (entry == nullptr) {
    int result = real(thread, attributes, routine, argument);
    record_create(begin, routine, site, 0, result);
    return result;
  }
  describe(entry, site, routine, argument);
  std::uint32_t type = entry->type_name;
  g_starts[index] = {routine, argument};
  int result = real(thread, attributes, start_thread, &g_starts[index]);
  if (result != 0) release_thread(entry);
  record_create(begin, routine, site, type, result);
  start_writer();
  return result;
}

HP_ROW(kThread, pthread_setname_np, "GLIBC_2.34", 0, 0, nullptr, "thread:hex", "name:str", "site:code", "", "result:i")
extern "C" HP_EXPORT int hp_pthread_setname_np(pthread_t thread, const char* name) __asm__("pthread_setname_np");
extern "C" int hp_pthread_setname_np(pthread_t thread, const char* name) {
  auto real = libc_real<int (*)(pthread_t, const char*)>(g_hook_pthread_setname_np);
  if (!recording_or_begun(Moment::kPlain)) return real(thread, name);
  mark_used(g_hook_pthread_setname_np);
  std::uint64_t begin = ticks();
  int result = real(thread, name);
  std::uint64_t end = ticks();
  Record* r = reserve_record();
  if (r == nullptr) return result;
  r->begin_ticks = begin;
  r->end_ticks = end;
  r->a = static_cast<std::uint64_t>(thread);
  r->b = result == 0 ? string_id(name, strlen(name)) : 0;
  r->c = reinterpret_cast<std::uint64_t>(HP_SITE);
  r->d = 0;
  r->e = static_cast<std::uint64_t>(static_cast<std::int64_t>(result));
  if (result == 0 && pthread_equal(thread, pthread_self()) && t_local.entry != nullptr)
    strncpy(t_local.entry->name, name, sizeof t_local.entry->name - 1);
  commit_record(r, g_hook_pthread_setname_np, result == 0 ? 0 : kRecordFailed, 0);
  return result;
}

// Processes that leave without exit(): data-loader workers do. Their trace is complete all the same.
#define HP_EXIT_HOOK(name)                                                                  \
  HP_ROW(kThread, name, "GLIBC_2.2.5", 0, 0, nullptr, "", "", "", "", "")                   \
  extern "C" HP_EXPORT __attribute__((noreturn)) void hp_##name(int status) __asm__(#name); \
  extern "C" void hp_##name(int status) {                                                   \
    auto real = libc_real<void (*)(int)>(g_hook_##name);                                    \
    mark_used(g_hook_##name);                                                               \
    end_trace();                                                                            \
    real(status);                                                                           \
    __builtin_unreachable();                                                                \
  }
HP_EXIT_HOOK(_exit)
HP_EXIT_HOOK(_Exit)

// The assembly functions of dlsym_x86_64.S have rows too: `hostprobe hooks` lists everything that is interposed.
HP_ROW(kCuda, dlsym, "GLIBC_2.34", 0, 0, nullptr, "", "", "", "", "")
HP_ROW(kThread, vfork, "GLIBC_2.2.5", 0, 0, nullptr, "", "", "", "", "")

extern "C" {
__attribute__((visibility("hidden"))) void* hp_real_vfork = nullptr;
}
