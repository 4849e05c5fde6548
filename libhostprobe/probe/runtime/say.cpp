// say.cpp: see say.h.
#include "probe/runtime/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

constexpr int kMostLines = 16;
HP_KEPT_BY_CHILDREN std::atomic<int> g_lines{0};
HP_START_DATA dev_t g_stderr_device = 0;
HP_START_DATA ino_t g_stderr_inode = 0;
HP_START_DATA bool g_stderr_known = false;

bool stderr_is_the_same() {
  struct stat now;
  return g_stderr_known && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == g_stderr_device &&
         now.st_ino == g_stderr_inode;
}

constexpr unsigned long bit_of(int signal) { return 1ul << (signal - 1); }

unsigned long pending_signals() {
  unsigned long pending = 0;
  system_call(SYS_rt_sigpending, word_of_pointer(&pending), sizeof pending);
  return pending;
}

// Standard error may be a pipe that nobody reads any more, a file at its limit of size, or a terminal that another job has:
// what the kernel sends for that, it sends to the calling thread, and the program must not see it.
class WithoutSignalsOfWriting {
 public:
  WithoutSignalsOfWriting() {
    unsigned long signals = kSignals;
    system_call(SYS_rt_sigprocmask, SIG_BLOCK, word_of_pointer(&signals), word_of_pointer(&before_), sizeof before_);
    pending_before_ = pending_signals();
  }
  ~WithoutSignalsOfWriting() {
    for (unsigned long ours; (ours = pending_signals() & kSignals & ~pending_before_) != 0;) {
      timespec none{0, 0};
      if (system_call(SYS_rt_sigtimedwait, word_of_pointer(&ours), 0, word_of_pointer(&none), sizeof ours) < 0) break;
    }
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, word_of_pointer(&before_), 0, sizeof before_);
  }
  WithoutSignalsOfWriting(const WithoutSignalsOfWriting&) = delete;
  WithoutSignalsOfWriting& operator=(const WithoutSignalsOfWriting&) = delete;

 private:
  static constexpr unsigned long kSignals = bit_of(SIGPIPE) | bit_of(SIGXFSZ) | bit_of(SIGTTOU);
  unsigned long before_ = 0;
  unsigned long pending_before_ = 0;
};

}  // namespace

HP_START_CODE void remember_stderr() {
  struct stat now;  // the kernel's own form too
  g_stderr_known = system_call(SYS_fstat, STDERR_FILENO, word_of_pointer(&now)) == 0;
  if (!g_stderr_known) return;
  g_stderr_device = now.st_dev;
  g_stderr_inode = now.st_ino;
}

// Not into a full pipe: whoever should read it may wait for the program. By system calls: writev and poll are hooked, and
// this is not the program's.
void write_to_stderr(const iovec* parts, unsigned count) {
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (poll_at_once(&room, 1) != 1 || (room.revents & POLLOUT) == 0) return;
  WithoutSignalsOfWriting without;
  system_call(SYS_writev, STDERR_FILENO, word_of_pointer(parts), count);
}

void say(const char* format, ...) {
  if (g_lines.fetch_add(1, std::memory_order_relaxed) >= kMostLines) return;
  int saved = errno;
  if (stderr_is_the_same()) {
    char line[768];
    int used = snprintf(line, sizeof line, "hostprobe[%d]: ", static_cast<int>(getpid()));
    va_list list;
    va_start(list, format);
    int more = vsnprintf(line + used, sizeof line - static_cast<unsigned>(used) - 1, format, list);
    va_end(list);
    int most = static_cast<int>(sizeof line) - 2;
    int length = more < 0 ? used : (used + more > most ? most : used + more);
    line[length] = '\n';
    const iovec whole{line, static_cast<unsigned>(length) + 1};
    write_to_stderr(&whole, 1);
  }
  errno = saved;
}

}  // namespace hostprobe::probe
