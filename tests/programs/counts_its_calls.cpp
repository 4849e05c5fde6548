// counts_its_calls THREADS CALLS PER_MS [names | frames | refuse ERRNO]: every thread makes that many calls that each leave a
// record: PER_MS of them a millisecond, or as fast as it can (0). They are waits of 4 µs; with `names`, which can be far
// more, the thread names itself. With `frames` the process has registered unwind tables, as compilers at run time do, so
// that libgcc's unwinder takes a lock, of which nothing may be seen. With `refuse`, once half of the calls are made a seccomp filter lets no thread of
// the process, the probe's included, write with pwritev any more: a full quota, a failing disk. Tells `records`, how many
// the probe has made or lost if nothing is missing.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>

#include "victim.h"

static long g_calls, g_per_ms;
static bool g_names;
static std::atomic<long> g_made, g_done;
static std::atomic<bool> g_go;

// Not by syscall(): the probe would see it, and end its trace before the program restricts itself.
static long restrict_all_threads(const sock_fprog* program) {
  return bare_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, reinterpret_cast<long>(program));
}

static void refuse_writes(unsigned error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || restrict_all_threads(&program) != 0) _exit(124);
}

// One function of one byte: a head (CIE) and an entry (FDE), and the word of zeros that ends a table.
struct __attribute__((packed)) UnwindTable {
  struct __attribute__((packed)) {
    uint32_t length = 12, id = 0;
    uint8_t version = 1, augmentation = 0, code_align = 1, data_align = 0x78, return_register = 16, nops[3] = {};
  } head;
  struct __attribute__((packed)) {
    uint32_t length = 20, to_head = 20;
    uint64_t begin, bytes = 1;
  } entry;
  uint32_t end = 0;
};

extern "C" void __register_frame(void*);

static void register_frames() {
  static UnwindTable table;
  table.entry.begin = reinterpret_cast<uint64_t>(&table);
  __register_frame(&table);
}

static long now_ms() {
  const timespec now = soon(CLOCK_MONOTONIC, 0);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// sem_timedwait with a limit that has passed: a wait that fails, so it is always recorded.
static void make_call(sem_t& never) {
  const timespec passed = {1, 0};
  if (g_names) {
    if (prctl(PR_SET_NAME, "counting", 0, 0, 0) != 0) abort();
  } else if (sem_timedwait(&never, &passed) == 0 || errno != ETIMEDOUT) {
    abort();
  }
}

static void* make_calls(void*) {
  sem_t never;
  sem_init(&never, 0, 0);
  while (!g_go) nap();
  const long begin = now_ms();
  for (long i = 0; i < g_calls; ++i) {
    while (g_per_ms != 0 && i >= g_per_ms * (now_ms() - begin + 1)) nap();
    make_call(never);
    if (i % 64 == 0) g_made += 64;
  }
  ++g_done;
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const long threads = atoi(argv[1]);
  g_calls = atol(argv[2]);
  g_per_ms = atol(argv[3]);
  g_names = argc > 4 && strcmp(argv[4], "names") == 0;
  if (argc > 4 && strcmp(argv[4], "frames") == 0) register_frames();
  for (long i = 0; i < threads; ++i) pthread_detach(start(make_calls));
  g_go = true;
  if (argc > 5) {
    while (g_made < threads * g_calls / 2) nap();
    refuse_writes(static_cast<unsigned>(atoi(argv[5])));
  }
  while (g_done != threads) nap();
  printf("%ld calls\n", threads * g_calls);
  tell("records %ld", threads * g_calls + threads);  // and a pthread_create each
}
