// watching_allocator: an allocator in front of libc's, as jemalloc is one, that says at the end on standard error whether a thread which
// goes by the name of hostprobe's own asked it for memory. Whoever does may wait for whatever lock such an allocator holds.
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <atomic>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
}

namespace {

std::atomic<bool> g_asked{false};

// A thread is made under its maker's name, so it is asked again and again.
void look() {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  if (strncmp(name, "hostprobe", 9) == 0) g_asked = true;
}

// Not at once: that thread has descriptors of its own.
__attribute__((destructor)) void tell() {
  constexpr char kWords[] = "watching allocator: hostprobe asked for memory\n";
  if (g_asked) (void)!write(STDERR_FILENO, kWords, sizeof kWords - 1);
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  look();
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  look();
  return __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* old, size_t bytes) {
  look();
  return __libc_realloc(old, bytes);
}
}
