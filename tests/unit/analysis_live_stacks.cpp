// What a look at a living process costs, in reads of its memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "live/limited_sleep.h"
#include "live/process_memory.h"
#include "live/process_stacks.h"

namespace hostprobe::analysis {
namespace {

// Half of the threads run Python, of the other half the interpreter knows nothing, as of those of a math library.
constexpr char kProgram[] = R"(
import ctypes, sys, threading
libc, lock, half = ctypes.CDLL(None), threading.Lock(), int(sys.argv[1]) // 2
lock.acquire()
def deeper(frames):
    return deeper(frames - 1) if frames else lock.acquire()
for _ in range(half):
    threading.Thread(target=deeper, args=(10,), daemon=True).start()
    libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, ctypes.cast(libc.sleep, ctypes.c_void_p), ctypes.c_void_p(1000))
print("ready", flush=True)
lock.acquire()
)";

// It ends with this process.
class PythonWithThreads {
 public:
  explicit PythonWithThreads(const std::string& threads) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], 1);
      execl("/usr/bin/python3", "python3", "-c", kProgram, threads.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    char ready[8];
    is_ready_ = read(ends[0], ready, sizeof ready) > 0;
    close(ends[0]);
  }
  ~PythonWithThreads() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  PythonWithThreads(const PythonWithThreads&) = delete;
  PythonWithThreads& operator=(const PythonWithThreads&) = delete;
  pid_t pid() const { return pid_; }
  bool is_ready() const { return is_ready_; }

 private:
  pid_t pid_ = -1;
  bool is_ready_ = false;
};

std::uint64_t reads_of_a_look(const std::string& threads, std::size_t python_threads) {
  PythonWithThreads python(threads);
  EXPECT_TRUE(python.is_ready());
  const std::uint64_t before = ProcessMemory::reads();
  const StacksAnswer answer = stacks_of_process(python.pid());
  const std::uint64_t reads = ProcessMemory::reads() - before;
  std::size_t deep = 0;
  for (const ThreadStack& thread : answer.processes.at(0).threads) deep += thread.python.size() >= 11 ? 1 : 0;
  EXPECT_EQ(deep, python_threads);
  return reads;
}

TEST(LiveStacks, ALookTakesAFewReadsForEachThreadMore) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  const std::uint64_t few = reads_of_a_look("8", 4), many = reads_of_a_look("168", 84);
  EXPECT_LE(many - few, 160u * 10) << few << " and " << many;
}

constexpr timeval kLimit{60, 0};

// One end of a connection: nothing comes from the other, and nothing more goes into it.
int full_socket() {
  int ends[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) setsockopt(ends[0], SOL_SOCKET, option, &kLimit, sizeof kLimit);
  const char bytes[4096] = {};
  while (send(ends[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
  return ends[0];
}

void reads_into_pieces() {
  char bytes[8];
  iovec piece{bytes, sizeof bytes};
  (void)!readv(full_socket(), &piece, 1);
}
void writes() { (void)!write(full_socket(), "x", 1); }
void writes_pieces() {
  iovec piece{const_cast<char*>("x"), 1};
  (void)!writev(full_socket(), &piece, 1);
}
void sends_messages() {
  iovec piece{const_cast<char*>("x"), 1};
  mmsghdr message{};
  message.msg_hdr.msg_iov = &piece;
  message.msg_hdr.msg_iovlen = 1;
  sendmmsg(full_socket(), &message, 1, 0);
}
// Nobody accepts, and one connection may wait for that.
void connects() {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "hostprobe-connects-%d", getpid());
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  bind(listener, address, sizeof name);
  listen(listener, 0);
  for (;;) {
    const int one = socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(one, SOL_SOCKET, SO_SNDTIMEO, &kLimit, sizeof kLimit);
    connect(one, address, sizeof name);
  }
}

class LimitedCall : public testing::TestWithParam<void (*)()> {};

// A stop ends each of these with EINTR, and made again it would wait for all of its limit.
TEST_P(LimitedCall, IsKnownForASleepThatNoStopMayBreak) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    GetParam()();
    _exit(0);
  }
  bool is_known = false;
  for (int i = 0; i < 2000 && !is_known; ++i) {
    is_known = limited_sleep_of(child, child).has_value();
    if (!is_known) usleep(5000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_known);
}

INSTANTIATE_TEST_SUITE_P(LiveStacks, LimitedCall,
                         testing::Values(reads_into_pieces, writes, writes_pieces, sends_messages, connects));

}  // namespace
}  // namespace hostprobe::analysis
