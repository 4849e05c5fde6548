// sample_rows.cpp: see sample_rows.h.
#include "probe/sources/sample_rows.h"

#include "probe/record/limits.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/row_ring.h"

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN SampleRow g_rows[kSampleRows];
HP_OF_RECORDING RowRing<SampleRow, kSampleRows> g_ring;

}  // namespace

void keep_sample(const SampleRow& row) { g_ring.add(g_rows, row); }

void write_samples(std::uint64_t most_ticks) {
  const std::uint64_t now = ticks();
  while (most_ticks != 0 && g_ring.count > 0 && now > g_rows[g_ring.first].ticks &&
         now - g_rows[g_ring.first].ticks > most_ticks)
    g_ring.drop_oldest();
  g_ring.write(g_rows, kBlockSamples);
}

void dump_samples() { write_samples(g_limits.flight_ticks); }

}  // namespace hostprobe::probe
