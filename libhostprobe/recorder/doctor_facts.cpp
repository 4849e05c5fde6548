// doctor_facts.cpp: see doctor.h. A filter of system calls may end a process for a question, so a child puts it.
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bpf_problem.h"
#include "doctor.h"
#include "tracefs.h"

namespace hostprobe::kernel {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

int number_of(const std::string& path) {
  const std::string text = text_of(path);
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  return end == text.c_str() ? kNotThere : static_cast<int>(number);
}

// What `ask` returns in a child, an error number.
template <typename Ask>
int asked_by_child(Ask ask) {
  const pid_t child = fork();
  if (child == 0) _exit(ask());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kKilled;
}

int ask_for_switches() {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_DUMMY;
  event.exclude_kernel = 1;
  event.context_switch = 1;
  return syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0 ? errno : 0;
}

int ask_for_copy() {
  long from = 1, to = 0;
  const iovec local{&to, sizeof to}, remote{&from, sizeof from};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof to ? 0 : errno;
}

int ask_for_segment() {
  const int id = shmget(IPC_PRIVATE, 1 << 20, IPC_CREAT | 0600);
  if (id < 0) return errno;
  shmctl(id, IPC_RMID, nullptr);
  return 0;
}

int seccomp_of_us() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Seccomp:")) return std::atoi(line.c_str() + sizeof "Seccomp:" - 1);
  return 0;
}

bool priority_may_rise() {
  rlimit limit{};
  return geteuid() == 0 || (getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur > 20);
}

// By version 1 where there is one for "cpu", else 2.
double quota_of_us(std::string& group) {
  std::ifstream file("/proc/self/cgroup");
  std::string unified;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",", path = line.substr(second + 1);
    if (names == ",,") unified = path;
    if (names.find(",cpu,") == std::string::npos) continue;
    for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
      if (const double cpus = tightest_quota(root, path, group); cpus > 0) return cpus;
  }
  return unified.empty() ? 0 : tightest_quota("/sys/fs/cgroup", unified, group);
}

double quota_of(const std::string& folder) {
  std::istringstream both(text_of(folder + "/cpu.max"));
  double us = 0, period_us = 0;
  if (both >> us >> period_us && us > 0 && period_us > 0) return us / period_us;
  const int old_us = number_of(folder + "/cpu.cfs_quota_us"), old_period_us = number_of(folder + "/cpu.cfs_period_us");
  return old_us > 0 && old_period_us > 0 ? static_cast<double>(old_us) / old_period_us : 0;
}

}  // namespace

double tightest_quota(const std::string& root, const std::string& folder, std::string& group) {
  double least = 0;
  std::filesystem::path below = std::filesystem::path("/" + folder).lexically_normal();
  for (;; below = below.parent_path()) {
    const std::string path = root + (below == "/" ? "" : below.string());
    const double cpus = quota_of(path);
    if (cpus > 0 && (least == 0 || cpus < least)) {
      least = cpus;
      group = path;
    }
    if (below == "/" || below.empty()) return least;
  }
}

MachineFacts look_at_machine(const std::string& library) {
  MachineFacts facts;
  facts.is_root = geteuid() == 0;
  facts.has_library = access(library.c_str(), R_OK) == 0;
  facts.perf_error = asked_by_child(ask_for_switches);
  facts.perf_paranoid = number_of("/proc/sys/kernel/perf_event_paranoid");
  facts.perf_locked_kb = number_of("/proc/sys/kernel/perf_event_mlock_kb");
  facts.seccomp = seccomp_of_us();
  facts.copy_error = asked_by_child(ask_for_copy);
  facts.ptrace_scope = number_of("/proc/sys/kernel/yama/ptrace_scope");
  facts.segment_error = asked_by_child(ask_for_segment);
  facts.bpf_problem = bpf_problem();
  facts.has_pressure = !text_of("/proc/pressure/cpu").empty();
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) facts.cpus_allowed = CPU_COUNT(&allowed);
  facts.cpus_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.quota_cpus = quota_of_us(facts.quota_group);
  facts.autogroup = number_of("/proc/sys/kernel/sched_autogroup_enabled");
  facts.may_raise_priority = priority_may_rise();
  facts.clock_source = text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.tracefs_problem = reach_tracefs();
  if (facts.tracefs_problem.empty()) facts.swept = sweep_instances();
  return facts;
}

}  // namespace hostprobe::kernel
