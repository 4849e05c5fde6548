// profile_script.h: a window of PyTorch's own profiler as the interpreter sees it: profile_text.h, evaluated.
//
// Room 2 (probe/). The writer asks; the interpreter's main thread arms the window, and the thread that trains opens and ends it.
#pragma once

#include "format/file.h"
#include "probe/record/profile_wish.h"

namespace hostprobe::probe {

// What came of a window: whole once its state is WindowState::kEnded.
struct WindowOutcome {
  bool done;
  std::uint64_t bytes;
  char text[sizeof EventRow::text];
};
const WindowOutcome& window_outcome();
// Nothing where the window is in another state.
void refuse_window(WindowState from, const char* text);

// The two must stay as they are until the window has ended. False: the interpreter cannot be asked now.
bool ask_script(const char* path, const char* part);
// In a program that tells of no step. Three times in a row: the window begins, its warm-up is over, so many steps have passed.
enum class WindowMoment : std::uint32_t { kBegin, kWarm, kEnd };
// `steps` and `usual_us` of kBegin. False: the interpreter cannot be asked now.
bool move_window_by_time(WindowMoment moment, std::uint64_t steps, std::uint64_t usual_us);
// Ends a window whose steps do not come, if its thread is the interpreter's main one. `why` stays.
void withdraw_script(const char* why);

}  // namespace hostprobe::probe
