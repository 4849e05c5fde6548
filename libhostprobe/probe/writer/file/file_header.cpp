// file_header.cpp: see file_header.h. Everything comes from /proc and the environment, without allocation.
#include "probe/writer/file/file_header.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "probe/record/chunk.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/rank.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

void copy_text(char* out, std::size_t bytes, const char* text) {
  std::size_t length = strnlen(text, bytes - 1);
  memcpy(out, text, length);
  out[length] = 0;
}

std::size_t read_file(const char* path, char* out, std::size_t bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t got = read(fd, out, bytes - 1);
  close(fd);
  out[got > 0 ? got : 0] = 0;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

void fill_command(FileHeader& h) {
  std::size_t length = read_file("/proc/self/cmdline", h.command, sizeof h.command);
  for (std::size_t i = 0; i + 1 < length; ++i)
    if (h.command[i] == 0) h.command[i] = ' ';
}

// A forked child has these from its parent, which cannot be said of the command: programs write other titles there.
void fill_program(FileHeader& h) {
  HP_KEPT_BY_CHILDREN static char g_program[sizeof h.program];
  if (g_program[0] == 0) {
    ssize_t length = readlink("/proc/self/exe", g_program, sizeof g_program - 1);
    g_program[length > 0 ? length : 0] = 0;
  }
  memcpy(h.program, g_program, sizeof h.program);
}

void fill_boot_id(FileHeader& h) {
  HP_KEPT_BY_CHILDREN static char g_boot_id[sizeof h.boot_id];
  if (g_boot_id[0] == 0) {
    std::size_t length = read_file("/proc/sys/kernel/random/boot_id", g_boot_id, sizeof g_boot_id);
    if (length != 0 && g_boot_id[length - 1] == '\n') g_boot_id[length - 1] = 0;
  }
  memcpy(h.boot_id, g_boot_id, sizeof h.boot_id);
}

// More CPUs than the set has room for are not counted.
std::uint64_t usable_cpus() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? static_cast<std::uint64_t>(CPU_COUNT(&cpus)) : 0;
}

const char* job_id(char** environment) {
  if (strcmp(g_options.job, "auto") != 0) return g_options.job;
  const char* said = job_id_from(environment);
  return said != nullptr ? said : "";
}

}  // namespace

void fill_file_header(char** environment) {
  FileHeader& h = g_header;
  memset(&h, 0, sizeof h);
  h.magic = kFileMagic;
  h.version = kFileVersion;
  h.header_bytes = kFileHeaderBytes;
  h.state = kFileOpen;
  h.pid = static_cast<std::uint32_t>(getpid());
  h.parent_pid = static_cast<std::uint32_t>(getppid());
  h.forked_from = forked_from();
  h.rank = job_rank_from(environment);
  h.local_rank = local_rank_from(environment);
  h.world_size = world_size_from(environment);
  h.incarnation = static_cast<std::uint64_t>(restarts_from(environment) + 1);
  h.cpus = usable_cpus();
  h.segment_id = g_segment.id;
  h.cookie = g_segment.header->cookie;
  h.start = load_clock();
  h.first = h.last = read_clock_pair();
  h.steps = static_cast<std::uint32_t>(g_options.steps);
  h.architecture = kArchitecture;
  h.invariant_ticks = counter_is_invariant();
  copy_text(h.mode, sizeof h.mode, mode_name());
  copy_text(h.hostprobe_version, sizeof h.hostprobe_version, HOSTPROBE_VERSION);
  copy_text(h.hostprobe_commit, sizeof h.hostprobe_commit, HOSTPROBE_COMMIT);
  copy_text(h.out, sizeof h.out, g_options.out);
  copy_text(h.job, sizeof h.job, job_id(environment));
  fill_boot_id(h);
  fill_program(h);
  fill_command(h);
}

}  // namespace hostprobe::probe
