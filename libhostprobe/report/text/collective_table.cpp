// collective_table.cpp: see collective_table.h.
#include "collective_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/columns.h"
#include "report/text_table.h"
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

std::string collective_table(const RunAnswer& run, const ReportOptions& options) {
  TextTable table({{.heading = "operation", .is_name = true},
                   {.heading = "communicator", .is_name = true, .spare = 3},
                   {.heading = "ranks"},
                   {.heading = "count"},
                   {.heading = "bytes", .spare = 4},
                   {.heading = "host p50"},
                   {.heading = "host p99", .spare = 2},
                   {.heading = "skew p50"},
                   {.heading = "skew p99", .spare = 1},
                   {.heading = "most often last", .is_name = true, .least = 12}});
  const std::size_t shown = options.all ? run.collectives.size() : std::min(run.collectives.size(), kShortCollectives);
  for (std::size_t i = 0; i < shown; ++i) {
    const CollectiveAnswer& one = run.collectives[i];
    const bool skew = one.skew.count() > 0, ended = one.host.percentile_ns(100) > 0;
    table.add({printable(one.operation), one.communicator.empty() ? "?" : one.communicator.substr(0, 8),
               std::to_string(one.ranks), compact(one.count), bytes_text(one.bytes),
               ended ? duration_text(one.host.percentile_ns(50)) : "-",
               ended ? duration_text(one.host.percentile_ns(99)) : "-",
               skew ? duration_text(one.skew.percentile_ns(50)) : "-",
               skew ? duration_text(one.skew.percentile_ns(99)) : "-", last_text(one)});
  }
  return table.text(options.width) + more_text(shown, run.collectives.size());
}

}  // namespace hostprobe::analysis
