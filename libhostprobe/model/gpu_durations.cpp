// gpu_durations.cpp: see gpu_durations.h.
#include "gpu_durations.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "middle.h"

namespace hostprobe::analysis {
namespace {

// As measured (bench/gpu/RESULTS.md): a kernel begins so much later in an empty stream than an event is reached there, and the shortest
// pieces of work last so long.
constexpr double kLaterNs = 3'000, kLeastWorkNs = 700;
constexpr double kUsualEventNs = 3'000, kMostStartNs = 15'000;
constexpr double kMostPauseNs = 3'000;  // between two ops of a full stream: 1.4 us, as measured
constexpr double kQuickest = 0.1;       // of all pieces
constexpr double kPaceNs = 250e6;       // in which the pace of a GPU stays the same
constexpr double kNearPace = 0.2;       // of single ops to that of most
constexpr std::size_t kFewestOfPace = 20;
constexpr std::size_t kFewest = 5;                       // samples from which a median is one
constexpr double kCopyNs = 2'000, kCopyBytesPerNs = 20;  // of a copy that nobody timed
constexpr double kFillBytesPerNs = 2'000;  // the GPU's own memory (public figures of H100 and H200: 3 to 5)
constexpr double kClockStepNs = 1'000;     // no larger, as documented
constexpr double kTellingNs = 10'000;      // a bound that is higher tells nothing: an event came late
constexpr double kNormal = 1.4826;         // of a median of distances

// The clock of a GPU goes in steps, which the middle one of some readings shows and their mean does not.
double mean_near(const std::vector<float>& some, double middle, double most) {
  double sum = 0;
  std::size_t count = 0;
  for (const float one : some)
    if (std::abs(static_cast<double>(one) - middle) <= most) sum += static_cast<double>(one), ++count;
  return sum / static_cast<double>(count);
}

}  // namespace

OpDuration robust_duration(std::vector<float>& ns) {
  OpDuration duration;
  if (ns.empty()) return duration;
  const float middle = middle_of(ns);
  std::vector<float> away;
  away.reserve(ns.size());
  for (const float one : ns) away.push_back(std::abs(one - middle));
  duration.spread_ns = kNormal * static_cast<double>(middle_of(away));
  duration.ns = mean_near(ns, static_cast<double>(middle), std::max(3 * duration.spread_ns, kClockStepNs));
  // A few agree by chance.
  if (ns.size() < kFewest) duration.spread_ns = std::max(duration.spread_ns, 0.1 * duration.ns);
  duration.samples = static_cast<std::uint32_t>(ns.size());
  duration.guessed = false;
  return duration;
}

bool can_last(const GpuOpKind& kind, double ns) {
  return (kind.type != GpuOpType::kCopy && kind.type != GpuOpType::kFill) ||
         ns <= std::max(kClockStepNs + kCopyNs, static_cast<double>(kind.bytes) / kLeastBytesPerNs);
}

std::uint32_t duration_kind(const GpuWork& work, const GpuOp& op) {
  std::uint32_t kind = op.kind;
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < op.parts; ++i) {
    const std::uint32_t moved = work.parts[op.first_part + i].kind;
    if (i > 0 && work.kinds[moved].bytes <= most) continue;
    kind = moved;
    most = work.kinds[moved].bytes;
  }
  return kind;
}

// Of each kind. In a full stream an op begins where the one before ends; in an empty one so long after its call as is to be found.
struct GpuDurations::Samples {
  struct Full {
    double at_ns;
    std::uint32_t kind;
    float ns;
  };
  std::vector<Full> all_full;  // by stream
  // `most`: no longer than that, from its call on. `behind`: the same, from the end of the op before, where that was later. `reached`: from
  // its call on in an empty stream until the event behind it was reached, whether that tells its end or not.
  std::vector<std::vector<float>> full, empty, most, behind, reached;

  explicit Samples(const GpuWork& work)
      : full(work.kinds.size()),
        empty(work.kinds.size()),
        most(work.kinds.size()),
        behind(work.kinds.size()),
        reached(work.kinds.size()) {
    for (const GpuStream& stream : work.streams) add(work, stream);
  }

 private:
  // `at`: up to where the stream is known; NaN: it is not.
  void add(const GpuWork& work, const GpuStream& stream) {
    double at_ns = -std::numeric_limits<double>::infinity();
    for (const std::uint32_t number : stream.ops) {
      const GpuOp& op = work.ops[number];
      if (op.drained_ns > at_ns || (std::isnan(at_ns) && std::isfinite(op.drained_ns))) at_ns = op.drained_ns;
      if (is_work(op.type)) {
        if (op.is_timed() && !std::isnan(at_ns) && awaits_nothing(work, op, at_ns)) add(work, op, at_ns);
        // The call of a copy that it waits for ends with it.
        if (op.blocks && at_ns < op.told_ns && static_cast<double>(op.bytes) >= op.end_ns - op.begin_ns)
          empty[op.kind].push_back(static_cast<float>(op.end_ns - op.told_ns));
        else if (!op.blocks && std::isfinite(op.latest_ns))
          add_bound(op, at_ns);
        at_ns = op.blocks ? op.end_ns : work.event_ns + (std::isfinite(op.latest_ns) ? op.latest_ns : op.timed_ns);
      } else if (op.type == GpuOpType::kMark) {
        at_ns = std::max(at_ns, op.end_ns);
      } else if (op.type == GpuOpType::kJoin) {
        at_ns = awaits_nothing(work, op, at_ns) ? at_ns : std::numeric_limits<double>::quiet_NaN();
      } else {
        at_ns = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  void add_bound(const GpuOp& op, double at_ns) {
    most[op.kind].push_back(static_cast<float>(op.latest_ns - op.told_ns));
    if (at_ns > op.told_ns) behind[op.kind].push_back(static_cast<float>(op.latest_ns - at_ns));
    if (at_ns < op.told_ns) reached[op.kind].push_back(most[op.kind].back());
  }
  // What it waits for elsewhere had ended before, for certain.
  static bool awaits_nothing(const GpuWork& work, const GpuOp& op, double at_ns) {
    if (op.other == kNoOp) return true;
    const double other_ns = work.ops[op.other].timed_ns;
    return other_ns <= std::max(at_ns, op.begin_ns);
  }
  void add(const GpuWork& work, const GpuOp& op, double at_ns) {
    // Near each other nobody knows which of both it was.
    constexpr double kNearNs = 8'000;
    const std::uint32_t kind = duration_kind(work, op);
    if (at_ns > op.told_ns + kNearNs) {
      full[kind].push_back(static_cast<float>(op.timed_ns - at_ns));
      if (op.type == GpuOpType::kKernel && !op.collective) all_full.push_back({op.timed_ns, kind, full[kind].back()});
    } else if (at_ns < op.told_ns) {
      empty[kind].push_back(static_cast<float>(op.timed_ns - op.told_ns));
      reached[op.kind].push_back(empty[kind].back());
    }
  }
};

GpuDurations::GpuDurations(const GpuWork& work) : durations_(work.kinds.size()), moved_(work.kinds.size()) {
  Samples samples(work);
  find_start(work, samples);
  for (std::uint32_t kind = 0; kind < work.kinds.size(); ++kind) {
    std::vector<float>& all = samples.full[kind];
    for (const float one : samples.empty[kind]) all.push_back(std::max(0.0f, one - static_cast<float>(start_ns_)));
    // How long a collective's kernel is in the stream says how long it waited for others too.
    if (work.kinds[kind].collective)
      moved_[kind] = std::move(all);
    else
      durations_[kind] = of_samples(work.kinds[kind], all, samples.most[kind].size(), bound_of(samples, kind));
  }
  guess(work, samples);
  find_pace(samples);
}

void GpuDurations::find_pace(const Samples& samples) {
  if (samples.all_full.empty()) return;
  const auto [first, last] = std::minmax_element(samples.all_full.begin(), samples.all_full.end(),
                                                 [](const auto& l, const auto& r) { return l.at_ns < r.at_ns; });
  pace_begin_ns_ = first->at_ns;
  std::vector<std::vector<float>> paces(static_cast<std::size_t>((last->at_ns - first->at_ns) / kPaceNs) + 1);
  for (const Samples::Full& one : samples.all_full) {
    const OpDuration& usual = durations_[one.kind];
    if (usual.samples >= kFewest && usual.ns > 0)
      paces[static_cast<std::size_t>((one.at_ns - pace_begin_ns_) / kPaceNs)].push_back(one.ns /
                                                                                        static_cast<float>(usual.ns));
  }
  // A stretch of which too little is known goes on as the one before; the first ones as the first that is known.
  constexpr float kUnknown = 0;
  for (std::vector<float>& some : paces) {
    float pace = pace_.empty() ? kUnknown : pace_.back();
    if (some.size() >= kFewestOfPace)
      pace = static_cast<float>(mean_near(some, static_cast<double>(middle_of(some)), kNearPace));
    pace_.push_back(pace);
  }
  const auto first_known = std::find_if(pace_.begin(), pace_.end(), [](float pace) { return pace != kUnknown; });
  std::fill(pace_.begin(), first_known, first_known == pace_.end() ? 1 : *first_known);
}

// Between the middles of two stretches it goes over from the one to the other.
double GpuDurations::pace_at(double ns) const {
  if (pace_.empty()) return 1;
  const double at = std::clamp((ns - pace_begin_ns_) / kPaceNs - 0.5, 0.0, static_cast<double>(pace_.size() - 1));
  const auto before = static_cast<std::size_t>(at);
  const std::size_t after = std::min(before + 1, pace_.size() - 1);
  const double part = at - static_cast<double>(before);
  return (1 - part) * static_cast<double>(pace_[before]) + part * static_cast<double>(pace_[after]);
}

// Of ops that are mostly too short to be timed, those that are not are the longest.
OpDuration GpuDurations::of_samples(const GpuOpKind& kind, std::vector<float>& all, std::size_t bounds,
                                    double bound_ns) const {
  const OpDuration told = all.size() <= bounds ? shortest(bounds, bound_ns) : robust_duration(all);
  return can_last(kind, told.ns) ? told : OpDuration{};
}

// How long an op lasts at most that is too short to be timed in an empty stream. The shortest of many readings may be a step of the clock
// too short. Behind another op it begins where that ends, not so long after its call.
double GpuDurations::bound_of(const Samples& samples, std::uint32_t kind) const {
  const std::vector<float>&most = samples.most[kind], &behind = samples.behind[kind];
  if (most.empty()) return std::numeric_limits<double>::infinity();
  double least = static_cast<double>(*std::min_element(most.begin(), most.end())) - start_ns_;
  if (!behind.empty()) least = std::min(least, static_cast<double>(*std::min_element(behind.begin(), behind.end())));
  return kClockStepNs + std::max(0.0, least);
}

// Half of what it can be, give or take as much.
OpDuration GpuDurations::shortest(std::size_t bounds, double bound_ns) {
  OpDuration duration;
  if (bound_ns > kTellingNs) return duration;
  duration.ns = duration.spread_ns = bound_ns / 2;
  duration.samples = static_cast<std::uint32_t>(bounds);
  duration.guessed = false;
  return duration;
}

// How soon the quickest kinds are done, which are a tenth of all pieces: work begins before that.
double GpuDurations::least_reached(const Samples& samples) {
  std::vector<std::pair<double, std::size_t>> kinds;  // the middle one, and how many there are
  std::size_t pieces = 0;
  for (std::vector<float> some : samples.reached) {
    if (some.size() < kFewest) continue;
    pieces += some.size();
    kinds.emplace_back(static_cast<double>(middle_of(some)), some.size());
  }
  std::sort(kinds.begin(), kinds.end());
  std::size_t quicker = 0;
  for (const auto& [ns, count] : kinds)
    if (quicker += count; static_cast<double>(quicker) >= kQuickest * static_cast<double>(pieces)) return ns;
  return std::numeric_limits<double>::infinity();
}

// What an event of our own took in an empty stream, and the quickest kind, tell it; better do kinds that were seen in a full stream and in an
// empty one. These begin by so much sooner as a GPU pauses between two ops of a stream, which is part of all that was seen in full ones.
void GpuDurations::find_start(const GpuWork& work, const Samples& samples) {
  std::vector<float> starts;
  for (std::uint32_t kind = 0; kind < work.kinds.size(); ++kind) {
    if (work.kinds[kind].collective || work.kinds[kind].type == GpuOpType::kCopy) continue;
    if (samples.full[kind].size() < kFewest || samples.empty[kind].size() < kFewest) continue;
    std::vector<float> full = samples.full[kind], empty = samples.empty[kind];
    starts.push_back(static_cast<float>(robust_duration(empty).ns - robust_duration(full).ns));
  }
  start_ns_ = kLaterNs + (work.empty_event_ns > 0 ? work.empty_event_ns : kUsualEventNs);
  start_ns_ = std::min(start_ns_, least_reached(samples) - kLeastWorkNs);
  start_ns_ = std::clamp(start_ns_, 0.0, kMostStartNs);
  if (starts.empty()) return;
  const double begin_ns = start_ns_;
  start_ns_ = std::clamp(static_cast<double>(middle_of(starts)), 0.0, kMostStartNs);
  pause_ns_ = std::clamp(begin_ns - start_ns_, 0.0, kMostPauseNs);
}

// Of kinds that nobody timed: the same kernel with another grid, else as long as kernels are; copies and fills by their bytes.
void GpuDurations::guess(const GpuWork& work, const Samples& samples) {
  std::map<std::uint64_t, std::vector<float>> by_kernel;
  std::vector<float> all;
  for (std::uint32_t kind = 0; kind < work.kinds.size(); ++kind) {
    if (work.kinds[kind].type != GpuOpType::kKernel || durations_[kind].guessed) continue;
    by_kernel[work.kinds[kind].what].push_back(static_cast<float>(durations_[kind].ns));
    all.push_back(static_cast<float>(durations_[kind].ns));
  }
  const double usual_ns = all.empty() ? 0 : static_cast<double>(middle_of(all));
  for (std::uint32_t kind = 0; kind < work.kinds.size(); ++kind) {
    OpDuration& own = durations_[kind];
    const GpuOpKind& what = work.kinds[kind];
    if (!own.guessed || what.type >= GpuOpType::kCallback) continue;
    const auto same = by_kernel.find(what.what);
    const double rate = what.type == GpuOpType::kFill ? kFillBytesPerNs : kCopyBytesPerNs;
    if (what.type == GpuOpType::kCopy || what.type == GpuOpType::kFill)
      own.ns = kCopyNs + static_cast<double>(what.bytes) / rate;
    else
      own.ns = what.type == GpuOpType::kKernel && same != by_kernel.end() ? static_cast<double>(middle_of(same->second))
                                                                          : usual_ns;
    own.ns = std::min(own.ns, bound_of(samples, kind));
    own.spread_ns = own.ns;
  }
}

}  // namespace hostprobe::analysis
