// What a look at a living process costs, in reads of its memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

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

}  // namespace
}  // namespace hostprobe::analysis
