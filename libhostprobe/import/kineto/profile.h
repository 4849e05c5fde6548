// profile.h: what one profile tells of its processes, sorted out: calls, ranges, collectives, work on the GPU.
//
// Room 3. Held in memory, about a tenth of the text: a launch stands in the file long after the kernel that it caused. Times
// are nanoseconds as the file gives them, before its base time.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ascend_event.h"
#include "format/record.h"
#include "import/input/left_out.h"
#include "profile_event.h"

namespace hostprobe::analysis {

// A stretch of a thread's or a stream's time.
struct ProfileSpan {
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint32_t name = 0;       // in Profile::names
  std::uint64_t at = kNoPlace;  // byte of the text
};

// A function of the runtime or driver, or one of libc that waits.
struct ProfileCall {
  ProfileSpan span;
  std::uint32_t thread = 0;  // in ProfileProcess::threads
  std::uint64_t correlation = 0;
  bool is_wait = false;
};

struct ProfileRange {
  ProfileSpan span;
  std::uint32_t thread = 0;
  std::uint32_t category = 0;  // in Profile::names
};

struct ProfileActivity {
  ProfileSpan span;
  RowType type = kRowKernel;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t owner = 0;  // in Profile::names: the id of the process that the profile has it under
  std::uint64_t correlation = 0;
  std::uint64_t bytes = 0;
  std::uint64_t grid = 0;  // packed as in a record
  std::uint64_t block = 0;
  std::uint64_t shared_bytes = 0;
};

struct ProfileCollective {
  ProfileSpan span;  // of the call on the host; its name is the operation's
  std::uint32_t thread = 0;
  std::uint64_t communicator = 0;  // 0 = not known
  std::uint64_t elements = 0;
  std::uint32_t sequence = 0;  // 0 = to be counted
  int type = 0xff;             // as in nccl.h
  std::uint32_t group = 0;     // in Profile::names: the job's ranks in it, as a list
  int rank = -1;               // on the communicator
  int size = 0;
  int peer = -1;
};

struct ProfileStep {
  ProfileSpan span;
  std::uint32_t thread = 0;
  std::uint64_t number = 0;
};

struct ProfileThread {
  std::uint32_t tid = 0;  // made up where the profile's own is none
  std::string name;
  std::uint64_t at = kNoPlace;  // byte of the text where its first event is
};

struct ProfileProcess {
  std::uint32_t pid = 0;        // made up where the profile's own is none
  std::uint32_t number = 0;     // of processes as they appear in the profile
  std::uint64_t at = kNoPlace;  // byte of the text where its first event is
  std::string name;
  std::vector<ProfileThread> threads;
  std::map<std::string, std::uint32_t, std::less<>> thread_at;  // by the profile's own id
  std::vector<ProfileCall> calls;
  std::vector<ProfileRange> ranges;
  std::vector<ProfileCollective> collectives;  // by the profiler's own records of communication
  std::vector<ProfileCollective> annotated;    // by annotations, which tell less; only where the others tell nothing
  std::vector<ProfileStep> steps;
};

using ProfileProcesses = std::map<std::string, ProfileProcess, std::less<>>;  // by the profile's own id

class Profile {
 public:
  explicit Profile(LeftOut& left_out) : left_out_(&left_out) {}

  void add(const ProfileEvent& event);
  // Events that come behind all that were added, as if they had been added here.
  void append(Profile&& later);
  // Once all were added: names of processes and threads may come after what they name.
  void finish();

  const std::string& name(std::uint32_t number) const { return names_[number]; }
  ProfileProcesses& processes() { return processes_; }
  std::vector<ProfileActivity>& activities() { return activities_; }
  // Of the profiler's own span: what was watched, whether or not anything happened.
  const std::vector<ProfileSpan>& watched() const { return watched_; }

 private:
  bool add_span(const ProfileEvent& event, ProfileSpan& span);
  void add_call(const ProfileEvent& event, const ProfileSpan& span);
  void add_range(const ProfileEvent& event, const ProfileSpan& span);
  void add_activity(const ProfileEvent& event, const ProfileSpan& span, RowType type);
  void add_collective(const ProfileEvent& event, const ProfileSpan& span);
  void add_annotated(const ProfileEvent& event, const ProfileSpan& span);
  ProfileCollective collective_of(const ProfileEvent& event, const ProfileSpan& span, const std::string& operation);
  void add_name(const ProfileEvent& event);
  // Of a profile of Ascend's devices: what its lanes hold, and what they are together.
  void add_ascend(const ProfileEvent& event);
  void add_arrow(const ProfileEvent& event);
  void finish_ascend();
  void make_ids_up();
  // All that another one holds; `names`: its numbers of names by those of this profile, none where they are the same.
  void append_process(ProfileProcess& own, ProfileProcess& other, const std::vector<std::uint32_t>& names);
  // `at`: where the event is that names it.
  ProfileProcess& process_of(const std::string& pid, std::uint64_t at);
  std::uint32_t thread_of(ProfileProcess& process, const std::string& tid, std::uint64_t at);
  std::uint32_t name_of(const std::string& text);
  std::uint64_t count_of(const ProfileEvent& event, ProfileField field);
  std::uint64_t correlation_of(const ProfileEvent& event);

  LeftOut* left_out_;
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, std::uint32_t> name_at_;
  ProfileProcesses processes_;
  std::map<std::string, std::string> process_names_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  std::vector<ProfileActivity> activities_;
  std::vector<ProfileSpan> watched_;
  AscendParts ascend_;
  friend class AscendLanes;
};

// By the order in which they appeared.
std::vector<ProfileProcesses::value_type*> processes_in_order(ProfileProcesses& processes);

}  // namespace hostprobe::analysis
