// live_period.cpp: see live_period.h. As in the analysis a cut that is certain is taken at once; any other may be that of a layer or a
// micro-batch, and is taken only where four times as many calls, or all that there is room for, show the same.
#include "probe/writer/steps/live_period.h"

#include <sys/mman.h>
#include <time.h>

#include "probe/record/chunk.h"
#include "probe/runtime/clock.h"
#include "steps/wait_period.h"

namespace hostprobe::probe {
namespace {

constexpr std::size_t kTokenBytes = LivePeriod::kMostTokens * sizeof(Token);
constexpr std::size_t kBytes = kTokenBytes + period_bytes(LivePeriod::kMostTokens);

}  // namespace

bool LivePeriod::begin(bool of_waits) {
  if (tokens_ == nullptr) {
    if (address_space_is_limited()) return false;  // what is left of it is the program's
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    tokens_ = static_cast<Token*>(memory);
    work_ = static_cast<char*>(memory) + kTokenBytes;
  }
  count_ = looked_at_ = 0;
  looked_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  has_before_ = false;
  of_waits_ = of_waits;
  return true;
}

void LivePeriod::end() {
  if (tokens_ != nullptr) munmap(tokens_, kBytes);
  tokens_ = nullptr;
}

bool LivePeriod::is_due(std::uint64_t now_ns) const {
  if (now_ns < not_before_ns_ || count_ < 2 * kLeastAnchors) return false;
  if (count_ >= kMostTokens) return true;
  const std::size_t next = looked_at_ == 0 ? kFirst : 4 * looked_at_;
  return count_ >= next || (now_ns - looked_ns_ > kLateNs && count_ > looked_at_ + looked_at_ / 2);
}

LivePeriod::Result LivePeriod::look(std::uint64_t now_ns, StepCut& cut) {
  if (!is_due(now_ns)) return Result::kMore;
  StepCut found;
  const std::uint64_t begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const bool any =
      of_waits_ ? find_wait_period(tokens_, count_, work_, found) : find_period(tokens_, count_, work_, found);
  not_before_ns_ = now_ns + kCostShare * (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
  const bool is_all = count_ >= kMostTokens;
  const bool same_again = any && has_before_ && found.arm == before_.arm && found.cut == before_.cut;
  looked_at_ = count_;
  looked_ns_ = now_ns;
  has_before_ = any;
  before_ = found;
  if (any && (found.is_certain || is_all || same_again)) {
    cut = found;
    return Result::kFound;
  }
  return is_all ? Result::kNone : Result::kMore;
}

}  // namespace hostprobe::probe
