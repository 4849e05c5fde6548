// wake.cpp: see wake.h.
#include "wake.h"

#include "trace/records.h"

namespace hostprobe::analysis {

std::optional<Wake> wake_of(const Function& function, const Record& record) {
  const std::uint64_t post = word(record, function.waker);
  if (!function.is(kWaits) || post == 0 || (record.flags & (kRecordTimedOut | kRecordAggregated)) != 0)
    return std::nullopt;
  const Wake wake{post_tid(post), post_ticks(post, record.end_ticks)};
  if (wake.ticks < record.begin_ticks || wake.ticks > record.end_ticks) return std::nullopt;
  return wake;
}

}  // namespace hostprobe::analysis
