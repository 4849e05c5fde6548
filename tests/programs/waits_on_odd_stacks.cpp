// waits_on_odd_stacks KIND: waits of two milliseconds on stacks that no debugger would like, of each kind that it is told:
//   context   of makecontext, with garbage above its first frame
//   garbage   made by hand, its outermost return address is no address
//   unmapped  … in memory that is not there
//   words     … in a library's data
//   heap      … in memory that is no code
//   plain     … in code that has no unwind tables
//   moved     … gone as soon as it was reached: the stack ends with its last frame, at the end of its memory
//   jumped    a thread's, left by longjmp while a coroutine was in the middle of it
//   small     a thread's of PTHREAD_STACK_MIN
//   circle    frames that point at each other
//   deep      the first thread's, below all that it ever used
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>

#include "victim.h"

static constexpr size_t kBytes = 64 * 1024;
static sem_t g_never;
static int g_waits;

__attribute__((noinline)) static void wait_long(int count) {
  for (int i = 0; i < count; ++i) {
    wait_a_moment(&g_never, 2000000);
    ++g_waits;
  }
}

static char* new_memory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  return static_cast<char*>(memory);
}

// Fills memory with what looks like addresses and is none.
static void litter(char* memory, size_t bytes) {
  uint64_t word = 0x123456789abcdef1;
  for (size_t at = 0; at + 8 <= bytes; at += 8, word = word * 6364136223846793005u + 1442695040888963407u) {
    const uint64_t value = word >> 17;
    memcpy(memory + at, &value, 8);
  }
}

// ---- stacks made by hand ----

extern "C" {
void switch_to(void* stack, void** mine) asm("switch_to");
void switch_back(void* mine) asm("switch_back");
void no_tables() asm("no_tables");
void on_made_stack() asm("on_made_stack");
void* g_back;
}

// switch_to(stack, mine): leaves this stack, which `mine` then says, and goes to the function whose address lies on the other,
// as if called from the address above. Without unwind tables, as people write it.
#if defined(__x86_64__)
asm(R"(
.text
.globl switch_to
.type switch_to, @function
switch_to:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rsi)
  movq %rdi, %rsp
  ret
.globl switch_back
.type switch_back, @function
switch_back:
  movq %rdi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.globl no_tables
.type no_tables, @function
no_tables:
  nop
  nop
  ret
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl switch_to
.type switch_to, @function
switch_to:
  stp x19, x20, [sp, -160]!
  stp x21, x22, [sp, 16]
  stp x23, x24, [sp, 32]
  stp x25, x26, [sp, 48]
  stp x27, x28, [sp, 64]
  stp x29, x30, [sp, 80]
  stp d8, d9, [sp, 96]
  stp d10, d11, [sp, 112]
  stp d12, d13, [sp, 128]
  stp d14, d15, [sp, 144]
  mov x16, sp
  str x16, [x1]
  ldp x16, x30, [x0]
  add sp, x0, 16
  br x16
.globl switch_back
.type switch_back, @function
switch_back:
  mov sp, x0
  ldp x21, x22, [sp, 16]
  ldp x23, x24, [sp, 32]
  ldp x25, x26, [sp, 48]
  ldp x27, x28, [sp, 64]
  ldp x29, x30, [sp, 80]
  ldp d8, d9, [sp, 96]
  ldp d10, d11, [sp, 112]
  ldp d12, d13, [sp, 128]
  ldp d14, d15, [sp, 144]
  ldp x19, x20, [sp], 160
  ret
.globl no_tables
.type no_tables, @function
no_tables:
  nop
  nop
  ret
)");
#endif

void on_made_stack() {
  wait_long(3);
  switch_back(g_back);
}

// on_made_stack, "called" from `caller`, with `rest` bytes of the stack above.
static void run_on(char* memory, uint64_t caller, size_t rest) {
  litter(memory, kBytes);
  // As after a call: above its return address the stack is at a multiple of 16.
  const size_t at = (kBytes - std::max<size_t>(rest, 16)) / 16 * 16;
  auto* words = reinterpret_cast<uint64_t*>(memory + at);
  words[0] = reinterpret_cast<uint64_t>(on_made_stack);
  words[1] = caller;
  switch_to(words, &g_back);
}

static void garbage() { run_on(new_memory(kBytes), 0xdeadbeefdeadbeef, 1024); }

static void unmapped() {
  char* memory = new_memory(kBytes);
  char* gone = new_memory(kBytes);
  munmap(gone, kBytes);
  run_on(memory, reinterpret_cast<uint64_t>(gone) + 100, 1024);
}

static void words() { run_on(new_memory(kBytes), reinterpret_cast<uint64_t>(stderr) + 8, 1024); }

static void heap() {
  char* memory = new_memory(kBytes);
  litter(memory, kBytes);
  run_on(new_memory(kBytes), reinterpret_cast<uint64_t>(memory) + 4096, 1024);
}

static void plain() { run_on(new_memory(kBytes), reinterpret_cast<uint64_t>(no_tables) + 1, 1024); }

// The frame of main() is taken for the caller's, whose unwinding then reads far above the stack's end.
static void moved() {
  char* memory = new_memory(kBytes + 4096);
  mprotect(memory + kBytes, 4096, PROT_NONE);
  run_on(memory, reinterpret_cast<uint64_t>(__builtin_return_address(0)), 16);
}

static void circle() {
  char* memory = new_memory(kBytes);
  auto* end = reinterpret_cast<uint64_t*>(memory + kBytes - 1024);
  for (int i = -64; i < 64; ++i) end[i] = reinterpret_cast<uint64_t>(&end[i - 8]);
  run_on(memory, reinterpret_cast<uint64_t>(__builtin_return_address(0)), 1024);
}

// ---- stacks of libc's ----

static ucontext_t g_main, g_coroutine;

static void in_context() {
  wait_long(3);
  swapcontext(&g_coroutine, &g_main);
}

static void context() {
  char* memory = new_memory(kBytes);
  litter(memory, kBytes);
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = memory;
  g_coroutine.uc_stack.ss_size = kBytes - 4096;
  g_coroutine.uc_link = &g_main;
  makecontext(&g_coroutine, in_context, 0);
  swapcontext(&g_main, &g_coroutine);
}

static jmp_buf g_there, g_here;

static void stay_below() {
  char room[4096];
  litter(room, sizeof room);
  asm volatile("" : : "r"(room) : "memory");
  if (_setjmp(g_there) == 0) _longjmp(g_here, 1);
  wait_long(3);
  _longjmp(g_here, 2);
}

// Returns to a frame whose caller has gone on meanwhile, as the oldest coroutines did.
static void jumped() {
  const int turn = _setjmp(g_here);
  if (turn == 0) {
    char room[16384];
    asm volatile("" : : "r"(room) : "memory");
    stay_below();
  }
  if (turn == 1) _longjmp(g_there, 1);
}

static void* in_small_thread(void*) {
  wait_long(3);
  return nullptr;
}

static void small() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<size_t>(sysconf(_SC_THREAD_STACK_MIN)));
  pthread_t thread;
  if (pthread_create(&thread, &attributes, in_small_thread, nullptr) != 0) abort();
  pthread_join(thread, nullptr);
}

static void deep() {
  auto* room = static_cast<char*>(__builtin_alloca(1 << 20));
  room[0] = 1;
  asm volatile("" : : "r"(room) : "memory");
  wait_long(3);
  asm volatile("" : : "r"(room) : "memory");
}

struct Kind {
  const char* name;
  void (*run)();
};
static const Kind kKinds[] = {{"context", context}, {"garbage", garbage}, {"unmapped", unmapped}, {"words", words},
                              {"heap", heap},       {"plain", plain},     {"moved", moved},       {"circle", circle},
                              {"jumped", jumped},   {"small", small},     {"deep", deep}};

int main(int argc, char** argv) {
  sem_init(&g_never, 0, 0);
  // Whoever watches may do it in a thread of its own: it gets time to begin.
  pthread_join(start([](void*) -> void* { return nullptr; }), nullptr);
  for (int i = 0; i < 2000; ++i) nap();
  for (int i = 1; i < argc; ++i) {
    for (const Kind& kind : kKinds)
      if (strcmp(kind.name, argv[i]) == 0) kind.run();
    printf("%s: %d waits\n", argv[i], g_waits);
  }
}
