// events.cpp: see events.h.
#include "probe/writer/file/events.h"

#include <string.h>

#include "probe/record/child_ends.h"
#include "probe/runtime/clock.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {

bool note_event(EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount, const char* text) {
  EventRow row{ticks(), kind, reason, number, amount, {}};
  memcpy(row.text, text, strnlen(text, sizeof row.text - 1));
  iovec part{&row, sizeof row};
  return append_block(kBlockEvents, &part, 1);
}

void note_child_ends() {
  for (ChildEnd end; take_child_end(end);) note_event(kEventChildEnded, 0, end.pid, end.status, "");
}

}  // namespace hostprobe::probe
