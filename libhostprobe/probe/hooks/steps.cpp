// steps.cpp: see steps.h. What makes a step slow: step_lengths.h.
#include "probe/hooks/steps.h"

#include "probe/record/doors.h"
#include "probe/record/hook.h"
#include "probe/record/profile_wish.h"
#include "probe/record/step_lengths.h"
#include "probe/record/trigger.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/options.h"

HP_ROW(kPython, kStep, hostprobe_step, "", 0, 0, "number", "", "site:code", "", "")
HP_ROW(kPython, kOptimizerStep, hostprobe_optimizer_step, "", 0, 0, "number", "", "", "", "")

namespace hostprobe::probe {
namespace {

// Which optimizer's steps are the program's: the first one, as long as it steps. Another one that steps thrice meanwhile
// takes its place.
struct Speaker {
  const void* optimizer;
  const void* other;  // the first one that stepped since
  std::uint32_t rounds;

  bool is(const void* one) {
    if (optimizer == nullptr || rounds == kRoundsAlone) *this = {one, nullptr, 0};
    if (one == optimizer) {
      other = nullptr;
      rounds = 0;
      return true;
    }
    if (other == nullptr) other = one;
    if (one == other) ++rounds;
    return false;
  }

 private:
  static constexpr std::uint32_t kRoundsAlone = 3;
};

struct Steps {
  std::uint64_t last_end_ticks;  // 0: none yet, or nothing was recorded meanwhile
  std::uint64_t number;          // of the one under way
  StepLengths lengths;
  Speaker speaker;
};
constinit thread_local Steps t_steps{};

double ms_of(std::uint64_t length_ticks) {
  ClockPair now = read_clock_pair(), then = load_clock();
  return static_cast<double>(length_ticks) * 1e-6 * static_cast<double>(now.monotonic_ns - then.monotonic_ns) /
         static_cast<double>(now.ticks - then.ticks);
}

bool finish_step(const Hook& hook, std::uint64_t begin, std::uint64_t end, std::uint64_t number, const void* site) {
  Steps& s = t_steps;
  write_record(hook, begin, end, number, 0, reinterpret_cast<std::uint64_t>(site));
  const std::uint64_t length = end - begin;
  const bool outlier = s.lengths.is_outlier(length, g_options.slow_step_pct);
  const std::uint64_t usual = HP_UNLIKELY(outlier && !window_lengthens_steps()) ? s.lengths.median() : 0;
  consider_profile(number, length, s.lengths);
  s.lengths.add(length);
  if (HP_UNLIKELY(usual != 0)) request_slow_step(number, ms_of(length), ms_of(usual));
  return true;
}

}  // namespace

bool note_step(std::uint64_t number, const void* site) {
  Steps& s = t_steps;
  if (!recording_or_begun(Moment::kGpu)) {
    s.last_end_ticks = 0;
    return false;
  }
  // What optimizers told before was told of other moments.
  if (HP_UNLIKELY(s.speaker.optimizer != nullptr)) s = {};
  mark_used(g_hook_hostprobe_step);
  std::uint64_t begin = s.last_end_ticks, end = ticks();
  s.last_end_ticks = end;
  s.number = number;
  const bool is_recorded = begin != 0 && finish_step(g_hook_hostprobe_step, begin, end, number, site);
  if (HP_UNLIKELY(window_state() >= WindowState::kArmed)) mark_window_step();
  return is_recorded;
}

bool end_step(const void* site) {
  Steps& s = t_steps;
  std::uint64_t begin = s.last_end_ticks;
  s.last_end_ticks = 0;
  if (begin == 0 || !recording_or_begun(Moment::kGpu)) return false;
  return finish_step(g_hook_hostprobe_step, begin, ticks(), s.number, site);
}

void note_optimizer_step(const void* optimizer) {
  Steps& s = t_steps;
  if (optimizer == nullptr || g_hook_hostprobe_step.used != 0 || !s.speaker.is(optimizer)) return;
  if (!recording_or_begun(Moment::kPlain)) {
    s.last_end_ticks = 0;
    return;
  }
  mark_used(g_hook_hostprobe_optimizer_step);
  std::uint64_t begin = s.last_end_ticks, end = ticks();
  s.last_end_ticks = end;
  if (begin != 0) finish_step(g_hook_hostprobe_optimizer_step, begin, end, s.number++, nullptr);
}

bool may_end_steps(const void* optimizer) {
  const void* speaker = t_steps.speaker.optimizer;
  return g_hook_hostprobe_step.used == 0 && (speaker == nullptr || speaker == optimizer);
}

double usual_step_ms() {
  const StepLengths& lengths = t_steps.lengths;
  return lengths.count < kStepsNeeded ? 0 : ms_of(lengths.median());
}

void forget_steps() { t_steps = Steps{}; }

}  // namespace hostprobe::probe
