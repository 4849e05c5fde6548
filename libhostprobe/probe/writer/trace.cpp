// trace.cpp: see trace.h.
#include "probe/writer/trace.h"

#include <string.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/doors.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/say.h"
#include "probe/writer/file/passed_file.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/own_entry.h"
#include "probe/writer/own_thread.h"

namespace hostprobe::probe {

HP_OF_PROCESS static std::atomic<bool> g_complained{false};

bool ready_to_write() { return g_file.fd >= 0 || (!g_own_descriptors && take_parked_file()) || open_file(); }

void done_writing() {
  if (!g_own_descriptors) close_file();
}

void take_trace_over(int parked) {
  g_own_descriptors = have_own_descriptors(parked);
  if (g_own_descriptors) ready_to_write();  // at once: the program may be about to lose the right to
}

void hand_trace_on() {
  pass_file_on();
  close_file();
}

bool refresh_header(FileState state) {
  g_header.state = state;
  g_header.last = read_clock_pair();
  g_header.process_cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (g_writer_state.load(std::memory_order_relaxed) == WriterState::kRunning)
    g_header.writer_cpu_ns = writers_cpu_ns();
  g_header.stacks_lost = g_segment.header->stacks_lost;
  g_segment.header->clock = g_header.last;
  g_segment.header->process_cpu_ns = g_header.process_cpu_ns;
  g_segment.header->writer_cpu_ns = g_header.writer_cpu_ns;
  return write_header();
}

void report_write_failure() {
  if (g_file.error == 0 || g_complained.exchange(true, std::memory_order_relaxed)) return;
  say("cannot write %s (%s): records are lost and counted until it can be written again; free space or choose another "
      "HOSTPROBE_OUT",
      g_file.path, strerrordesc_np(g_file.error));
}

}  // namespace hostprobe::probe
