// placement.h: who runs on which CPU while a bench measures.
#pragma once

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace hostprobe::bench {

inline cpu_set_t& allowed_cpus() {
  static cpu_set_t cpus = [] {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  return cpus;
}

// The nth allowed CPU; the last one when there are fewer.
inline int allowed_cpu(int nth) {
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed_cpus())) {
      last = cpu;
      if (nth-- == 0) break;
    }
  return last;
}

inline void pin(pid_t tid, int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(tid, sizeof one, &one);
}

// The probe's writer goes to the second CPU, away from the thread that is measured on the first.
inline void move_writer_away() {
  DIR* tasks = opendir("/proc/self/task");
  while (dirent* task = tasks == nullptr ? nullptr : readdir(tasks)) {
    char name[32] = "";
    if (std::FILE* comm = std::fopen(("/proc/self/task/" + std::string(task->d_name) + "/comm").c_str(), "r")) {
      if (std::fgets(name, sizeof name, comm) == nullptr) name[0] = 0;
      std::fclose(comm);
    }
    if (std::strcmp(name, "hostprobe\n") == 0) pin(std::atoi(task->d_name), allowed_cpu(1));
  }
  if (tasks != nullptr) closedir(tasks);
}

// Once the probe's writer has been started by a first call: a thread inherits the CPUs of its creator, so this thread is
// pinned only now.
inline void settle_threads() {
  timespec pause{0, 50000000};
  nanosleep(&pause, nullptr);
  pin(0, allowed_cpu(0));
  move_writer_away();
}

}  // namespace hostprobe::bench
