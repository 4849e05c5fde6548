// delay_chain_text.cpp: see delay_chain_text.h.
#include "delay_chain_text.h"

#include "answer/delay.h"
#include "columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

const char* meaning(DelayLink link) {
  switch (link) {
    case DelayLink::kPoll:
      return "a progress thread looks at its work again";
    case DelayLink::kProgressIo:
      return "it blocks in a call";
    case DelayLink::kWake:
      return "a woken main thread runs";
    case DelayLink::kLaunchGap:
      return "from a launch to the next";
    case DelayLink::kArrival:
      return "the last rank comes to a collective";
    case DelayLink::kOthersWait:
      return "a rank's kernel waits there for it";
  }
  return "";
}

std::string worst_text(const DelayRow& row) {
  return row.worst ? fmt::format("rank {}, p99 {}", *row.worst, duration_text(row.worst_p99_ns)) : "";
}

}  // namespace

std::string delay_chain_text(const RunAnswer& run) {
  const std::vector<DelayRow>& rows = run.delay_chain;
  if (rows.size() < 2) return {};
  Lines out;
  out.line("");
  out.line("FROM A LATE POLL TO A LATE COLLECTIVE · how long each link takes, on all ranks, and where it is longest");
  out.line("{} {:>8} {:>9} {:>9} {:>9}  {}", left("link", 37), "count", "p50", "p99", "max", "longest on");
  for (const DelayRow& row : rows)
    out.line("{} {:>8} {} {} {}  {}", left(meaning(row.link), 37), compact(row.time.count()),
             right(duration_text(row.time.percentile_ns(50)), 9), right(duration_text(row.time.percentile_ns(99)), 9),
             right(duration_text(row.time.max_ns()), 9), worst_text(row));
  return out.take();
}

Json delay_chain_json(const RunAnswer& run) {
  Json json = Json::array();
  for (const DelayRow& row : run.delay_chain)
    json.push_back({{"link", delay_link_name(row.link)},
                    {"count", row.time.count()},
                    {"p50_us", 1e-3 * row.time.percentile_ns(50)},
                    {"p99_us", 1e-3 * row.time.percentile_ns(99)},
                    {"max_us", 1e-3 * row.time.max_ns()},
                    {"rank", or_null(row.worst)},
                    {"rank_p99_us", row.worst ? Json(1e-3 * row.worst_p99_ns) : Json(nullptr)}});
  return json;
}

}  // namespace hostprobe::analysis
