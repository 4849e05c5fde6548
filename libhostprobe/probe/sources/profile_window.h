// profile_window.h: windows of a few steps in which PyTorch's own profiler records what ran on the GPU.
//
// Room 2 (probe/). The writer asks the interpreter (hooks/python_shim.h); there profile_script.h registers a hook of torch's optimizers,
// which begins and ends the window on the thread that trains. What torch.profiler exports lies beside the trace, as
// <trace>-NNNN.profile.json; import/window_files.h makes it a trace. docs/reference/control.md, "A window of PyTorch's profiler".
#pragma once

#include <cstddef>

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Writer thread: `hostprobe ctl PID profile`, "N" steps. False: `why` says why not. What the interpreter then says is in window_news().
bool ask_for_window(const char* steps, char* why, std::size_t bytes);

struct WindowNews {
  const char* state;  // none, asked, armed, open
  unsigned windows;   // that are in the run folder
  unsigned ended;     // how many have ended, whatever came of them
  bool refused;       // the last that ended left no profile
  const char* text;   // of the last that ended: what it cost, or why there is none
  const char* path;   // of the last that was asked for
};
WindowNews window_news();

// As Source::due.
std::uint64_t take_window_wish(const Round& round);
void tend_windows(const Round& round);

}  // namespace hostprobe::probe
