// counter_block.cpp: see counter_block.h. A thread may be counting meanwhile: words are read one by one, each is right, and one
// that is behind is right in the next row.
#include "probe/writer/file/counter_block.h"

#include "probe/runtime/of_process.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

#define HP_READS_LIVE_COUNTS __attribute__((no_sanitize("thread")))

HP_KEPT_BY_CHILDREN std::uint64_t g_buckets[2 * kSpanBuckets];

HP_READS_LIVE_COUNTS std::uint32_t gather(const Spans& spans, SpansTotal& total, std::uint64_t mark, std::uint32_t at) {
  total = {__atomic_load_n(&spans.ticks, __ATOMIC_RELAXED), __atomic_load_n(&spans.max_ticks, __ATOMIC_RELAXED)};
  for (std::uint32_t i = 0; i < kSpanBuckets; ++i) {
    std::uint64_t count = __atomic_load_n(&spans.buckets[i], __ATOMIC_RELAXED);
    if (count != 0) g_buckets[at++] = i | mark | count << 16;
  }
  return at;
}

}  // namespace

bool write_row(BlockKind kind, const SiteCounter& counters) {
  CounterRow row{{counters.key, counters.thread_start_ticks, counters.tid, counters.waker_tid, 0, 0, {}, {}},
                 counters.object,
                 counters.amount};
  row.site.bucket_count = gather(counters.time, row.site.time, 0, 0);
  row.site.bucket_count = gather(counters.wake, row.site.wake, kWakeBucket, row.site.bucket_count);
  const bool is_short = kind == kBlockShortWaits || kind == kBlockStartShortWaits;
  std::size_t head = is_short ? sizeof row.site : sizeof row;
  iovec parts[] = {{&row, head}, {g_buckets, row.site.bucket_count * sizeof(std::uint64_t)}};
  return append_block(kind, parts, 2);
}

HP_READS_LIVE_COUNTS std::uint64_t count_of(const Spans& spans) {
  std::uint64_t count = 0;
  for (const std::uint64_t& bucket : spans.buckets) count += __atomic_load_n(&bucket, __ATOMIC_RELAXED);
  return count;
}

}  // namespace hostprobe::probe
