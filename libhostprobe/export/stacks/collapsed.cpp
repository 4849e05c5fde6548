// collapsed.cpp: stacks as lines of text, "rank 0;main 4242;waiting;train (train.py:7);sem_wait 1234567", as flamegraph.pl, speedscope
// and others take them.
//
// Room 3. Numbers are nanoseconds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weighted_stacks.h"

namespace hostprobe::analysis {
namespace {

// A semicolon parts frames, and the last blank the number.
std::string frame_text(std::string text) {
  std::replace(text.begin(), text.end(), ';', ':');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<std::string> write_collapsed(const ExportRequest& request, const Sink& sink,
                                         const ExportProgress& progress) {
  const WeightedStacks all = collect_stacks(request.run, request.steps, request.steps.as_frames, progress);
  std::string text;
  for (const auto& [key, weight] : all.stacks) {
    std::string line;
    for (const std::string& frame : frames_from_root(all, key, request.steps.as_frames))
      line += (line.empty() ? "" : ";") + frame_text(frame);
    text += fmt::format("{} {}\n", line, std::llround(weight.ns));
    if (text.size() < kFlushBytes) continue;
    sink(text);
    text.clear();
  }
  sink(text);
  return all.problems;
}

}  // namespace

ExportForm collapsed_form() {
  return {"--flamegraph", "Stacks of running and of waiting time, a line each, in ns", ExportKind::kStacks,
          write_collapsed};
}

}  // namespace hostprobe::analysis
