// gpu_durations.h: how long ops of a process last on its GPU, kind by kind, as timed ones tell; and how long after its launch an op begins.
//
// Room 3. A timed op tells its duration where its begin is known too: behind a timed op, or in a stream that was known to be empty. So an
// event behind each of some consecutive ops is enough, whether the stream was full or not.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_work.h"

namespace hostprobe::analysis {

struct OpDuration {
  double ns = 0;
  double spread_ns = 0;  // as of a normal distribution
  std::uint32_t samples = 0;
  bool guessed = true;  // no op of the kind was timed
};

class GpuDurations {
 public:
  explicit GpuDurations(const GpuWork& work);

  const OpDuration& of(std::uint32_t kind) const { return durations_[kind]; }
  // By how much all ops took longer around that moment: clocks and temperature of a GPU change, and faults come and go.
  double pace_at(double ns) const;
  // From the end of a launch call until its work's time in an empty stream begins; a pause goes before the work, as in a full stream.
  double start_ns() const { return start_ns_; }
  // That durations hold beside the work: between the end of an op and the begin of the one behind it nothing runs.
  double pause_ns() const { return pause_ns_; }
  void learn(std::uint32_t kind, const OpDuration& duration) { durations_[kind] = duration; }
  // Of what moves data between ranks: how long it was in its stream, waiting for others included.
  const std::vector<float>& moved(std::uint32_t kind) const { return moved_[kind]; }

 private:
  struct Samples;
  static double least_reached(const Samples& samples);
  void find_start(const GpuWork& work, const Samples& samples);
  void find_pace(const Samples& samples);
  double bound_of(const Samples& samples, std::uint32_t kind) const;
  static OpDuration shortest(std::size_t bounds, double bound_ns);
  OpDuration of_samples(const GpuOpKind& kind, std::vector<float>& all, std::size_t bounds, double bound_ns) const;
  void guess(const GpuWork& work, const Samples& samples);

  std::vector<OpDuration> durations_;      // by kind
  std::vector<std::vector<float>> moved_;  // by kind
  double start_ns_ = 0, pause_ns_ = 0;
  std::vector<float> pace_;  // of each kPaceNs from there on
  double pace_begin_ns_ = 0;
};

// What an op's duration is known by: of a kernel of NCCL's what it moves.
std::uint32_t duration_kind(const GpuWork& work, const GpuOp& op);

// False: a copy or fill that no bus is slow enough for. What lasts so long is the call around it, or the return of the one who waits.
bool can_last(const GpuOpKind& kind, double ns);

// Of some values: the middle one, and the spread as of a normal distribution.
OpDuration robust_duration(std::vector<float>& ns);

}  // namespace hostprobe::analysis
