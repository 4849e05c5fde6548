// hooks/sleep.cpp: sleeping.
//
// Room 2 (probe/). A sleep always blocks.
#include <time.h>
#include <unistd.h>

#include "probe/record/wait.h"

using namespace hostprobe::probe;

namespace {

int error_itself(int result) { return result == EINVAL ? kDidNotBlock : result; }
int error_of_sleep(int result) { return result >= 0 ? 0 : errno == EINVAL || errno == EFAULT ? kDidNotBlock : errno; }

}  // namespace

#define HP_SLEEP_HOOK(Result, name, versions, error_of, params, args)          \
  HP_BLOCKING_HOOK(Result, kSleep, name, versions, "", params) {               \
    auto real = libc_target<Result(*) params>(g_hook_##name);                  \
    if (!recording_or_begun(Moment::kAnywhere)) return real args;              \
    return timed_wait(                                                         \
        g_hook_##name, nullptr, HP_SITE, [=] { return real args; }, error_of); \
  }

HP_SLEEP_HOOK(int, nanosleep, "GLIBC_2.2.5", error_of_sleep, (const timespec* time, timespec* rest), (time, rest))
HP_SLEEP_HOOK(int, clock_nanosleep, "GLIBC_2.17", error_itself,
              (clockid_t clock, int flags, const timespec* time, timespec* rest), (clock, flags, time, rest))
HP_SLEEP_HOOK(int, usleep, "GLIBC_2.2.5", error_of_sleep, (useconds_t microseconds), (microseconds))
HP_SLEEP_HOOK(unsigned, sleep, "GLIBC_2.2.5", never_fails, (unsigned seconds), (seconds))
