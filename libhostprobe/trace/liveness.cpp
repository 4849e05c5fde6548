// liveness.cpp: see liveness.h. A process id alone proves nothing: the kernel gives it away again, so the start time in
// /proc/PID/stat is compared with the trace's own; and one that has begun another program (exec) is still there.
#include "liveness.h"

#include <signal.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "clock.h"

namespace hostprobe::analysis {
namespace {

struct ProcStat {
  char state = 0;
  double start_s = 0;  // since boot
};

bool read_proc_stat(std::uint32_t pid, ProcStat& stat) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const auto after_name = text.rfind(')');  // the name may hold blanks and parentheses
  if (after_name == std::string::npos) return false;
  std::istringstream fields(text.substr(after_name + 1));
  std::string skipped;
  fields >> stat.state;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::uint64_t start_jiffies = 0;
  fields >> start_jiffies;
  stat.start_s = static_cast<double>(start_jiffies) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<bool>(fields);
}

// Process start times count suspended time, CLOCK_MONOTONIC does not.
double suspended_s() {
  timespec boot{}, monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return static_cast<double>(boot.tv_sec - monotonic.tv_sec) +
         1e-9 * static_cast<double>(boot.tv_nsec - monotonic.tv_nsec);
}

// The process has begun another program: nobody is in the shared memory any more, although the process is there.
bool segment_was_left(const FileHeader& header) {
  shmid_ds status{};
  if (header.segment_id < 0 || shmctl(header.segment_id, IPC_STAT, &status) != 0 || status.shm_nattch != 0 ||
      status.shm_segsz < sizeof(SegmentHeader))
    return false;
  void* address = shmat(header.segment_id, nullptr, SHM_RDONLY);
  if (address == reinterpret_cast<void*>(-1)) return false;
  const auto& segment = *static_cast<const SegmentHeader*>(address);
  const bool same = segment.magic == kSegmentMagic && segment.cookie == header.cookie;
  shmdt(address);
  return same;
}

}  // namespace

Liveness process_liveness(const FileHeader& header) {
  const std::string boot_id(header.boot_id, strnlen(header.boot_id, sizeof(header.boot_id)));
  if (boot_id != current_boot_id()) return Liveness::kElsewhere;
  if (kill(static_cast<pid_t>(header.pid), 0) != 0 && errno == ESRCH) return Liveness::kDead;
  ProcStat stat;
  if (!read_proc_stat(header.pid, stat)) return Liveness::kDead;
  if (stat.state == 'Z' || stat.state == 'X') return Liveness::kDead;
  // The trace starts after its process; one second covers the granularity of both clocks.
  const double trace_start_s = 1e-9 * static_cast<double>(header.start.monotonic_ns) + suspended_s();
  if (stat.start_s > trace_start_s + 1.0 || segment_was_left(header)) return Liveness::kDead;
  return Liveness::kLives;
}

}  // namespace hostprobe::analysis
