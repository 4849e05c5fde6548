// hooks/io.cpp: opens, reads, writes, accepts, connects and locks of files that take long.
//
// Room 2 (probe/). Nothing tells beforehand whether such a call will block without changing what it does, so it is timed,
// and counts as a wait from HOSTPROBE_IO_US on, less what copying its bytes takes. Whether the descriptor is a file is
// asked only then: a file's time is its disk's (kRecordFile). Writing to anything but a file is left out: a writer whose
// reader wakes up in its place looks as if it had waited. Who has waited for a pipe learns who wrote (pipe_writers.h).
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probe/hooks/descriptor_name.h"
#include "probe/intercept/newer_function.h"
#include "probe/record/pipe_writers.h"
#include "probe/record/wait.h"
#include "probe/runtime/at_start.h"

namespace hostprobe::probe {

namespace {

constexpr std::uint64_t kTicksPerByte = 1;  // 2 to 4 GB/s, slow for a copy

enum class What { kRead, kWrite, kFileOnly, kLock, kOpen };

bool is_on_disk(mode_t mode) { return S_ISREG(mode) || S_ISBLK(mode) || S_ISDIR(mode); }

// What could not be opened was looked for in a file system.
bool is_file(int descriptor, What what) {
  struct stat status;
  if (what == What::kLock) return false;
  return (what == What::kOpen && descriptor < 0) || (fstat(descriptor, &status) == 0 && is_on_disk(status.st_mode));
}

// Cold: the call was long. The trace may have ended meanwhile, because of a filter that forbids our questions.
void keep_io(Hook& hook, int descriptor, What what, Waited& wait) {
  int saved = errno;
  auto copied = wait.result > 0 && what != What::kOpen ? static_cast<std::uint64_t>(wait.result) * kTicksPerByte : 0;
  bool is_long = wait.end - wait.begin >= g_limits.io_ticks + copied;
  bool file = is_long && trace_is_open() && is_file(descriptor, what);
  bool counts = is_long && (file || (what != What::kFileOnly && what != What::kWrite));
  if (!counts) wait.error = kDidNotBlock;
  wait.flags = file ? kRecordFile : 0;
  if (counts) wait.name = descriptor_name(descriptor, wait.end - wait.begin);
  if (counts && what == What::kRead && !file && trace_is_open())
    wait.post = post_by_write(descriptor, wait.begin, wait.end);
  keep_wait(hook, wait);
  errno = saved;
}

template <class Call>
auto timed_io(Hook& hook, int descriptor, What what, const void* site, Call call) {
  Waited wait{reinterpret_cast<const void*>(static_cast<long>(descriptor)), site, 0, 0, 0, 0, 0, 0, 0};
  auto result = time_call(hook, nullptr, wait, [&] {
    if (what == What::kWrite) note_write(descriptor, wait.begin);
    return call();
  });
  if (HP_LIKELY(wait.end - wait.begin < g_limits.io_ticks)) {
    mark_used(hook);
    count_quiet();
    return result;
  }
  wait.result = static_cast<std::int64_t>(result);
  wait.error = errno_of(static_cast<long>(result));
  if (what == What::kOpen) {
    descriptor = static_cast<int>(result);
    wait.object = reinterpret_cast<const void*>(wait.result);
  }
  keep_io(hook, descriptor, what, wait);
  return result;
}

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

#define HP_TIMED_HOOK(what, descriptor, Result, role, name, versions, params, args)             \
  HP_DESCRIPTOR_HOOK(Result, role, name, versions, "fd:i", params) {                            \
    auto real = libc_target<Result(*) params>(g_hook_##name);                                   \
    if (!recording_or_begun(Moment::kAnywhere)) return real args;                               \
    return timed_io(g_hook_##name, descriptor, What::what, HP_SITE, [=] { return real args; }); \
  }

// The descriptor is the first argument of all of them and called `fd`.
#define HP_IO_HOOK(what, Result, role, name, versions, params, args) \
  HP_TIMED_HOOK(what, fd, Result, role, name, versions, params, args)

HP_IO_HOOK(kRead, ssize_t, kRead, read, "GLIBC_2.2.5", (int fd, void* data, std::size_t bytes), (fd, data, bytes))
HP_IO_HOOK(kRead, ssize_t, kRead, __read_chk, "GLIBC_2.4", (int fd, void* data, std::size_t bytes, std::size_t room),
           (fd, data, bytes, room))
HP_IO_HOOK(kRead, ssize_t, kRead, readv, "GLIBC_2.2.5", (int fd, const iovec* parts, int count), (fd, parts, count))
HP_IO_HOOK(kRead, ssize_t, kRead, recv, "GLIBC_2.2.5", (int fd, void* data, std::size_t bytes, int flags),
           (fd, data, bytes, flags))
HP_IO_HOOK(kRead, ssize_t, kRead, __recv_chk, "GLIBC_2.4",
           (int fd, void* data, std::size_t bytes, std::size_t room, int flags), (fd, data, bytes, room, flags))
HP_IO_HOOK(kRead, ssize_t, kRead, recvfrom, "GLIBC_2.2.5",
           (int fd, void* data, std::size_t bytes, int flags, sockaddr* from, socklen_t* from_bytes),
           (fd, data, bytes, flags, from, from_bytes))
HP_IO_HOOK(kRead, ssize_t, kRead, __recvfrom_chk, "GLIBC_2.4",
           (int fd, void* data, std::size_t bytes, std::size_t room, int flags, sockaddr* from, socklen_t* from_bytes),
           (fd, data, bytes, room, flags, from, from_bytes))
HP_IO_HOOK(kRead, ssize_t, kRead, recvmsg, "GLIBC_2.2.5", (int fd, msghdr* message, int flags), (fd, message, flags))
HP_IO_HOOK(kRead, int, kRead, recvmmsg, "GLIBC_2.12",
           (int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit), (fd, messages, count, flags, limit))
HP_IO_HOOK(kRead, int, kRead, accept, "GLIBC_2.2.5", (int fd, sockaddr* from, socklen_t* from_bytes),
           (fd, from, from_bytes))
HP_IO_HOOK(kRead, int, kRead, accept4, "GLIBC_2.10", (int fd, sockaddr* from, socklen_t* from_bytes, int flags),
           (fd, from, from_bytes, flags))
HP_IO_HOOK(kRead, int, kRead, connect, "GLIBC_2.2.5", (int fd, const sockaddr* to, socklen_t to_bytes),
           (fd, to, to_bytes))
HP_IO_HOOK(kWrite, ssize_t, kWrite, write, "GLIBC_2.2.5", (int fd, const void* data, std::size_t bytes),
           (fd, data, bytes))
HP_IO_HOOK(kWrite, ssize_t, kWrite, writev, "GLIBC_2.2.5", (int fd, const iovec* parts, int count), (fd, parts, count))
HP_IO_HOOK(kFileOnly, ssize_t, kRead, pread, "GLIBC_2.2.5", (int fd, void* data, std::size_t bytes, off_t at),
           (fd, data, bytes, at))
HP_IO_HOOK(kFileOnly, ssize_t, kRead, pread64, "GLIBC_2.2.5", (int fd, void* data, std::size_t bytes, off_t at),
           (fd, data, bytes, at))
HP_IO_HOOK(kFileOnly, ssize_t, kWrite, pwrite, "GLIBC_2.2.5", (int fd, const void* data, std::size_t bytes, off_t at),
           (fd, data, bytes, at))
HP_IO_HOOK(kFileOnly, ssize_t, kWrite, pwrite64, "GLIBC_2.2.5", (int fd, const void* data, std::size_t bytes, off_t at),
           (fd, data, bytes, at))
HP_IO_HOOK(kFileOnly, ssize_t, kWrite, sendfile, "GLIBC_2.2.5", (int fd, int from, off_t* at, std::size_t bytes),
           (fd, from, at, bytes))
HP_IO_HOOK(kFileOnly, ssize_t, kWrite, sendfile64, "GLIBC_2.3", (int fd, int from, off_t* at, std::size_t bytes),
           (fd, from, at, bytes))
HP_IO_HOOK(kFileOnly, ssize_t, kWrite, copy_file_range, "GLIBC_2.27",
           (int fd, off_t* at, int to, off_t* to_at, std::size_t bytes, unsigned flags),
           (fd, at, to, to_at, bytes, flags))
HP_IO_HOOK(kFileOnly, int, kFileSync, fsync, "GLIBC_2.2.5", (int fd), (fd))
HP_IO_HOOK(kFileOnly, int, kFileSync, fdatasync, "GLIBC_2.2.5", (int fd), (fd))

// Files on another machine, or files of which there are very many, take long to open. The mode is passed on as it came:
// whether there is one the flags tell the kernel.
#define HP_OPEN_HOOK(name, versions, params, args) HP_TIMED_HOOK(kOpen, -1, int, kOpen, name, versions, params, args)

HP_OPEN_HOOK(open, "GLIBC_2.2.5", (const char* path, int flags, mode_t mode), (path, flags, mode))
HP_OPEN_HOOK(open64, "GLIBC_2.2.5", (const char* path, int flags, mode_t mode), (path, flags, mode))
HP_OPEN_HOOK(openat, "GLIBC_2.4", (int folder, const char* path, int flags, mode_t mode), (folder, path, flags, mode))
HP_OPEN_HOOK(openat64, "GLIBC_2.4", (int folder, const char* path, int flags, mode_t mode), (folder, path, flags, mode))
HP_OPEN_HOOK(__open_2, "GLIBC_2.7", (const char* path, int flags), (path, flags))
HP_OPEN_HOOK(__open64_2, "GLIBC_2.7", (const char* path, int flags), (path, flags))
HP_OPEN_HOOK(__openat_2, "GLIBC_2.7", (int folder, const char* path, int flags), (folder, path, flags))
HP_OPEN_HOOK(__openat64_2, "GLIBC_2.7", (int folder, const char* path, int flags), (folder, path, flags))

// Who may not have it at once waits for another process, or for its threads. Who gives it back, or asks for it only if it
// is free, waits for nobody, however long the call took.
#define HP_LOCK_HOOK(name, versions, params, args, may_wait)                                           \
  HP_DESCRIPTOR_HOOK(int, kLock, name, versions, "fd:i", params) {                                     \
    auto real = libc_target<int(*) params>(g_hook_##name);                                             \
    if (!recording_or_begun(Moment::kAnywhere)) return real args;                                      \
    if (may_wait) return timed_io(g_hook_##name, fd, What::kLock, HP_SITE, [=] { return real args; }); \
    mark_used(g_hook_##name);                                                                          \
    count_quiet();                                                                                     \
    return real args;                                                                                  \
  }

HP_LOCK_HOOK(flock, "GLIBC_2.2.5", (int fd, int operation), (fd, operation), (operation & (LOCK_UN | LOCK_NB)) == 0)
HP_LOCK_HOOK(lockf, "GLIBC_2.2.5", (int fd, int command, off_t bytes), (fd, command, bytes), command == F_LOCK)
HP_LOCK_HOOK(lockf64, "GLIBC_2.2.5", (int fd, int command, off_t bytes), (fd, command, bytes), command == F_LOCK)

// Each under the four names that glibc has for it.
#define HP_VECTOR_HOOK(role, name, versions)                                                              \
  HP_IO_HOOK(kFileOnly, ssize_t, role, name, versions, (int fd, const iovec* parts, int count, off_t at), \
             (fd, parts, count, at))
#define HP_FLAGGED_VECTOR_HOOK(role, name)                 \
  HP_IO_HOOK(kFileOnly, ssize_t, role, name, "GLIBC_2.26", \
             (int fd, const iovec* parts, int count, off_t at, int flags), (fd, parts, count, at, flags))
HP_VECTOR_HOOK(kRead, preadv, "GLIBC_2.10")
HP_VECTOR_HOOK(kRead, preadv64, "GLIBC_2.10")
HP_VECTOR_HOOK(kWrite, pwritev, "GLIBC_2.10")
HP_VECTOR_HOOK(kWrite, pwritev64, "GLIBC_2.10")
HP_FLAGGED_VECTOR_HOOK(kRead, preadv2)
HP_FLAGGED_VECTOR_HOOK(kRead, preadv64v2)
HP_FLAGGED_VECTOR_HOOK(kWrite, pwritev2)
HP_FLAGGED_VECTOR_HOOK(kWrite, pwritev64v2)

// A limit that the kernel must refuse cannot be looked at from here, so this one is timed too, not asked (hooks/poll.cpp).
// glibc 2.34 lacks it, so it is not exported (newer_function.h).
HP_WAIT_ROW_OF(kPoll, epoll_pwait2, "", "fd:i", "name:str")
namespace {
using EpollPwait2 = int (*)(int, struct epoll_event*, int, const timespec*, const sigset_t*);
int wait_for_epoll(int fd, struct epoll_event* events, int most, const timespec* limit, const sigset_t* signals) {
  auto real = target_of<EpollPwait2>(g_hook_epoll_pwait2);
  if (!recording_or_begun(Moment::kAnywhere)) return real(fd, events, most, limit, signals);
  return timed_io(g_hook_epoll_pwait2, fd, What::kRead, HP_SITE,
                  [=] { return real(fd, events, most, limit, signals); });
}
}  // namespace

void hostprobe::probe::hook_newer_functions() {
  stand_in_front_of("epoll_pwait2", "GLIBC_2.35", g_hook_epoll_pwait2, reinterpret_cast<void*>(&wait_for_epoll));
}
