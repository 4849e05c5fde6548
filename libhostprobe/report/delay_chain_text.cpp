// delay_chain_text.cpp: see delay_chain_text.h.
#include "delay_chain_text.h"

#include "answer/delay.h"
#include "columns.h"
#include "text_table.h"
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

std::string delay_chain_text(const RunAnswer& run, std::size_t width) {
  const std::vector<DelayRow>& rows = run.delay_chain;
  if (rows.size() < 2) return {};
  TextTable table({{.heading = "link", .is_name = true, .least = 20},
                   {.heading = "count", .spare = 1},
                   {.heading = "p50"},
                   {.heading = "p99"},
                   {.heading = "max"},
                   {.heading = "longest on", .is_name = true}});
  for (const DelayRow& row : rows)
    table.add({meaning(row.link), compact(row.time.count()), duration_text(row.time.percentile_ns(50)),
               duration_text(row.time.percentile_ns(99)), duration_text(row.time.max_ns()), worst_text(row)});
  return table.text(width);
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
