// api.cpp: the functions behind include/hostprobe/hostprobe.h, handed out in one table.
//
// Room 2 (probe/). On any thread of the program. The table is filled by the call that asks for it: filled
// by the linker it would be relocated in every process that starts.
#include <errno.h>

#include "hostprobe/hostprobe.h"
#include "probe/hooks/regions.h"
#include "probe/hooks/steps.h"
#include "probe/record/chunk.h"
#include "probe/record/gate.h"
#include "probe/record/hook.h"
#include "probe/record/trigger.h"
#include "probe/record/wait.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

// A process whose recording a wait began, perhaps in a signal handler, may have no writer yet, and nothing here works without.
bool with_writer(bool yes) {
  if (yes) start_writer();
  return yes;
}

int active() { return with_writer(recording_or_begun(Moment::kPlain)) ? 1 : 0; }

int trigger(const char* why) {
  int saved = errno;
  bool taken = with_writer(trace_is_open()) && request_trigger(kByProgram, why == nullptr ? "" : why);
  errno = saved;
  return taken ? 1 : 0;
}

int step(std::uint64_t number) {
  bool recorded = note_step(number, HP_SITE);
  return with_writer(recorded) ? 1 : 0;
}

int step_over() { return with_writer(end_step(HP_SITE)) ? 1 : 0; }

// What begins a recording may be a region, and only a writer makes it last.
std::uint64_t region_begun() {
  std::uint64_t begun = begin_region();
  with_writer(begun != 0);
  return begun;
}

int region_over(const char* name, std::uint64_t begun) { return end_region(name, begun, HP_SITE) ? 1 : 0; }

int mark(const char* name, double value) { return with_writer(note_mark(name, value, HP_SITE)) ? 1 : 0; }

// Whoever reads the shared memory learns it at once; of what `hostprobe ctl` asks, by the writer.
int tell_move(bool done) {
  if (done) __atomic_store_n(&g_segment.header->gate_moves, gate_moves(), __ATOMIC_RELAXED);
  return done ? 1 : 0;
}

int start() { return tell_move(resume_recording()); }

// Perhaps the very first call: a program that begins with a pause is one worth a trace.
int stop() {
  with_writer(recording_or_begun(Moment::kGpu));
  return tell_move(pause_recording());
}

HP_KEPT_BY_CHILDREN hostprobe_calls g_calls{};

}  // namespace
}  // namespace hostprobe::probe

extern "C" HP_EXPORT const hostprobe_calls* hp_calls(std::uint32_t version) __asm__("hostprobe_calls");
extern "C" const hostprobe_calls* hp_calls(std::uint32_t version) {
  using namespace hostprobe::probe;
  if (version < 1) return nullptr;
  g_calls = {HOSTPROBE_CALLS_VERSION,
             sizeof g_calls,
             active,
             trigger,
             step,
             start,
             stop,
             step_over,
             region_begun,
             region_over,
             mark};  // by several threads: the same
  return &g_calls;
}
