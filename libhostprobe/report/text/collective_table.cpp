// collective_table.cpp: see collective_table.h.
#include "collective_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShortCollectives = 6;

// A rank that is nearly always last is what the others wait for; but somebody always is.
std::string last_text(const CollectiveAnswer& collective) {
  if (!collective.last_beyond_chance) return "";
  return fmt::format("rank {} in {:.0f} %", *collective.last_rank, collective.last_share_pct);
}

}  // namespace

std::string collective_table(const RunAnswer& run, bool all) {
  if (run.collectives.empty()) return {};
  Lines out;
  out.line("");
  out.line("COLLECTIVES · all ranks together; skew is from the first rank's arrival to the last one's");
  out.line("{} {} {:>5} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8}  {}", left("operation", 13), left("communicator", 12),
           "ranks", "count", "bytes", "host p50", "host p99", "skew p50", "skew p99", "most often last");
  const std::size_t shown = all ? run.collectives.size() : std::min(run.collectives.size(), kShortCollectives);
  for (std::size_t i = 0; i < shown; ++i) {
    const CollectiveAnswer& one = run.collectives[i];
    const bool skew = one.skew.count() > 0;
    out.line("{} {} {:>5} {:>7} {:>9} {} {} {} {}  {}", left(one.operation, 13),
             left(one.communicator.empty() ? "?" : one.communicator.substr(0, 8), 12), one.ranks, compact(one.count),
             bytes_text(one.bytes), right(duration_text(one.host.percentile_ns(50)), 8),
             right(duration_text(one.host.percentile_ns(99)), 8),
             right(skew ? duration_text(one.skew.percentile_ns(50)) : "-", 8),
             right(skew ? duration_text(one.skew.percentile_ns(99)) : "-", 8), last_text(one));
  }
  if (shown < run.collectives.size()) out.line("  … and {} more (--all)", run.collectives.size() - shown);
  return out.take();
}

}  // namespace hostprobe::analysis
