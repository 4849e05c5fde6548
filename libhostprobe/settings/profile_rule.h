// profile_rule.h: the value of HOSTPROBE_PROFILE: when PyTorch's own profiler is to record some steps, and how many.
//
// Room pure/. "none", or words of every=N, slow=RATIO and steps=N with commas between them: "every=500,steps=3", "slow=1.5". The
// probe and the command read it alike.
#pragma once

#include <cstddef>

#include "name.h"
#include "setting_value.h"

namespace hostprobe {

// A step of a large model leaves some MiB of text, which is written while the program waits.
inline constexpr std::uint64_t kMostProfiledSteps = 100;
inline constexpr std::uint64_t kUsualProfiledSteps = 3;
inline constexpr std::uint64_t kMostEvery = 1000000000;
inline constexpr std::uint64_t kLeastSlow = 1050, kMostSlow = 1000000;  // thousandths of the usual step

struct ProfileRule {
  std::uint64_t every = 0;  // each so many steps; 0: not by their number
  std::uint64_t slow = 0;   // behind a step of so many thousandths of the usual one; 0: not by their length
  std::uint64_t steps = kUsualProfiledSteps;

  constexpr bool asks() const { return every != 0 || slow != 0; }
};

// False: it is no such value.
inline bool parse_profile_rule(const char* text, ProfileRule& out) {
  out = {};
  const char* none = behind_start(text, "none");
  if (none != nullptr && *none == 0) return true;
  for (const char* at = text;;) {
    char word[24];
    std::size_t used = 0;
    for (; *at != 0 && *at != ','; ++at, ++used) {
      if (used == sizeof word - 1) return false;
      word[used] = *at;
    }
    word[used] = 0;
    bool is_read = false;
    if (const char* every = behind_start(word, "every="))
      is_read = parse_number(every, 1, kMostEvery, out.every);
    else if (const char* slow = behind_start(word, "slow="))
      is_read = parse_decimal(slow, kLeastSlow, kMostSlow, out.slow);
    else if (const char* steps = behind_start(word, "steps="))
      is_read = parse_number(steps, 1, kMostProfiledSteps, out.steps);
    if (!is_read) return false;
    if (*at++ == 0) break;
  }
  // One of them is open, with the step before it, until the next is due.
  return out.asks() && (out.every == 0 || out.every > out.steps + 1);
}

}  // namespace hostprobe
