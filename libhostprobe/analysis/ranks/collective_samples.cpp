// collective_samples.cpp: see collective_samples.h.
#include "collective_samples.h"

#include <algorithm>

#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

struct Row {
  std::uint16_t number = 0;  // as in a record; 0: the trace has none
  int communicator = -1, gpu = -1, slack = -1, sequence = -1;
};

Row find_row(const Trace& trace) {
  for (std::size_t i = 0; i < trace.hooks.size(); ++i) {
    const Hook& hook = trace.hooks[i];
    if (hook.role != HookRole::kGpuTime) continue;
    const Row row{static_cast<std::uint16_t>(i + 1), hook.word_of("comm"), hook.word_of("gpu_ns"),
                  hook.word_of("slack_ns"), hook.word_of("sequence")};
    if (row.communicator >= 0 && row.gpu >= 0 && row.slack >= 0 && row.sequence >= 0) return row;
  }
  return {};
}

}  // namespace

CollectiveSamples collective_samples(const Timeline& timeline) {
  CollectiveSamples samples;
  const Row row = find_row(timeline.trace());
  if (row.number == 0) return samples;
  const auto add = [&](const Slice& slice) {
    for (const Record& record : slice.records())
      if (record.hook == row.number)
        samples[{word(record, row.communicator), static_cast<std::uint32_t>(word(record, row.sequence))}] = {
            static_cast<double>(word(record, row.gpu)), static_cast<double>(word(record, row.slack))};
  };
  try {
    for (const Track& track : timeline.tracks())
      for (const Slice& slice : track.thread->slices)
        if (slice.may_hold(row.number)) add(slice);
  } catch (const TraceError&) {
    return {};  // somebody changed the file since it was read
  }
  return samples;
}

}  // namespace hostprobe::analysis
