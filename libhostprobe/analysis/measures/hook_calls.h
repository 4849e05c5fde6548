// hook_calls.h: how often each hooked function was called, also where no record is left.
//
// Room 3. For `report` and for the list of hooks.
#pragma once

#include <vector>

#include "answer/hook.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class HookCalls {
 public:
  explicit HookCalls(const Timeline& timeline) : hooks_(&timeline.trace().hooks), calls_(timeline.functions().size()) {}
  void add(const Event& event) {
    if (event.function != nullptr && !event.counted) calls_[event.function->row] += event.count;
  }
  void add(const LaunchRun& run) {
    for (const PlainLaunch& launch : run.launches) ++calls_[launch.function->row];
  }
  void merge(const HookCalls& other) {
    for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i] += other.calls_[i];
  }
  std::vector<HookAnswer> finish() const {
    std::vector<HookAnswer> hooks;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Hook& hook = (*hooks_)[i];
      hooks.push_back({hook.name, hook.family, hook.found, hook.used, calls_[i]});
    }
    return hooks;
  }

 private:
  const std::vector<Hook>* hooks_;
  std::vector<std::uint64_t> calls_;  // by row of the hook table
};

}  // namespace hostprobe::analysis
