/* hostprobe.h: what a program may tell hostprobe, and ask of it. C99 and C++, header only, nothing to link.
 *
 * Where libhostprobe.so is not preloaded into the process each function does nothing and returns 0. None of them ever fails
 * loudly, changes errno, waits, or ends the program; each costs less than a microsecond, without the preload nothing. Each
 * may be called by any thread at any time, but not in a signal handler: for that there is HOSTPROBE_TRIGGER_SIGNAL. In
 * libraries too: whoever preloads hostprobe decides, not the library.
 *
 *   for (uint64_t i = 0; i < steps; ++i) {
 *     struct hostprobe_region region = hostprobe_begin_region("forward");
 *     forward();
 *     hostprobe_end_region(region);
 *     backward();
 *     hostprobe_mark("loss", loss);
 *     hostprobe_step(i);
 *   }
 *
 * In C++ `hostprobe::Region region("forward");` ends with its scope.
 */
#ifndef HOSTPROBE_HOSTPROBE_H
#define HOSTPROBE_HOSTPROBE_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Found by its name in the running process: a weak reference would be null in programs that are not position independent.
 * Later versions only add to its end. */
#define HOSTPROBE_CALLS_VERSION 2
struct hostprobe_calls {
  uint32_t version;
  uint32_t bytes; /* of this struct */
  int (*active)(void);
  int (*trigger)(const char* why);
  int (*step)(uint64_t number);
  int (*start)(void);
  int (*stop)(void);
  /* since version 2 */
  int (*end_step)(void);
  uint64_t (*begin_region)(void);
  int (*end_region)(const char* name, uint64_t begun);
  int (*mark)(const char* name, double value);
};

#ifdef __cplusplus
}
#endif

static inline const struct hostprobe_calls* hostprobe_find_calls(void) {
  static const struct hostprobe_calls* calls;
  static int looked; /* threads may look at the same time: they find the same */
  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    const struct hostprobe_calls* (*find)(uint32_t) = 0;
    /* RTLD_DEFAULT, which <dlfcn.h> only shows with _GNU_SOURCE; and no cast, which C99 does not know for functions. */
    void* symbol = dlsym((void*)0, "hostprobe_calls");
    memcpy(&find, &symbol, sizeof find);
    if (find != 0) __atomic_store_n(&calls, find(HOSTPROBE_CALLS_VERSION), __ATOMIC_RELAXED);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

/* 1: calls of this process are being recorded. 0: they are not (not preloaded, not a target, paused, ended). */
static inline int hostprobe_active(void) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  return calls ? calls->active() : 0;
}

/* Asks for the last seconds to be written out, because of `why` (cut after 95 bytes; null: no reason). 1: they will be, by
 * hostprobe's own thread, within a quarter of a second. 0: they will not, because an earlier call waits for that thread, the
 * mode keeps nothing back, or nothing is recorded. Dumps may come too soon after each other: HOSTPROBE_TRIGGER_S. */
static inline int hostprobe_trigger(const char* why) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  return calls ? calls->trigger(why) : 0;
}

/* A training step ends here; `number` is what you call it. To be called once per step, by one thread, always at the same place:
 * the time since its call before is the step. 1: it was recorded. 0: not, as with the first call of a thread. A step that
 * takes HOSTPROBE_SLOW_STEP_PCT of the median of those before it asks for the last seconds, as hostprobe_trigger does. */
static inline int hostprobe_step(uint64_t number) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  return calls ? calls->step(number) : 0;
}

/* For programs that know both ends of a step: hostprobe_step(i) at its begin, this at its end. What lies between two such steps
 * belongs to none. 1: it was recorded. 0: not, as where no step is under way on this thread. */
static inline int hostprobe_end_step(void) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  return calls && calls->version >= 2 ? calls->end_step() : 0;
}

/* A part of the program's own time, with a name: a phase of the step, the fetch of a batch. Begun and ended by the same thread;
 * regions may lie inside each other. What hostprobe_end_region does not end leaves no record. `name` is kept as long as the
 * region lasts, its first 1000 bytes. Names are stored once each: a run with many thousands of them runs out of room, and
 * later ones are unnamed. */
struct hostprobe_region {
  const char* name;
  uint64_t begun; /* 0: not recorded */
};
static inline struct hostprobe_region hostprobe_begin_region(const char* name) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  struct hostprobe_region region;
  region.name = name;
  region.begun = calls && calls->version >= 2 ? calls->begin_region() : 0;
  return region;
}
/* 1: it was recorded. */
static inline int hostprobe_end_region(struct hostprobe_region region) {
  const struct hostprobe_calls* calls = region.begun ? hostprobe_find_calls() : 0;
  return calls ? calls->end_region(region.name, region.begun) : 0;
}

/* A number of the program's at this moment: a loss, a queue's length. 1: it was recorded. */
static inline int hostprobe_mark(const char* name, double value) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  return calls && calls->version >= 2 ? calls->mark(name, value) : 0;
}

/* Pauses recording in this process, all threads, and goes on with it. 1: it is as asked, perhaps was before. 0: this process
 * is not recorded. Calls under way are recorded by what held when they began. A process that is forked meanwhile records. */
static inline int hostprobe_stop(void) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  return calls ? calls->stop() : 0;
}
static inline int hostprobe_start(void) {
  const struct hostprobe_calls* calls = hostprobe_find_calls();
  return calls ? calls->start() : 0;
}

#ifdef __cplusplus
namespace hostprobe {

// A region as long as its scope.
class Region {
 public:
  explicit Region(const char* name) : region_(hostprobe_begin_region(name)) {}
  ~Region() { hostprobe_end_region(region_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  hostprobe_region region_;
};

}  // namespace hostprobe
#endif

#endif
