// closing.cpp: see closing.h.
#include "probe/writer/closing.h"

#include "probe/record/chunk.h"
#include "probe/record/doors.h"
#include "probe/record/hold.h"
#include "probe/writer/counters/aggregate.h"
#include "probe/writer/counters/merge.h"
#include "probe/writer/counters/thread_entries.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/round.h"
#include "probe/writer/trace.h"

namespace hostprobe::probe {

bool write_the_rest() {
  if (!ready_to_write()) return file_was_removed();  // then nobody can find the segment either
  const bool is_complete = work_last_round();
  close_file();
  // The writer is still in the IPC namespace that the segment is in; the thread that ends the process may have left it.
  if (is_complete) remove_segment();
  return is_complete;
}

bool write_to_the_end() {
  if (g_file.error != 0 || !ready_to_write()) return false;
  const bool is_written = work_last_round();
  aggregate_only_later_records();
  merge_only_later_threads();
  const bool is_whole = is_written && g_file.error == 0;
  is_whole ? remove_segment() : static_cast<void>(refresh_header(kFileOpen));
  done_writing();
  return is_whole;
}

void write_on() {
  if (!ready_to_write()) return;
  if (g_header.segment_id >= 0 && is_held() && living_threads() <= (has_writer() ? 2 : 1) && renew_segment())
    g_header.segment_id = g_segment.id;
  refresh_header(kFileOpen);
  done_writing();
}

}  // namespace hostprobe::probe
