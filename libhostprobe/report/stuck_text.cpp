// stuck_text.cpp: see stuck_text.h.
#include "stuck_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "words/words.h"

namespace hostprobe::analysis {

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
    names += fmt::format("{}rank {} ({}{}{})", i == 0 ? "" : ", ", missing.job_rank.value_or(missing.rank), last,
                         missing.has_main ? ", its main thread " : "", doing_text(missing));
  }
  if (stuck.missing.size() > kShown) names += fmt::format(" and {} more", stuck.missing.size() - kShown);
  return fmt::format("{} of {} ranks are in {} #{} of communicator {} since {}; not there: {}.", stuck.arrived,
                     stuck.ranks, stuck.operation, stuck.sequence, stuck.communicator.substr(0, 8),
                     duration_text(1e6 * stuck.since_ms), names);
}

}  // namespace hostprobe::analysis
