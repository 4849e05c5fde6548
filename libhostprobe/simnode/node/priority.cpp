// See priority.h. By raw system calls: libc 2.36 has none for slices, and a tool that watches the program's priorities
// need not see these.
#include "priority.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>

namespace simnode {

namespace {

constexpr uint64_t kSliceNs = 100000;  // the kernel's least
constexpr int32_t kDeviceNice = -20;

// As the kernel lays it out (linux/sched/types.h, first version); the slice of an ordinary thread is its `runtime`.
struct Attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};
static_assert(sizeof(Attributes) == 48);

thread_local int32_t t_program_nice = 0;
thread_local bool t_raised = false;

bool read(Attributes* attributes) {
  return syscall(SYS_sched_getattr, 0, attributes, sizeof *attributes, 0) == 0 && attributes->policy == SCHED_OTHER;
}

bool write(Attributes attributes) {
  attributes.size = sizeof attributes;
  attributes.runtime = kSliceNs;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

void set_nice(int32_t nice) {
  int saved = errno;
  Attributes attributes{};
  if (read(&attributes)) {
    attributes.nice = nice;
    write(attributes);
  }
  errno = saved;
}

}  // namespace

void run_in_short_slices() {
  int saved = errno;
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  Attributes attributes{};
  if (read(&attributes)) write(attributes);
  errno = saved;
}

void run_as_device() {
  run_in_short_slices();
  int saved = errno;
  Attributes attributes{};
  if (read(&attributes)) {
    t_program_nice = attributes.nice;
    attributes.nice = kDeviceNice;
    t_raised = write(attributes);
  }
  errno = saved;
}

ProgramPriority::ProgramPriority() {
  if (t_raised) set_nice(t_program_nice);
}

ProgramPriority::~ProgramPriority() {
  if (t_raised) set_nice(kDeviceNice);
}

}  // namespace simnode
