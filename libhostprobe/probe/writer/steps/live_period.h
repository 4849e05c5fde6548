// live_period.h: calls of one thread are gathered until it is known what repeats in them once in a step.
//
// Room 2 (probe/). The writer thread. The memory, at most 12 MiB and touched only as far as it is filled, is mapped for a search and
// goes with its end. A search that took a time t is followed by none for a thousand times t: so searching costs at most a thousandth of
// a core.
#pragma once

#include "steps/step_period.h"

namespace hostprobe::probe {

class LivePeriod {
 public:
  static constexpr std::size_t kMostTokens = 65536;
  enum class Result : std::uint8_t { kMore, kFound, kNone };

  // Of waits for other threads, instead of launches and collectives. False: no memory.
  bool begin(bool of_waits);
  void end();
  bool is_open() const { return tokens_ != nullptr; }
  bool of_waits() const { return of_waits_; }
  std::size_t count() const { return count_; }

  void add(const Token& token) {
    if (count_ < kMostTokens) tokens_[count_++] = token;
  }
  // kFound: `cut` says where. kNone: as many calls as there is room for show none.
  Result look(std::uint64_t now_ns, StepCut& cut);

 private:
  static constexpr std::size_t kFirst = 1024;
  static constexpr std::uint64_t kLateNs = 10'000'000'000;  // a program that makes few calls is looked at by the clock
  static constexpr std::uint64_t kCostShare = 1000;

  bool is_due(std::uint64_t now_ns) const;

  Token* tokens_ = nullptr;
  void* work_ = nullptr;
  std::size_t count_ = 0, looked_at_ = 0;
  std::uint64_t looked_ns_ = 0, not_before_ns_ = 0;
  StepCut before_;  // what the last look found
  bool has_before_ = false, of_waits_ = false;
};

}  // namespace hostprobe::probe
