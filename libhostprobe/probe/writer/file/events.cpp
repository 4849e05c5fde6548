// events.cpp: see events.h.
#include "probe/writer/file/events.h"

#include <stdio.h>
#include <string.h>

#include "probe/record/child_ends.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

HP_OF_PROCESS char g_muted[24];

bool is_muted(EventKind kind, const char* text) {
  if (kind != kEventFix || g_muted[0] == 0) return false;
  const char* rest = after(text, g_muted);
  return rest != nullptr && (*rest == ' ' || *rest == ':');
}

}  // namespace

void mute_fix(const char* name) { snprintf(g_muted, sizeof g_muted, "%s", name == nullptr ? "" : name); }

bool note_event(EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount, const char* text) {
  return note_event_at(ticks(), kind, reason, number, amount, text);
}

bool note_event_at(std::uint64_t at, EventKind kind, std::uint32_t reason, std::uint64_t number, std::uint64_t amount,
                   const char* text) {
  if (is_muted(kind, text)) return true;
  EventRow row{at, kind, reason, number, amount, {}};
  memcpy(row.text, text, strnlen(text, sizeof row.text - 1));
  iovec part{&row, sizeof row};
  return append_block(kBlockEvents, &part, 1);
}

void note_child_ends() {
  for (ChildEnd end; take_child_end(end);) note_event(kEventChildEnded, 0, end.pid, end.status, "");
}

}  // namespace hostprobe::probe
