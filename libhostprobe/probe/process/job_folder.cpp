// job_folder.cpp: see job_folder.h. The job's first process is the topmost ancestor that has our library in its LD_PRELOAD; what lies
// between may be of any kind. Ranks that are started one by one, each with the preload and none below another, have their
// launcher as what they share; MASTER_PORT keeps apart what a shell or a test starts one after the other.
#include "probe/process/job_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/record/thread.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/rank.h"
#include "probe/runtime/say.h"
#include "probe/runtime/small_file.h"
#include "probe/writer/file/trace_file.h"

extern char** environ;

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN bool g_is_chosen = false;
HP_OF_PROCESS bool g_speaks = false;

constexpr unsigned kMostAncestors = 32;
constexpr std::uint64_t kTicksPerSecond = 100;  // of /proc, on every x86-64
constexpr std::uint64_t kNsPerSecond = 1000000000;

struct Process {
  int pid = 0;
  int parent = 0;
  std::uint64_t start_ticks = 0;  // since boot
};

bool ask(int pid, Process& process) {
  char path[64], stat[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const char* at = read_small_file(path, stat, sizeof stat) ? strrchr(stat, ')') : nullptr;
  if (at == nullptr) return false;
  process.pid = pid;
  // Behind the name: the state is field 3, the parent 4, the start 22.
  for (int field = 2; field <= 22 && at != nullptr; ++field, at = strchr(at + 1, ' ')) {
    if (field == 4) process.parent = atoi(at);
    if (field == 22) process.start_ticks = strtoull(at, nullptr, 10);
  }
  return process.start_ticks != 0;
}

constexpr std::size_t kEntryBytes = 260;

// What an environment that is read piece by piece says: whether our library is in its LD_PRELOAD, whether it names a rank, and the
// folder that a shell was in.
class EnvironmentSearch {
 public:
  bool has_preload() const { return preload_; }
  const char* folder() const { return folder_; }
  bool has_rank() const { return rank_; }
  void take(char c) {
    if (length_ < sizeof start_ - 1) start_[length_++] = c;
    if (c == 0) return end_entry();
    library_ = c == kLibrary[library_] ? library_ + 1 : c == kLibrary[0] ? 1 : 0;
    if (kLibrary[library_] != 0) return;
    holds_library_ = true;
    library_ = 0;
  }

 private:
  void end_entry() {
    start_[length_] = 0;
    rank_ = rank_ || says_rank(start_);
    if (const char* folder = after(start_, "PWD="); folder != nullptr && length_ < sizeof start_ - 1)
      copy_string(folder_, folder);
    preload_ = preload_ || (holds_library_ && after(start_, "LD_PRELOAD=") != nullptr);
    length_ = library_ = 0;
    holds_library_ = false;
  }

  static constexpr char kLibrary[] = "libhostprobe.so";
  char start_[kEntryBytes] = {}, folder_[kEntryBytes] = {};
  unsigned length_ = 0, library_ = 0;
  bool holds_library_ = false, preload_ = false, rank_ = false;
};

EnvironmentSearch search_environment(int pid) {
  EnvironmentSearch search;
  char path[64], piece[2048];
  snprintf(path, sizeof path, "/proc/%d/environ", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return search;
  for (long got; (got = system_call(SYS_read, fd, word_of_pointer(piece), sizeof piece)) > 0;)
    for (long i = 0; i < got; ++i) search.take(piece[i]);
  close(fd);
  return search;
}

struct Job {
  Process self, first;
  int ancestors[kMostAncestors];
  unsigned ancestor_count = 0;
  bool is_shared = false;         // `first` is the launcher, and not of the job itself
  char folder[kEntryBytes] = {};  // that `first` was started in, if a shell started it
};

bool find_job(Job& job) {
  if (!ask(getpid(), job.self)) return false;
  job.first = job.self;
  bool is_rank = job_rank_from(environ) >= 0;
  Process at = job.self;
  while (at.parent > 0 && job.ancestor_count < kMostAncestors && ask(at.parent, at)) {
    job.ancestors[job.ancestor_count++] = at.pid;
    const EnvironmentSearch search = search_environment(at.pid);
    if (!search.has_preload()) continue;
    job.first = at;
    is_rank = search.has_rank();
    copy_string(job.folder, search.folder());
  }
  if (!is_rank || world_size_from(environ) < 2 || !ask(job.first.parent, at)) return true;
  job.first = at;
  job.is_shared = true;
  return true;
}

// "20261125T171256Z". Not by libc, whose gmtime_r takes a lock.
void write_utc(std::uint64_t seconds, char (&out)[32]) {
  const std::uint64_t days = seconds / 86400, rest = seconds % 86400;
  // The days since 1 March 0000, in eras of 400 years (a well-known algorithm of H. Hinnant).
  const std::uint64_t z = days + 719468, era = z / 146097, day_of_era = z % 146097;
  const std::uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::uint64_t shifted = (5 * day_of_year + 2) / 153, month = shifted < 10 ? shifted + 3 : shifted - 9;
  snprintf(out, sizeof out, "%04u%02u%02uT%02u%02u%02uZ",
           static_cast<unsigned>(year_of_era + era * 400 + (month <= 2 ? 1 : 0)) % 10000u,
           static_cast<unsigned>(month) % 100u, static_cast<unsigned>(day_of_year - (153 * shifted + 2) / 5 + 1) % 100u,
           static_cast<unsigned>(rest / 3600) % 100u, static_cast<unsigned>(rest / 60 % 60) % 100u,
           static_cast<unsigned>(rest % 60) % 100u);
}

void write_id(const Job& job, char (&out)[64]) {
  const char* port = job.is_shared ? value_of(environ, "MASTER_PORT") : nullptr;
  snprintf(out, sizeof out, "-%d-%llu%s%.0d", job.first.pid, static_cast<unsigned long long>(job.first.start_ticks),
           port != nullptr ? "-" : "", port != nullptr ? atoi(port) : 0);
}

void write_name(const Job& job, const char* id, char (&out)[96]) {
  const std::uint64_t since_boot_ns = read_clock_ns(CLOCK_BOOTTIME), now_ns = read_clock_ns(CLOCK_REALTIME);
  char utc[32];
  write_utc((now_ns - since_boot_ns) / kNsPerSecond + job.first.start_ticks / kTicksPerSecond, utc);
  snprintf(out, sizeof out, "%s%s", utc, id);
}

bool ends_with(const char* text, const char* end) {
  const std::size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

// Calls `take(name)` for each name in a folder until it says true.
template <class Take>
bool any_name(const char* folder, Take take) {
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  alignas(dirent64) char names[2048];
  bool found = false;
  for (ssize_t got; !found && (got = getdents64(fd, names, sizeof names)) > 0;) {
    for (ssize_t i = 0; i < got && !found;) {
      const auto* each = reinterpret_cast<const dirent64*>(names + i);
      found = take(each->d_name);
      i += each->d_reclen;
    }
  }
  close(fd);
  return found;
}

// The clock that names the folder may be set while the job runs, so a folder that has the id is the job's whatever its time.
bool is_there(const char* base, const char* id, char (&name)[96]) {
  return any_name(base, [&](const char* each) {
    if (!ends_with(each, id) || strlen(each) >= sizeof name) return false;
    copy_string(name, each);
    return true;
  });
}

// The default folder below `folder`. False: it does not fit.
bool default_below(const char* folder, char (&base)[kTextBytes]) {
  const char* own = strrchr(g_options.out, '/');
  if (own == nullptr || folder[0] != '/' || strlen(folder) + strlen(own) >= sizeof base) return false;
  copy_string(base, folder);
  copy_string(base + (folder[1] == 0 ? 0 : strlen(folder)), own);
  return true;
}

// Where the job's first process is, wherever that has started the others; it may have gone elsewhere since the folder was made.
void find_folder(const Job& job, char (&base)[kTextBytes], char (&name)[96]) {
  char id[64], path[64], folder[kTextBytes] = {};
  write_id(job, id);
  snprintf(path, sizeof path, "/proc/%d/cwd", job.first.pid);
  const bool is_other = !job.is_shared && job.first.pid != job.self.pid;
  if (is_other && readlink(path, folder, sizeof folder - 1) > 0) {
    if (default_below(folder, base) && is_there(base, id, name)) return;
    if (default_below(job.folder, base) && is_there(base, id, name)) return;
  }
  if (folder[0] == 0 || !default_below(folder, base)) copy_string(base, g_options.out);
  if (!is_there(base, id, name)) write_name(job, id, name);
}

// "host-PID-START.hptrace"; 0: another file.
int pid_of_trace(const char* name) {
  if (!ends_with(name, kFileSuffix)) return 0;
  const char* dash = strrchr(name, '-');
  while (dash != nullptr && dash > name && *--dash != '-') {
  }
  return dash == nullptr || *dash != '-' ? 0 : atoi(dash + 1);
}

bool is_stderr_of(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/2", pid);
  struct stat theirs, ours;
  return stat(path, &theirs) == 0 && fstat(STDERR_FILENO, &ours) == 0 && theirs.st_dev == ours.st_dev &&
         theirs.st_ino == ours.st_ino;
}

// Whoever is below a process that records leaves it to that. Where standard error is not the job's own, somebody may read it who
// asked for something else.
bool may_speak(const Job& job, bool made) {
  const int rank = job_rank_from(environ);
  bool below = false, others = false, own = false;
  any_name(g_options.out, [&](const char* name) {
    const int pid = pid_of_trace(name);
    for (unsigned i = 0; i < job.ancestor_count; ++i) below = below || pid == job.ancestors[i];
    own = own || pid == job.self.pid;  // of the program that this process was before an exec
    others = others || (pid != 0 && pid != job.self.pid);
    return below;
  });
  const bool is_first = made || (own && !others);
  if (below || rank > 0 || (rank < 0 && !is_first)) return false;
  return job.is_shared || job.first.pid == job.self.pid || is_stderr_of(job.first.pid);
}

}  // namespace

void choose_job_folder() {
  if (g_is_chosen || out_is_given()) return;
  g_is_chosen = true;
  Job job;
  if (!find_job(job)) return;
  char base[kTextBytes], name[96];
  find_folder(job, base, name);
  const std::size_t length = strlen(base);
  if (length + 1 + strlen(name) >= kTextBytes) return;
  copy_string(g_options.out, base);
  mkdir(base, 0777);
  g_options.out[length] = '/';
  copy_string(g_options.out + length + 1, name);
  const bool made = mkdir(g_options.out, 0777) == 0;
  g_speaks = may_speak(job, made);
}

void say_job_folder() {
  if (g_speaks && g_header.file_errno == 0) say("recorded; next: hostprobe report %s", g_options.out);
  g_speaks = false;
}

}  // namespace hostprobe::probe
