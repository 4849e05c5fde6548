// process_segment.cpp: see process_segment.h.
#include "process_segment.h"

#include <sys/shm.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace hostprobe::analysis {
namespace {

SegmentHeader* attach(int id, bool writes) {
  shmid_ds status{};
  if (shmctl(id, IPC_STAT, &status) == 0 && status.shm_segsz < sizeof(SegmentHeader)) return nullptr;
  void* address = shmat(id, nullptr, writes ? 0 : SHM_RDONLY);
  return address == reinterpret_cast<void*>(-1) ? nullptr : static_cast<SegmentHeader*>(address);
}

}  // namespace

FoundSegment find_segment(int pid, bool writes) {
  std::ifstream table("/proc/sysvipc/shm");
  FoundSegment found;
  for (const int id : segments_made_by(table, pid)) {
    SegmentHeader* header = attach(id, writes);
    found.denied = found.denied || (header == nullptr && errno == EACCES);
    if (header == nullptr) continue;
    // One that an earlier program of the process left behind may still have a reader: the clock of the other goes on.
    const bool ours = header->magic == kSegmentMagic && header->pid == static_cast<std::uint32_t>(pid);
    if (ours && (found.header == nullptr || found.header->clock.monotonic_ns < header->clock.monotonic_ns))
      std::swap(found.header, header);
    if (header != nullptr) shmdt(header);
  }
  return found;
}

std::vector<int> segments_made_by(std::istream& table, int pid) {
  std::vector<int> ids;
  std::string line;
  std::getline(table, line);  // names of the columns
  while (std::getline(table, line)) {
    long long key = 0, id = 0, size = 0, creator = 0, last = 0, attached = 0;
    std::string permissions;
    std::istringstream words(line);
    if (!(words >> key >> id >> permissions >> size >> creator >> last >> attached)) continue;
    if (creator == pid && attached > 0) ids.push_back(static_cast<int>(id));
  }
  return ids;
}

}  // namespace hostprobe::analysis
