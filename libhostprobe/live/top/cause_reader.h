// cause_reader.h: the analysis of the run that lives, beside the screen, as often as its share of a CPU allows.
//
// Room 3. A reading takes as long as it takes; the next one begins when its CPU time is paid for by waiting. So the bars
// of a large job are old, and say how old.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "answer/run.h"
#include "recent_causes.h"

namespace hostprobe::analysis {

// When the next reading may begin, of one that took `cpu_s` of a CPU and ended at `ended_ns`.
std::uint64_t next_reading_ns(std::uint64_t ended_ns, double cpu_s, double share);

struct CauseReading {
  RecentCauses causes;
  std::uint64_t at_ns = 0;  // CLOCK_MONOTONIC, when it began
};

class CauseReader {
 public:
  using Read = std::function<RunAnswer()>;  // what it throws leaves the reading before in place

  // Whether a reading may begin now; `urgent`: although the one before is not paid for.
  bool is_due(std::uint64_t now_ns, bool urgent) const;
  void start(Read read);
  // The newest that has ended.
  std::optional<CauseReading> newest() const;
  // The process must not go through its ordinary end meanwhile.
  bool is_busy() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hostprobe::analysis
