// profile_wish.h: who wants PyTorch's profiler to record some steps, and how far that is.
//
// Room 2 (probe/). Wished by `hostprobe ctl` or by the steps themselves (HOSTPROBE_PROFILE), done by the writer and the interpreter
// (sources/profile_window.h). One window at a time: from the wish to its end no other wish is taken.
#pragma once

#include <cstdint>

#include "probe/record/step_lengths.h"

namespace hostprobe::probe {

enum class WindowState : std::uint32_t {
  kNone,
  kBeingFilled,
  kWished,  // the writer has not seen it yet
  kAsked,   // the interpreter has not come to it yet
  kArmed,   // the next step begins it
  kOpen,    // steps are recorded
  kEnded,   // the writer has not noted yet what came of it
};

// False: there is one already.
// `by_person`: it may take more disk than HOSTPROBE_DUMPS_MB.
bool wish_profile(std::uint64_t steps, const char* why, bool by_person);
struct ProfileWish {
  std::uint64_t steps;
  bool by_person;
  char why[48];
};
const ProfileWish& profile_wish();

WindowState window_state();
// False: it was in another state.
bool move_window(WindowState from, WindowState to);

// A step ended, which `before` does not hold yet: the rule of HOSTPROBE_PROFILE may want those that follow. Also keeps the count of
// steps that a window itself lengthens.
void consider_profile(std::uint64_t number, std::uint64_t length, const StepLengths& before);
// Whether what makes a step long now is a window: it begins or ends with work of the profiler.
bool window_lengthens_steps();

}  // namespace hostprobe::probe
