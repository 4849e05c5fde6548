// wait.cpp: see wait.h.
#include "wait.h"

#include <algorithm>

namespace hostprobe::analysis {

const char* link_name(LinkType type) {
  switch (type) {
    case LinkType::kRuns:
      return "runs";
    case LinkType::kWakesLate:
      return "wakes_late";
    case LinkType::kGpu:
      return "gpu";
    case LinkType::kIo:
      return "io";
    case LinkType::kTimer:
      return "timer";
    case LinkType::kForeign:
      return "foreign";
    case LinkType::kUnexplained:
      return "unexplained";
  }
  return "unexplained";
}

Role WaitSite::main_waker() const {
  const auto most =
      std::max_element(wakers.begin(), wakers.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
  return most == wakers.end() ? Role::kOther : most->first;
}

ThreadKey WaitSite::main_waker_thread() const {
  const auto most = std::max_element(waker_threads.begin(), waker_threads.end(),
                                     [](const auto& l, const auto& r) { return l.second < r.second; });
  return most == waker_threads.end() ? ThreadKey{} : most->first;
}

double WaitSite::ms_for(WaitPurpose purpose) const {
  const auto found = purpose_ms.find(purpose);
  return found == purpose_ms.end() ? 0 : found->second;
}

double WaitSite::share_for(WaitPurpose purpose) const {
  const double total_ms = 1e-6 * time.total_ns();
  return total_ms > 0 ? share_pct * std::min(1.0, ms_for(purpose) / total_ms) : 0;
}

}  // namespace hostprobe::analysis
