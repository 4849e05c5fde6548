// driver_leaves HOW: launches a kernel 2000 times into two streams and ends at once, in one of many ways, without waiting for any of
// it. `late_errors`: launches into a stream that is none, and tells which calls said so; `forks`: and a child launches as well.
// BATCHED: waits until launches are batched.
#include <sys/wait.h>

#include "driver_random.h"

extern char** environ;

namespace {

constexpr int kLaunches = 2000;

CUresult launch(CUfunction function, CUstream stream) {
  return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

void launch_all(const Stream& one, const Stream& other) {
  for (int i = 0; i < kLaunches; ++i) MUST(launch(g_contexts[0].nothing, i % 2 == 0 ? one.handle : other.handle));
}

// Once, by the first call that may tell; from then on all is well.
void make_errors(const Stream& stream) {
  CUstream none = reinterpret_cast<CUstream>(std::uintptr_t{0x1000});
  for (const char* call : {"context", "stream", "event", "copy"}) {
    CUevent event;
    std::uint64_t word;
    MUST(cuEventCreate(&event, CU_EVENT_DEFAULT));
    MUST(cuEventRecord(event, stream.handle));
    MUST(cuEventSynchronize(event));
    for (int i = 0; i < 20; ++i) MUST(launch(g_contexts[0].nothing, stream.handle));
    const CUresult at_once = launch(g_contexts[0].nothing, none);
    const auto ask = [&] {
      return *call == 'c' && call[2] == 'n' ? cuCtxSynchronize()
             : *call == 's'                 ? cuStreamSynchronize(stream.handle)
             : *call == 'e'                 ? cuEventSynchronize(event)
                                            : cuMemcpyDtoH(&word, stream.memory, 8);
    };
    const CUresult first = ask(), second = ask();
    tell("%s %d %d %d", call, at_once, first, second);
    MUST(cuEventDestroy(event));
  }
}

void leave(const std::string& how, char** words) {
  if (how == "_exit") _exit(3);
  if (how == "quick_exit") quick_exit(3);
  if (how == "exit") exit(3);
  if (how == "killed") {
    usleep(500000);
    kill(getpid(), SIGKILL);
  }
  if (how != "exec") return;
  setenv("LEFT", "1", 1);
  execve("/proc/self/exe", words, environ);
}

void fork_and_launch(const Stream& stream) {
  const pid_t child = fork();
  if (child == 0) {
    const CUresult answer = launch(g_contexts[0].nothing, stream.handle);
    _exit(answer == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("the child ended with %d\n", status);
}

}  // namespace

int main(int count, char** words) {
  const std::string how = count > 1 ? words[1] : "return";
  if (getenv("LEFT") != nullptr) return 3;
  make_contexts();
  if (getenv("BATCHED") != nullptr) await_launcher();
  const Stream one = make_stream(g_contexts[0], 0, false), other = make_stream(g_contexts[0], 1, false);
  MUST(cuCtxSynchronize());
  if (how == "late_errors") {
    make_errors(one);
    return 0;
  }
  launch_all(one, other);
  if (how == "forks") fork_and_launch(one);
  leave(how, words);
  return 3;
}
