// doctor.cpp: see doctor.h.
#include "doctor.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace hostprobe::kernel {
namespace {

std::string reason(int error) {
  return error == kKilled ? "a filter of system calls ended the process that asked" : std::strerror(error);
}

Finding library(const MachineFacts& facts) {
  if (facts.has_library)
    return {"library", Health::kGood, "libhostprobe.so is there", "programs are recorded by it", ""};
  return {"library", Health::kMissing, "libhostprobe.so is not where this command looks for it",
          "nothing can be recorded without it", "install hostprobe whole, or run it from its build folder"};
}

Finding shared_memory(const MachineFacts& facts) {
  const char* why = "records lie in shared memory, which outlives a killed process";
  if (facts.segment_error == 0) return {"shared_memory", Health::kGood, "System V shared memory can be had", why, ""};
  return {"shared_memory", Health::kLimited, "no shared memory: " + reason(facts.segment_error), why,
          facts.segment_error == ENOSPC
              ? "raise kernel.shmmni and kernel.shmall, or remove segments that nobody uses (ipcs -m, ipcrm)"
              : "allow shmget in the container's filter of system calls"};
}

Finding switches(const MachineFacts& facts) {
  const char* why = "context switches of threads, and the code they run in, come from perf_event_open";
  if (facts.perf_error == 0)
    return {"perf_events", Health::kGood,
            facts.perf_paranoid == kNotThere
                ? "perf_event_open is allowed"
                : fmt::format("perf_event_open is allowed (perf_event_paranoid {})", facts.perf_paranoid),
            why, ""};
  Finding finding{"perf_events", Health::kLimited, "perf_event_open is refused: " + reason(facts.perf_error), why, ""};
  finding.todo = facts.perf_error == kKilled ? "allow it in that filter; programs under one are not asked to"
                 : facts.perf_paranoid > 2
                     ? fmt::format("sysctl kernel.perf_event_paranoid=2 (it is {})", facts.perf_paranoid)
                 : facts.perf_error == ENOSYS
                     ? "a kernel with CONFIG_PERF_EVENTS"
                     : "allow perf_event_open in the container's filter of system calls, or give it CAP_PERFMON";
  return finding;
}

Finding filter(const MachineFacts& facts) {
  const char* why =
      "a filter may end a process that asks for what it forbids, so programs under one are not asked for perf events";
  if (facts.seccomp == 0) return {"seccomp", Health::kGood, "no filter of system calls", why, ""};
  return {
      "seccomp", Health::kLimited, "a filter of system calls is in force", why,
      "run the job without it (--security-opt seccomp=unconfined), or do without context switches and code samples"};
}

Finding copies(const MachineFacts& facts) {
  const char* why = "frames of Python are read by process_vm_readv";
  if (facts.copy_error == 0) return {"memory_copies", Health::kGood, "a process may copy its own memory", why, ""};
  return {"memory_copies", Health::kLimited, "process_vm_readv is refused: " + reason(facts.copy_error), why,
          "allow process_vm_readv in the container's filter of system calls"};
}

Finding tracing_of_others(const MachineFacts& facts) {
  const char* why = "`hostprobe stacks` looks into other processes";
  const bool is_free = facts.ptrace_scope == kNotThere || facts.ptrace_scope == 0;
  if (is_free || (facts.is_root && facts.ptrace_scope < 3))
    return {"ptrace", Health::kGood, "other processes may be looked at", why, ""};
  return {"ptrace", Health::kLimited, fmt::format("kernel.yama.ptrace_scope is {}", facts.ptrace_scope), why,
          facts.ptrace_scope < 3 ? "run `hostprobe stacks` as root, or sysctl kernel.yama.ptrace_scope=0"
                                 : "nothing, until the machine is started anew: 3 cannot be taken back"};
}

Finding scheduler(const MachineFacts& facts) {
  const char* why = "`hostprobe sched` records through tracefs who had the CPU instead, and interrupts";
  if (!facts.tracefs_problem.empty())
    return {
        "tracefs", Health::kLimited, facts.tracefs_problem, why,
        facts.is_root ? "run it on the machine itself, or in a privileged container" : "run `hostprobe sched` as root"};
  if (facts.swept == 0)
    return {"tracefs", Health::kGood, "tracefs can be used, and nothing was left behind in it", why, ""};
  return {"tracefs", Health::kGood,
          fmt::format("tracefs can be used; {} of recordings that were killed had been left behind and are removed",
                      facts.swept == 1 ? "one instance" : fmt::format("{} instances", facts.swept)),
          "one that is left behind slows the whole machine", ""};
}

Finding cpus(const MachineFacts& facts) {
  const char* why = "a program with more threads than CPUs waits for one";
  const std::string what = fmt::format("{} of {} CPUs may be used", facts.cpus_allowed, facts.cpus_online);
  if (facts.cpus_allowed >= facts.cpus_online) return {"cpuset", Health::kGood, what, why, ""};
  return {
      "cpuset", Health::kLimited, what, why,
      "widen the cpuset or the affinity (taskset, the launcher's binding), if the job is to have the others as well"};
}

Finding quota(const MachineFacts& facts) {
  const char* why = "when a quota is used up all threads stand still for the rest of its period";
  if (facts.quota_cpus <= 0) return {"cpu_quota", Health::kGood, "no quota of CPU time", why, ""};
  const std::string what = fmt::format("{:g} CPUs' time, by {}", facts.quota_cpus, facts.quota_group);
  return {"cpu_quota", Health::kLimited, what, why,
          "raise it to what the job uses, or start fewer threads; `hostprobe report` tells how often it was used up "
          "(cpu_throttle)"};
}

Finding priority(const MachineFacts& facts) {
  const char* why = "the fix nice puts the job before other processes";
  if (!facts.may_raise_priority)
    return {"nice", Health::kLimited, "nice values may not be lowered", why,
            "root, CAP_SYS_NICE, or a limit for nice in limits.conf"};
  if (facts.autogroup != 1) return {"nice", Health::kGood, "nice values may be lowered", why, ""};
  return {"nice", Health::kLimited, "nice values may be lowered, but sessions are scheduled as groups (autogroup)",
          "between two sessions nice has no effect then",
          "the fix nice sets the group's value as well; by hand: echo -10 > /proc/PID/autogroup"};
}

Finding clock(const MachineFacts& facts) {
  const char* why = "times are read from the CPU's counter";
  if (facts.clock_source == "tsc" || facts.clock_source == "kvm-clock" ||
      facts.clock_source == "hyperv_clocksource_tsc_page")
    return {"clock", Health::kGood, "the kernel's clock is " + facts.clock_source, why, ""};
  return {
      "clock", Health::kLimited,
      facts.clock_source.empty() ? "the kernel does not tell its clock" : "the kernel's clock is " + facts.clock_source,
      "a kernel that does not use the CPU's counter found that it cannot be relied upon",
      "compare times of several CPUs with care; dmesg says why (grep for tsc)"};
}

Finding pressure(const MachineFacts& facts) {
  const char* why = "the report tells for how long tasks had no CPU, memory or disk";
  if (facts.has_pressure) return {"pressure", Health::kGood, "/proc/pressure can be read", why, ""};
  return {"pressure", Health::kLimited, "the kernel measures no pressure", why, "start it with psi=1"};
}

Finding programs(const MachineFacts& facts) {
  const char* why = "`hostprobe sched --source bpf` lets the kernel add up itself, which costs less than events";
  if (facts.bpf_problem.empty())
    return {"btf", Health::kGood, "programs can be loaded into the kernel, which describes its types (BTF)", why, ""};
  return {"btf", Health::kLimited, facts.bpf_problem, why, "that, or use --source tracefs"};
}

}  // namespace

std::vector<Finding> judge(const MachineFacts& facts) {
  std::vector<Finding> findings;
  for (const auto ask : {library, shared_memory, switches, filter, copies, tracing_of_others, scheduler, cpus, quota,
                         priority, clock, pressure, programs})
    findings.push_back(ask(facts));
  return findings;
}

const char* health_name(Health health) {
  return health == Health::kGood ? "good" : health == Health::kLimited ? "limited" : "missing";
}

}  // namespace hostprobe::kernel
