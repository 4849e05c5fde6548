// reading_events.cpp: see reading_events.h.
#include "reading_events.h"

#include "format/imported.h"

namespace hostprobe::analysis {

void add_reading_events(const LeftOut& left_out, const std::string& problem, std::uint64_t read_bytes,
                        std::uint64_t all_bytes, std::uint64_t ticks, TraceWriter& out) {
  EventRow row{};
  row.ticks = ticks;
  if (!problem.empty()) {
    row.kind = kEventReadInPart;
    row.number = read_bytes;
    row.amount = all_bytes;
    set_field(row.text, problem);
    out.add_event(row);
  }
  row.kind = kEventLeftOut;
  for (const auto& [kind, all] : left_out.kinds()) {
    row.reason = all.first_byte ? kLeftOutHasPlace : 0;
    row.number = all.first_byte.value_or(0);
    row.amount = all.count;
    set_field(row.text, kind);
    out.add_event(row);
  }
}

}  // namespace hostprobe::analysis
