// process_trace.h: the records of one process of a profile, thread by thread and stream by stream, in the order of time.
//
// Room 3. docs/reference/import.md says what becomes of what. Records are made a few at a time: what is held of each is where it comes from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "activity_cause.h"
#include "profile.h"
#include "trace/trace_writer.h"

namespace hostprobe::analysis {

struct TracedProcess {
  const Profile& profile;
  const ProfileProcess& process;
  std::uint32_t number = 0;  // in the list of processes that `causes` are of
  std::string rank;          // of the job, as text; "" = not known for sure
  std::int64_t base_ns = 0;  // to be added to each time
};

void write_process(const TracedProcess& traced, const std::vector<ProfileActivity>& activities,
                   const std::vector<ActivityCause>& causes, TraceWriter& out);

}  // namespace hostprobe::analysis
