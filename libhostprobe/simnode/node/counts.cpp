// The count file: see counts.h for why the digits themselves are the counters.
//
//   {
//   "cuInit":          1,
//   "cuLaunchKernel":         40}     (blanks to the end of the page)
//                    ^8 aligned bytes
//
// A new name is written behind the closing brace first; turning that brace into a comma then publishes it, so a process
// killed at any instant leaves valid JSON but for the few nanoseconds around that one byte.
#include "counts.h"

#include "futex.h"
#include "say.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace simnode {

bool g_counting = false;
std::atomic<Digits*> g_digits[kMaxEntries];

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMaxBytes = 64 * kPageBytes;

struct CountFile {
  char folder[PATH_MAX];
  char* text;
  size_t end;       // one past the closing brace
  size_t capacity;  // bytes the file really has
  int fd;
  bool failed;
};
CountFile g_file;
const char* const* g_names = nullptr;
unsigned g_name_count = 0;
Mutex g_file_mutex;

void give_up(const char* what) {
  say("cannot %s the counts in %s: %s; this process is not counted. Give SIMNODE_COUNTS a writable folder.", what,
      g_file.folder, strerror(errno));
  g_file.failed = true;
}

bool grow(size_t needed) {
  while (g_file.capacity < needed) {
    // Reserved now: a page that the disk has no room for would be a SIGBUS at the store.
    int error = posix_fallocate(g_file.fd, static_cast<off_t>(g_file.capacity), kPageBytes);
    if (error != 0) {
      errno = error;
      give_up("enlarge");
      return false;
    }
    memset(g_file.text + g_file.capacity, ' ', kPageBytes);
    g_file.capacity += kPageBytes;
  }
  return true;
}

bool open_file() {
  if (g_file.text != nullptr) return true;
  if (g_file.failed) return false;
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%d.json", g_file.folder, static_cast<int>(getpid()));
  mkdir(g_file.folder, 0777);
  g_file.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (g_file.fd < 0) return give_up("open"), false;
  void* mapped = mmap(nullptr, kMaxBytes, PROT_READ | PROT_WRITE, MAP_SHARED, g_file.fd, 0);
  if (mapped == MAP_FAILED) return give_up("map"), false;
  g_file.text = static_cast<char*>(mapped);
  if (!grow(kPageBytes)) return false;
  memcpy(g_file.text, "{}", 2);
  g_file.end = 2;
  return true;
}

// Names that other libraries of the node added (simnode.h) follow the driver's own.
std::atomic<const char*> g_added_names[kMaxEntries];

Digits* add_name(unsigned entry) {
  const char* name = entry < g_name_count ? g_names[entry] : g_added_names[entry - g_name_count].load();
  size_t quoted = g_file.end + 2;  // behind newline and quote
  size_t value = (quoted + strlen(name) + 2 + 7) / 8 * 8;
  if (!grow(value + 16)) return nullptr;
  char* text = g_file.text;
  memcpy(text + g_file.end, "\n\"", 2);
  memcpy(text + quoted, name, strlen(name));
  memcpy(text + quoted + strlen(name), "\":", 2);
  memcpy(text + value, "       0}", 9);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (g_file.end == 2) {
    text[1] = ' ';
  } else {
    text[g_file.end - 1] = ',';
  }
  g_file.end = value + 9;
  return reinterpret_cast<Digits*>(text + value);
}

// Decimal addition on the eight characters: trailing nines become zeros, the digit or blank before them goes up by one.
uint64_t incremented(uint64_t text) {
  char characters[8];
  memcpy(characters, &text, 8);
  for (int i = 7; i >= 0; --i) {
    if (characters[i] == '9') {
      characters[i] = '0';
      continue;
    }
    characters[i] = characters[i] == ' ' ? '1' : static_cast<char>(characters[i] + 1);
    break;
  }
  memcpy(&text, characters, 8);
  return text;
}

}  // namespace

void start_counting(const char* folder, const char* const* names, unsigned name_count) {
  g_names = names;
  g_name_count = name_count;
  snprintf(g_file.folder, sizeof g_file.folder, "%s", folder);
  g_counting = true;
}

// Called in a forked child: the mapping and the file belong to the parent.
void forget_counts_of_parent() {
  g_file_mutex.reset();
  for (auto& digits : g_digits) digits.store(nullptr, std::memory_order_relaxed);
  if (g_file.text != nullptr) munmap(g_file.text, kMaxBytes);
  if (g_file.text != nullptr) close(g_file.fd);
  g_file.text = nullptr;
  g_file.capacity = g_file.end = 0;
  g_file.failed = false;
}

void count_slowly(unsigned entry) {
  MutexLock lock(g_file_mutex);
  Digits* digits = g_digits[entry].load(std::memory_order_acquire);
  if (digits == nullptr) {
    if (!open_file()) return;
    digits = add_name(entry);
    if (digits == nullptr) return;
    g_digits[entry].store(digits, std::memory_order_release);
  }
  uint64_t text = digits->load(std::memory_order_relaxed);
  while (!digits->compare_exchange_weak(text, incremented(text), std::memory_order_relaxed)) continue;
}

}  // namespace simnode

extern "C" __attribute__((visibility("default"))) unsigned simnode_add_count(const char* name) {
  using namespace simnode;
  static std::atomic<unsigned> added{0};
  if (name == nullptr) return 0;
  unsigned number = g_name_count + added.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMaxEntries) return 0;
  g_added_names[number - g_name_count].store(name, std::memory_order_release);
  return number;
}

extern "C" __attribute__((visibility("default"))) void simnode_count(unsigned number) {
  if (number != 0) simnode::count(number);
}
