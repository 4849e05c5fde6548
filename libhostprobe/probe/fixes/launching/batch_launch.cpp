// batch_launch.cpp: kernel launches return once they are copied; a thread of ours gives them to the driver, in the same order.
//
// Room 2 (probe/). docs/decisions/0021-batch-launch.md says what is held back and what never is.
// Turning it on and off, by the writer; what waits is submitted before calls that could tell.

#include <errno.h>
#include <stdio.h>

#include <atomic>

#include "probe/fixes/launching/launch_targets.h"
#include "probe/fixes/launching/launcher.h"
#include "probe/fixes/launching/parameter_layout.h"
#include "probe/fixes/row/fix.h"
#include "probe/fixes/row/own_memory.h"
#include "probe/intercept/passages.h"
#include "probe/intercept/routes.h"
#include "probe/record/doors.h"
#include "probe/record/launch_order.h"
#include "probe/record/thread.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

enum class Stage : int { kOff, kOn, kClosing, kStandsBack };

HP_KEPT_BY_CHILDREN std::atomic<bool> g_wanted{false};
HP_OF_PROCESS std::atomic<Stage> g_stage{Stage::kOff};
HP_OF_PROCESS std::atomic<bool> g_untold{false};
HP_OF_PROCESS const char* g_why_not = nullptr;
HP_OF_PROCESS std::uint64_t g_submitted_before = 0;

void note(bool is_on, const char* text) { note_event(kEventFix, 0, is_on ? 1 : 0, 0, text); }

void note_count(const char* moment, bool is_on) {
  char text[96];
  snprintf(text, sizeof text, "batch_launch %s: %llu launches went through its queue", moment,
           static_cast<unsigned long long>(launches_submitted() - g_submitted_before));
  note(is_on, text);
}

// Events are the writer's to note.
void note_untold() {
  if (!g_untold.exchange(false, std::memory_order_acq_rel)) return;
  char text[128];
  if (g_stage.load(std::memory_order_acquire) != Stage::kStandsBack)
    return note(true, "batch_launch on: kernel launches are queued, and submitted by a thread of its own");
  snprintf(text, sizeof text, "batch_launch stands back: %s", g_why_not);
  note(false, text);
}

void settle(Stage stage, const char* why_not) {
  g_why_not = why_not;
  g_stage.store(stage, std::memory_order_release);
  g_untold.store(true, std::memory_order_release);
}

// nullptr: nothing is against it.
const char* reason_against() {
  if (usable_cpus() < 2) return "the process may use one CPU only, and the launching thread needs one of its own";
  if (!prepare_layouts()) return "the driver does not tell the parameters of kernels (cuFuncGetParamInfo)";
  if (passages_used_up()) return "the program has more copies of the driver's functions than there is room for";
  if (!prepare_launch_queue()) return "there is no memory for its queue";
  if (!replace_launch_targets()) return "another fix stands in front of the driver's launches";
  return nullptr;
}

// The queue is open last: from the first launch that waits, every call that could tell sees the gate.
void turn_on() {
  scan_new_objects(ScanBy::kPassing);
  if (routed_function("cuLaunchKernel") == nullptr) return;  // no driver yet
  if (const char* why_not = reason_against()) return settle(Stage::kStandsBack, why_not);
  g_submitted_before = launches_submitted();
  __atomic_fetch_or(&g_gate.launches, kLaunchesWait, __ATOMIC_SEQ_CST);
  launch_queue()->open();
  settle(Stage::kOn, nullptr);
}

// Calls go on through the queue's functions until all is submitted, so none overtakes one that waits.
void turn_off() {
  LaunchQueue& queue = *launch_queue();
  queue.close();
  g_stage.store(Stage::kClosing, std::memory_order_release);
  if (!queue.is_empty()) return;
  restore_launch_targets();
  dismiss_launcher();
  if (launcher_state() != Launcher::kNone) return;
  __atomic_fetch_and(&g_gate.launches, ~kLaunchesWait, __ATOMIC_SEQ_CST);
  g_stage.store(Stage::kOff, std::memory_order_release);
  note_count("off", false);
}

// At once where the driver is there: as recording begins, which is before the first launch, or by the writer. Never both.
void want(bool on) {
  g_wanted.store(on, std::memory_order_release);
  if (on && g_stage.load(std::memory_order_acquire) == Stage::kOff) turn_on();
}

void tend(bool last) {
  const bool wanted = g_wanted.load(std::memory_order_acquire);
  note_untold();
  const Stage stage = g_stage.load(std::memory_order_acquire);
  if (last) {
    if (stage == Stage::kOn) note_count("to the end", true);
    if (stage == Stage::kClosing) note_count("off", false);
    return;
  }
  switch (stage) {
    case Stage::kOff:
      if (wanted) turn_on();
      break;
    case Stage::kOn:
      if (launcher_state() == Launcher::kFailed) {
        turn_off();
        settle(Stage::kStandsBack, "no thread could be made");
      } else if (!wanted) {
        turn_off();
      }
      break;
    case Stage::kClosing:
      turn_off();
      break;
    case Stage::kStandsBack:
      if (!wanted) g_stage.store(Stage::kOff, std::memory_order_release);
      break;
  }
}

FixState state() {
  switch (g_stage.load(std::memory_order_acquire)) {
    case Stage::kOn:
      return g_wanted.load(std::memory_order_acquire) ? FixState::kOn : FixState::kUnderWay;
    case Stage::kClosing:
      return FixState::kUnderWay;
    case Stage::kStandsBack:
      return FixState::kStandsBack;
    case Stage::kOff:
      break;
  }
  return g_wanted.load(std::memory_order_acquire) ? FixState::kUnderWay : FixState::kOff;
}

}  // namespace

const Fix kBatchLaunchFix{fix_name::batch_launch, want, state, tend};

// Where a signal handler has interrupted a launch of this thread, waiting for that one would never end.
void submit_launches(bool handles_go) {
  LaunchQueue* queue = launch_queue();
  if (queue == nullptr || t_local.muted != 0 || is_putting_a_launch()) return;
  await_submitted(*queue, queue->tail());
  if (!handles_go) return;
  forget_layouts();
  forget_context_of_launcher();
}

}  // namespace hostprobe::probe
