// stuck_text.cpp: see stuck_text.h.
#include "stuck_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/telling_frames.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// ", in forget (train.py:20)": the frame that says most; "" where no stack was taken.
std::string place_text(std::vector<std::string> stack) {
  // Every collective of PyTorch's goes through these.
  std::erase_if(stack, [](const std::string& frame) {
    return frame.find("distributed_c10d.py:") != std::string::npos ||
           frame.find("c10d_logger.py:") != std::string::npos;
  });
  const std::string frame = telling_place(stack);
  return frame.empty() ? "" : ", in " + printable(frame);
}

}  // namespace

std::string doing_text(const MissingRank& missing) {
  if (!missing.has_main) return {};
  if (!missing.open_wait) return "runs";
  const OpenWaitAnswer& wait = *missing.open_wait;
  return fmt::format("waits in {} of {}{}", printable(wait.function), printable(wait.library),
                     wait.ms < 1 ? "" : " since " + duration_text(1e6 * wait.ms));
}

std::string stuck_text(const StuckCollective& stuck) {
  std::string names;
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(stuck.missing.size(), kShown); ++i) {
    const MissingRank& missing = stuck.missing[i];
    const std::string last = missing.sequence == 0 ? "never seen there" : fmt::format("last in #{}", missing.sequence);
    names += fmt::format("{}rank {} ({}{}{}{})", i == 0 ? "" : ", ", missing.job_rank.value_or(missing.rank), last,
                         place_text(missing.stack), missing.has_main ? ", its main thread " : "", doing_text(missing));
  }
  if (stuck.missing.size() > kShown) names += fmt::format(" and {} more", stuck.missing.size() - kShown);
  return fmt::format("{} of {} ranks are in {} #{} of communicator {} since {}{}; not there: {}.", stuck.arrived,
                     stuck.ranks, stuck.operation, stuck.sequence, stuck.communicator.substr(0, 8),
                     duration_text(1e6 * stuck.since_ms), place_text(stuck.stack), names);
}

}  // namespace hostprobe::analysis
