// step_time.h: where the time of the steps went: by cause, and by the rank where it sits.
//
// The waist (answer/). analysis/step_time/step_time.h fills it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cause.h"
#include "gain.h"
#include "hook.h"
#include "role.h"

namespace hostprobe::analysis {

// Of a collective: what it moves, how quickly, and how quickly the same is moved on other communicators.
struct TransferSite {
  std::uint64_t bytes = 0;
  double us = 0, bus_gb_s = 0, usual_bus_gb_s = 0;  // medians; 0 = not known
  double pcie_bus_gb_s = 0;  // over PCIe 3.0 alone, by NCCL's model; 0 = it is quicker, or not known
};

// Where a cause sits.
struct LostSite {
  std::string function;  // the call that held the thread; "" = it was in none
  std::string library;
  CallKind kind = CallKind::kOther;
  Role role = Role::kMain;         // of the thread
  std::string holder;              // the role of the thread that made it wait; "" = none
  std::uint32_t holder_tid = 0;    // 0 = none
  std::string holder_title = {};   // what a person calls it
  std::string holder_in = {};      // where it was meanwhile, in a call; "" = in none, or not known
  std::string held_up = {};        // of another thread's site: where the thread that makes the steps waits for it
  std::string code;                // who called, "function (library)"
  std::vector<std::string> stack;  // innermost first, of the longest piece
  std::string awaited = {};        // what the call was for: "tcp 10.0.0.2:5000", a file's path; "" = not known
  std::uint32_t tid = 0;           // of the thread; 0 = none
  std::uint64_t samples = 0;       // of a thread in no call: that the place is known by; 0: it is not
  double sampled_pct = 0, low_pct = 0,
         high_pct = 0;  // of them there, and what it is at least and at most in 95 of 100 cases
  TransferSite transfer = {};
};

struct LostPiece {
  double at_ms = 0;  // since the trace of that process began
  double ms = 0;
  std::uint32_t tid = 0;
};

struct LostTime {
  Cause cause = Cause::kUnexplained;
  std::uint32_t member = 0;  // of the rank where it sits, in the order asked
  double ns = 0;             // of the mean rank, in all steps looked at
  std::uint64_t pieces = 0;
  double site_ns = 0;  // of that, at the site below
  LostSite site;
  std::vector<LostPiece> longest;        // at most three, that are no other row's (longest_pieces.h)
  std::vector<double> step_ns;           // of each step, of the mean rank
  std::vector<double> own_step_ns = {};  // the same, of the member's own time alone; empty: none, as of a cause of all
  bool of_all = false;                   // of no rank in particular, whatever `member` says
};

// A step of the job: from the end of the step before, on all ranks, to its own on the last.
struct ExplainedStep {
  std::uint64_t number = 0;
  std::uint32_t type = 0;               // in StepAnswer::types of the first member
  std::uint64_t begin_realtime_ns = 0;  // by the clock of the first member's host
  double length_ns = 0;
};

// What a lane of the worst step shows.
enum class LaneKind : std::uint8_t {
  kRank,    // what each moment of it was lost to
  kThread,  // the calls that a thread was in
  kGpu,     // its work
};

enum class LaneWork : std::uint8_t { kNone, kCompute, kTransfer, kUnknown };

struct LaneSpan {
  double at_ns = 0;  // since the step began
  double ns = 0;
  std::string function = {};  // of a call; "" = none
  std::optional<Cause> cause = {};
  LaneWork work = LaneWork::kNone;
};

struct StepLane {
  LaneKind kind = LaneKind::kRank;
  std::uint32_t member = 0;  // in the order asked
  std::uint32_t pid = 0;     // of a loader's worker its own
  std::uint32_t tid = 0;     // of a thread
  std::string title = {};    // the same, as a person calls it
  std::vector<LaneSpan> spans;
};

// A thread let another one go on, or a rank came for which another one waited.
struct LaneWake {
  std::uint32_t from = 0, to = 0;  // lanes
  double at_ns = 0;
};

// The step that is longest beside others of its type, of those looked at: what each thread of each rank did.
struct StepLanes {
  std::uint64_t number = 0;
  std::uint32_t type = 0;  // in StepAnswer::types of the first member
  double length_ns = 0;
  double least_ns = 0;  // what is shorter is not shown
  std::uint32_t ranks_left_out = 0;
  std::vector<StepLane> lanes;  // by rank; its causes first, then its threads, then its GPU
  std::vector<LaneWake> wakes;
};

struct LoaderWorkerTime {
  double loading_ns = 0;  // from its first batch to its last
  double idle_ns = 0;     // of that: it waited to be told what to make next
};

// What the workers of a rank's data loader did while the rank waited for a batch, in the steps looked at.
struct LoaderTime {
  double waited_ns = 0;
  double held_ns = 0;        // of that: some had nothing to do, while others were not done
  double handing_ns = 0;     // of that: none of them had anything to do, so the batch was on its way
  double restarting_ns = 0;  // of that: workers began after others had ended, or ended before others began
  std::uint64_t restarts = 0;
  std::vector<LoaderWorkerTime> workers;
};

struct StepTime {
  double length_ns = 0;  // of all steps looked at
  std::uint64_t steps = 0;
  std::vector<LostTime> lost;   // heaviest first; one for each cause and rank where it sits; they sum to the length
  std::map<Cause, Gain> gains;  // of the heavier causes, on all ranks; none where that is not known
  // Of each rank, what of the length is hostprobe's own work that the rank's step had to wait for; less than 0: not known.
  std::vector<double> own_ns;
  // Of each rank, CPU time of it and of the workers of its loader in these steps, as far as the kernel's counts of threads tell.
  std::vector<double> cpu_ns = {};
  std::vector<LoaderTime> loaders = {};               // of each rank
  std::vector<std::vector<double>> own_step_ns = {};  // own_ns of each step; none where it is not known
  std::vector<ExplainedStep> each = {};  // the steps looked at; empty: there are none, and the whole run was
  std::optional<StepLanes> worst = {};   // of these; nothing: there are none

  double share_pct(Cause reported) const;  // of the length
};

// Why it is not known where the time of the steps went.
enum class TimeUnknown : std::uint8_t {
  kKnown,
  kNoWorker,        // no process is known to make the steps, or two say they are the same rank
  kClocks,          // ranks on hosts whose clocks cannot be aligned
  kNoSteps,         // and no GPU's work either
  kNoRecords,       // only counters
  kLostRecords,     // of a thread that makes the steps
  kLostActivities,  // of a GPU that was watched
  kTooMany,         // without steps: calls and activities, for what is held
  kChanged,         // a file did while it was read
};

const char* time_unknown_id(TimeUnknown why);  // "" for kKnown

inline constexpr const char* kPageFault = "page fault";  // in the place of a function

}  // namespace hostprobe::analysis
