// axis.h: on which clock the processes of a run stand in one file of Perfetto's, and under which ids.
//
// Room 3. Perfetto knows one machine: the run's first host with records of the kernel, else its first host. Its times stay
// CLOCK_MONOTONIC and its ids the kernel's, so that processes and the kernel's records come together; processes of other hosts
// are moved by the time of day and get ids that no kernel gives.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "trace/jobs.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

class PerfettoAxis {
 public:
  explicit PerfettoAxis(const ChosenJob& run);

  bool is_here(const Trace& trace) const;
  std::uint64_t moment(const Trace& trace, std::int64_t monotonic_ns) const;
  // As the kernel's records have it, where the process lives in a container.
  std::uint32_t kernel_id(std::uint32_t id) const;
  bool is_recorded(std::uint32_t pid) const { return pids_.contains(pid); }
  // A moment on the clock of this file, and the time of day then.
  std::uint64_t begin_ns() const { return begin_ns_; }
  std::uint64_t begin_realtime_ns() const { return begin_ns_ + static_cast<std::uint64_t>(offset_ns_); }

 private:
  void read_ids(const std::string& path);

  std::string host_;
  std::map<std::string, std::int64_t> offsets_;  // of each host, from CLOCK_MONOTONIC to the time of day
  std::int64_t offset_ns_ = 0;                   // of this one
  std::uint64_t begin_ns_ = 0;
  std::map<std::uint32_t, std::uint32_t> ids_;  // by the id in a container; 0: two have it
  std::set<std::uint32_t> pids_;                // of recorded processes here, as the kernel has them
};

}  // namespace hostprobe::analysis
