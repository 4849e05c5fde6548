// target.cpp: see target.h.
#include "probe/process/target.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "probe/intercept/loader.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/rank.h"

namespace hostprobe::probe {
namespace {

// Not pointers: each start would relocate them.
constexpr char kLibraries[][16] = {"libtorch_cpu.so", "libtorch.so", "libnccl.so", "librccl.so"};

// A launcher gives the rank to a shell or wrapper as often as to the program itself: the program comes later.
constexpr char kWrappers[][8] = {"sh",   "bash",    "dash",  "zsh",    "ksh",     "csh",     "tcsh",   "fish", "env",
                                 "time", "nice",    "xargs", "nohup",  "timeout", "taskset", "setsid", "tee",  "sudo",
                                 "srun", "numactl", "ssh",   "stdbuf", "mpirun",  "mpiexec", "orted",  "prted"};

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool is_wrapper_program(const char* program) {
  for (const char* name : kWrappers)
    if (strcmp(base_name(program), name) == 0) return true;
  return false;
}

// Comma-separated globs, on the base name of the executable and of argv[0].
bool matches_list(const char* list, const char* program, const char* name) {
  char glob[256];
  for (const char* at = list; *at != 0;) {
    const char* end = strchrnul(at, ',');
    std::size_t length = static_cast<std::size_t>(end - at);
    if (length != 0 && length < sizeof glob) {
      memcpy(glob, at, length);
      glob[length] = 0;
      if (fnmatch(glob, base_name(program), 0) == 0 || fnmatch(glob, base_name(name), 0) == 0) return true;
    }
    at = *end == 0 ? end : end + 1;
  }
  return false;
}

HP_START_CODE bool was_launched(char** environment) {
  const char* pid = value_of(environment, "HOSTPROBE_LAUNCHED");
  return pid != nullptr && atoi(pid) == getpid();
}

// First `bytes` of a file under /proc; what is longer does not matter here.
std::size_t read_proc(int pid, const char* file, char* out, std::size_t bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t got = read(fd, out, bytes - 1);
  close(fd);
  if (got <= 0) return 0;
  out[got] = 0;
  return static_cast<std::size_t>(got);
}

int parent_of(int pid) {
  char stat[512];
  if (read_proc(pid, "stat", stat, sizeof stat) == 0) return 0;
  const char* after_name = strrchr(stat, ')');
  int parent = 0;
  return after_name != nullptr && sscanf(after_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

bool has_rank(int pid) {
  char environment[32768];
  std::size_t bytes = read_proc(pid, "environ", environment, sizeof environment);
  for (std::size_t at = 0; at < bytes; at += strlen(environment + at) + 1)
    if (says_rank(environment + at)) return true;
  return false;
}

// A rank's children (compilers, trackers, shells) inherit its RANK: only the first program below the launcher is it.
// Shells and wrappers between the two are looked through.
HP_START_CODE bool is_rank(char** environment, const char* program) {
  if (rank_from(environment) < 0 || is_wrapper_program(program)) return false;
  int pid = getppid();
  for (int level = 0; level < 8 && pid > 1; ++level, pid = parent_of(pid)) {
    if (!has_rank(pid)) return true;
    char name[64];
    std::size_t length = read_proc(pid, "comm", name, sizeof name);
    if (length != 0) name[length - 1] = 0;
    if (length == 0 || !is_wrapper_program(name)) return false;
  }
  return true;
}

int find_library(dl_phdr_info* object, size_t, void*) {
  if (object->dlpi_name == nullptr) return 0;
  const char* name = base_name(object->dlpi_name);
  for (const char* library : kLibraries)
    if (strncmp(name, library, strlen(library)) == 0) return 1;
  return 0;
}

}  // namespace

HP_START_CODE Target choose_target(char** environment, const char* program, const char* name) {
  if (same(g_options.target, "all")) return Target::kYes;
  if (!same(g_options.target, "auto"))
    return matches_list(g_options.target, program, name) ? Target::kYes : Target::kNever;
  if (was_launched(environment) || (program != nullptr && is_rank(environment, program))) return Target::kYes;
  return Target::kCandidate;
}

HP_START_CODE bool program_decides(char** environment) {
  return !same(g_options.target, "all") && (!same(g_options.target, "auto") || rank_from(environment) >= 0);
}

bool target_library_loaded() {
  HP_KEPT_BY_CHILDREN static std::atomic<unsigned long long> g_looked_at{0};
  const unsigned long long loaded = load_count();
  if (loaded == g_looked_at.load(std::memory_order_relaxed)) return false;
  LoaderVisit visit;
  if (!visit) return false;
  if (each_object(find_library, nullptr) != 0) return true;
  g_looked_at.store(loaded, std::memory_order_relaxed);
  return false;
}

}  // namespace hostprobe::probe
