// writer.cpp: the own thread. It sleeps until a thread of the program rings for it or something is due, works (round.h), and sleeps
// again; until it is sent away, or the trace ends.
//
// Room 2 (probe/). All signals blocked, a table of descriptors of its own (close_range with UNSHARE: the program's are not even copied),
// so a program that closes every descriptor neither harms the trace nor finds its own files written to. It records nothing itself.
#include "probe/record/doors.h"
#include "probe/runtime/clock.h"
#include "probe/sources/sources.h"
#include "probe/writer/completion.h"
#include "probe/writer/ending.h"
#include "probe/writer/new_objects.h"
#include "probe/writer/others.h"
#include "probe/writer/own_thread.h"
#include "probe/writer/round.h"
#include "probe/writer/sleep.h"
#include "probe/writer/thread_start.h"
#include "probe/writer/trace.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kPauseNs = 250000000;

bool told_to_stop() { return is_told_to_finish() || is_asked_to_leave(); }

bool is_called() { return told_to_stop() || completion_is_wanted(); }

// False: nobody waits for it any longer.
bool leave() {
  if (!agree_to_leave()) return false;
  end_sources(ready_to_write());
  end_own_thread();
  hand_trace_on();
  return true;
}

// False: the trace has ended meanwhile, without us.
bool write_until_told() {
  for (std::uint64_t next_round_ns = 0; !told_to_stop(); sleep_until_needed(next_round_ns, is_called)) {
    answer_completion(told_to_stop);
    const bool is_round = read_clock_ns(CLOCK_MONOTONIC) >= next_round_ns;
    if (is_round && !look_at_new_objects()) return false;
    if (ready_to_write()) {
      is_round ? work_round() : work_between();
      done_writing();
    }
    if (is_round) next_round_ns = read_clock_ns(CLOCK_MONOTONIC) + kPauseNs;
    if (is_round && all_others_ended()) finish_by_itself();
  }
  return true;
}

void* run_writer(void* parked) {
  begin_own_thread(reinterpret_cast<const void*>(&start_writer));
  take_trace_over(static_cast<int>(reinterpret_cast<std::intptr_t>(parked)));
  prepare_rounds();
  while (!is_told_to_finish()) {
    if (!write_until_told()) return nullptr;
    if (!is_told_to_finish() && leave()) return nullptr;
  }
  finish_as_writer();
  end_if_last();
  return nullptr;
}

}  // namespace

void start_writer() { start_own_thread(run_writer); }

}  // namespace hostprobe::probe
