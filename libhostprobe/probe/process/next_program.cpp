// next_program.cpp: see next_program.h. The file is looked at first, by a handful of system calls: most programs are none of
// those that matter here, and only for these is the environment read, by the kernel, as a bad pointer is the kernel's to refuse.
#include "probe/process/next_program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/safe_memory.h"
#include "probe/runtime/sanitizer.h"
#include "probe/runtime/stack_limits.h"

extern char** environ;

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN bool g_left_alone = false;

constexpr std::size_t kLongestPath = 512;
constexpr int kMostInterpreters = 4;  // Linux goes no further from script to script either
constexpr char kName[] = "LD_PRELOAD=";
constexpr char kOurLibrary[] = "libhostprobe.so";
// Between a runtime and what was there before. The loader passes over an empty name, and nobody else writes one.
constexpr char kRuntimeEnd[] = "::";
constexpr std::uint32_t kMostWords = 1024;  // 8 KiB of the stack
constexpr std::size_t kMostBytes = 1024;

// A kernel that does not know the question, or a filter that forbids it, leaves it open.
bool may_be_run_at(int folder, const char* path, int flags) {
  const long at = word_of_pointer(path);
  const long allowed = system_call(SYS_faccessat2, folder, at, X_OK, AT_EACCESS | flags);
  if (allowed < 0) return allowed == -ENOSYS || allowed == -EPERM || allowed == -EINVAL;
  struct statx file {};
  const long known = system_call_of_six(SYS_statx, folder, at, flags, STATX_TYPE, word_of_pointer(&file), 0);
  return known != 0 || S_ISREG(file.stx_mode);
}

// `folder`, of `length`, and `file`. False: it is longer than that.
bool join(const char* folder, std::size_t length, const char* file, char (&path)[kLongestPath]) {
  const std::size_t rest = length_of(file) + 1;
  if (length + 1 + rest > kLongestPath) return false;
  memcpy(path, folder, length);
  if (length != 0) path[length++] = '/';
  memcpy(path + length, file, rest);
  return true;
}

enum class Search : std::uint8_t { kFound, kNone, kTooLong };

// As execvp looks for it. A signal handler's stack may be small.
__attribute__((noinline)) Search search_path(const char* file, char (&path)[kLongestPath]) {
  const char* folders = value_of(environ, "PATH");
  if (folders == nullptr) folders = "/bin:/usr/bin";
  for (;;) {
    const char* end = strchrnul(folders, ':');
    if (!join(folders, static_cast<std::size_t>(end - folders), file, path)) return Search::kTooLong;
    if (may_be_run_at(AT_FDCWD, path, 0)) return Search::kFound;
    if (*end == 0) return Search::kNone;
    folders = end + 1;
  }
}

// It is looked at before it is opened, because opening a pipe or a device is felt by others.
int open_file_at(int folder, const char* path, int flags) {
  struct statx file {};
  const long at = word_of_pointer(path);
  if (system_call_of_six(SYS_statx, folder, at, flags, STATX_TYPE, word_of_pointer(&file), 0) != 0) return -1;
  if (!S_ISREG(file.stx_mode)) return -1;
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if ((flags & AT_EMPTY_PATH) == 0) return static_cast<int>(system_call(SYS_openat, folder, at, kFlags));
  return static_cast<int>(system_call(SYS_fcntl, folder, F_DUPFD_CLOEXEC, 0));
}

int open_program(const ProgramAt& program) {
  if (!program.along_path || strchr(program.path, '/') != nullptr)
    return open_file_at(program.folder, program.path, program.flags);
  char path[kLongestPath];
  return search_path(program.path, path) == Search::kFound ? open_file_at(AT_FDCWD, path, 0) : -1;
}

void read_head(int fd, ProgramHead& head) {
  const auto read = [fd](std::uint64_t offset, void* to, std::size_t bytes) {
    const long got =
        system_call(SYS_pread64, fd, word_of_pointer(to), static_cast<long>(bytes), static_cast<long>(offset));
    return got < 0 ? std::size_t{0} : static_cast<std::size_t>(got);
  };
  read_program_head(read, head);
  system_call(SYS_close, fd, 0);
}

// Through scripts to the program that the kernel starts in the end.
void find_head(const ProgramAt& program, ProgramHead& head) {
  int fd = open_program(program);
  for (int i = 0; fd >= 0 && i <= kMostInterpreters; ++i) {
    read_head(fd, head);
    if (head.kind != ProgramKind::kScript) return;
    fd = open_file_at(AT_FDCWD, head.text, 0);
  }
  head = {};
}

// The length of a text, if it can be read and is shorter than that; else `most`.
std::size_t readable_length(std::uint64_t from, std::size_t most) {
  const Memory memory;
  char part[256];
  for (std::size_t used = 0; used < most;) {
    const std::size_t left = most - used, more = bytes_to_read(from + used, 1, left < sizeof part ? left : sizeof part);
    if (!memory.copy(part, from + used, more)) return most;
    for (std::size_t i = 0; i < more; ++i)
      if (part[i] == 0) return used + i;
    used += more;
  }
  return most;
}

bool is_preload(std::uint64_t word) {
  char start[sizeof kName] = {};
  return Memory().copy(start, word, sizeof kName - 1) && same(start, kName);
}

// Where LD_PRELOAD stands, and how many words there are. False: it does not, or something cannot be read.
bool find_preload(Words environment, PreloadChange& change) {
  const Memory memory;
  bool found = false;
  for (std::uint32_t i = 0; i < kMostWords; ++i) {
    std::uint64_t word = 0;
    if (!memory.copy(&word, reinterpret_cast<std::uint64_t>(environment + i), sizeof word)) return false;
    if (word == 0) {
      change.words = i;
      return found;
    }
    if (found || !is_preload(word)) continue;
    change.place = i;
    found = true;
  }
  return false;
}

bool ends_name(char c) { return c == 0 || c == ':' || c == ' '; }

// Whether the name at `at` is our library's, with or without a folder.
bool is_ours(const char* at) {
  const char* file = at;
  for (const char* c = at; !ends_name(*c); ++c)
    if (*c == '/') file = c + 1;
  const char* rest = after(file, kOurLibrary);
  return rest != nullptr && ends_name(*rest);
}

// What is left of `value` without us; `to` may be null. False: we are not in it.
bool leave_us_out(const char* value, char* to) {
  bool any = false, first = true;
  for (const char* at = value; *at != 0;) {
    std::size_t length = 0;
    while (!ends_name(at[length])) ++length;
    const bool ours = is_ours(at);
    any = any || ours;
    if (!ours && length != 0 && to != nullptr) {
      if (!first) *to++ = ':';
      memcpy(to, at, length);
      to += length;
      first = false;
    }
    at += length + (at[length] != 0 ? 1 : 0);
  }
  if (to != nullptr) *to = 0;
  return any;
}

// As the program's user may have done.
bool begins_with_sanitizer(const char* value) {
  const char* file = value;
  for (const char* c = value; !ends_name(*c); ++c)
    if (*c == '/') file = c + 1;
  return is_sanitizer(file);
}

__attribute__((noinline)) void look_at_program(const ProgramAt& program, Words environment, PreloadChange& change) {
  ProgramHead head;
  find_head(program, head);
  const bool is_first = head.kind == ProgramKind::kAsanFirst;
  if (head.kind != ProgramKind::kMusl && !is_first) return;
  if (is_first && length_of(head.text) >= sizeof change.runtime) return;
  PreloadChange found{};
  if (!find_preload(environment, found)) return;
  const char* value = environment[found.place] + sizeof kName - 1;
  const std::size_t length = readable_length(reinterpret_cast<std::uint64_t>(value), kMostBytes);
  if (length == kMostBytes || !leave_us_out(value, nullptr) || (is_first && begins_with_sanitizer(value))) return;
  if (is_first) copy_string(found.runtime, head.text);
  found.bytes = static_cast<std::uint32_t>(sizeof kName + sizeof found.runtime + sizeof kRuntimeEnd + length);
  change = found;
}

}  // namespace

bool may_be_run(const ProgramAt& program) {
  if (!program.along_path || strchr(program.path, '/') != nullptr)
    return may_be_run_at(program.folder, program.path, program.flags);
  char path[kLongestPath];
  return search_path(program.path, path) != Search::kNone;
}

void find_preload_change(const ProgramAt& program, Words environment, PreloadChange& change) {
  change.words = 0;
  if (g_left_alone || g_options.off) return;
  const int before = errno;
  if (stack_has_room()) look_at_program(program, environment, change);
  errno = before;
}

void make_environment(const PreloadChange& change, Words from, char** to, char* text) {
  const char* value = from[change.place] + sizeof kName - 1;
  copy_string(text, kName);
  char* end = text + sizeof kName - 1;
  if (change.runtime[0] != 0) {
    copy_string(end, change.runtime);
    end += length_of(end);
    copy_string(end, kRuntimeEnd);
    copy_string(end + sizeof kRuntimeEnd - 1, value);
  } else {
    leave_us_out(value, end);
  }
  for (std::uint32_t i = 0; i < change.words; ++i) {
    if (i != change.place)
      *to++ = from[i];
    else if (*end != 0)
      *to++ = text;
  }
  *to = nullptr;
}

void take_runtime_out(char** environment) {
  auto* value = const_cast<char*>(value_of(environment, "LD_PRELOAD"));
  if (value == nullptr || !is_sanitizer(value)) return;
  for (char* c = value; !ends_name(*c) || *c == ':'; ++c) {
    if (*c != ':') continue;
    if (c[1] == ':') copy_string(value, c + 2);
    return;
  }
}

void leave_next_programs_alone() { g_left_alone = true; }

}  // namespace hostprobe::probe
