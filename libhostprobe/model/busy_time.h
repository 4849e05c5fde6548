// busy_time.h: when the GPU had something to do: the union of all its activities, as spans without a gap.
//
// Room 3. From a DeviceTimeline, whose activities stand in the order in which they begin.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "activity.h"
#include "answer/window.h"

namespace hostprobe::analysis {

// The GPU is busy from begin to end, and was not before.
struct BusySpan {
  double begin_ns = 0;
  double end_ns = 0;
  std::size_t first = 0;  // the activity that began it
  std::size_t last = 0;   // that ended it
};

enum class Certainty : std::uint8_t { kAny, kKnown };

// Of all streams, or of those of one device; kKnown: without what may have been busy or not. Spans that touch are one.
std::vector<BusySpan> busy_spans(const DeviceTimeline& device, std::optional<std::uint32_t> ordinal = std::nullopt,
                                 Certainty certainty = Certainty::kAny);

// From one activity that is there to the next the GPU takes 1 to 1.4 us (bench/gpu/RESULTS.md): it is no idleness. Spans so near are one.
std::vector<BusySpan> without_hand_overs(const std::vector<BusySpan>& spans);

// How much of the window the spans fill.
double busy_ns(const std::vector<BusySpan>& spans, const Window& window);

}  // namespace hostprobe::analysis
