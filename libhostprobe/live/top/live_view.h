// live_view.h: what `hostprobe top` shows of a job that runs: plain structs, from which lines and the document are made.
//
// Room 3. What was not measured is nothing, never 0. Rates are of the last ten seconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/process.h"
#include "format/segment.h"

namespace hostprobe::analysis {

// The call that a thread waits in.
struct LiveCall {
  std::string function = {};
  double since_s = 0;
};

struct LiveThread {
  std::uint32_t tid = 0;
  std::string name = {};
  std::string role = {};  // "": not known yet
  std::optional<LiveCall> in = {};
  std::optional<double> cpu_pct = {}, ready_pct = {};  // running; ready to run, but without a CPU
};

// Of the mean rank's step, as a report has it.
struct CausePart {
  std::string cause = {};
  double ms = 0;
};

struct LiveSteps {
  std::uint64_t count = 0;
  std::vector<double> last_ms = {};  // at most 60, the newest behind
  double median_ms = 0;              // of the last 31
  double per_s = 0;                  // over the same
  double since_s = 0;                // the end of the last one
};

struct LiveRank {
  std::optional<int> rank = {};
  pid_t pid = 0;
  std::optional<int> restart = {};
  EndState state = EndState::kRunning;
  std::optional<LiveSteps> steps = {};
  std::vector<CausePart> causes = {};  // heaviest first
  std::optional<LiveCall> in = {};     // its main thread
  std::string thread_state = {};       // of the main thread where it is in no known call: "runs", "sleeps", …
  std::optional<double> cpu_pct = {}, ready_pct = {}, throttled_pct = {};
  std::optional<double> own_cost_pct = {};
  std::uint64_t lost = 0;
  std::vector<LiveThread> threads = {};  // those that use most CPU first
};

// A fix that was put in place or taken back from here.
struct LiveTrial {
  std::string fix = {};
  bool on = false;
  double for_s = 0;
  double before_ms = 0;  // medians
  std::size_t before_steps = 0;
  double since_ms = 0;
  std::size_t since_steps = 0;  // 0: none has ended
};

// The fix `auto`: what it tries now, or tried last.
struct LiveAuto {
  AutoStage stage = AutoStage::kOff;
  std::string fix = {};       // "": none yet
  std::string decision = {};  // "": it is being tried
  unsigned pairs = 0;         // of windows, one without and one with the fix
  double without_ms = 0, with_ms = 0;
  double gain_pct = 0;
  std::optional<std::pair<double, double>> interval_pct = {};  // of the gain; nothing: too few pairs
  std::vector<std::string> kept = {};
};

struct LiveView {
  std::string command = {};
  std::string path = {};
  std::string mode = {};
  std::optional<double> wall_s = {};
  std::vector<LiveRank> ranks = {};
  std::size_t elsewhere = 0;                // ranks on other hosts, of which nothing can be seen from here
  std::optional<double> causes_age_s = {};  // nothing: not read yet
  double causes_span_s = 0;                 // of steps that the causes are of
  std::string causes_unknown = {};          // why there are none, as a report's `step_time_unknown`
  std::string hang = {};                    // "": none is seen
  std::optional<LiveTrial> trial = {};
  std::optional<LiveAuto> fix_auto = {};
  bool steps_are_off = false;  // HOSTPROBE_STEPS
  double own_cpu_pct = 0;      // of this command itself

  // Whose steps stand for the job's: the first that runs and has some. nullptr: none has.
  const LiveRank* stepping() const;
  bool has_ended() const;
  std::uint64_t lost() const;
  std::optional<double> own_cost_pct() const;  // the highest
};

}  // namespace hostprobe::analysis
