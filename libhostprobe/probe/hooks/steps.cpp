// steps.cpp: see steps.h. A step is compared with the median of those before it: one slow step does not move a median, and
// a program whose steps become longer for good (a longer sequence length) is slow for sixteen steps only.
#include "probe/hooks/steps.h"

#include <errno.h>
#include <stdio.h>

#include "probe/record/hook.h"
#include "probe/record/trigger.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/options.h"

HP_ROW(kPython, hostprobe_step, "", 0, 0, nullptr, "number", "", "site:code", "", "")
HP_ROW(kPython, hostprobe_optimizer_step, "", 0, 0, nullptr, "number", "", "", "", "")

namespace hostprobe::probe {
namespace {

constexpr unsigned kStepsNeeded = 8;  // before a median means anything

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
  std::uint32_t count;           // of all steps
  std::uint64_t lengths[kStepsKept];
  Speaker speaker;
};
constinit thread_local Steps t_steps{};

// Milliseconds with three digits that count.
void write_ms(std::uint64_t length_ticks, char (&out)[32]) {
  ClockPair now = read_clock_pair(), then = load_clock();
  double ms = static_cast<double>(length_ticks) * 1e-6 * static_cast<double>(now.monotonic_ns - then.monotonic_ns) /
              static_cast<double>(now.ticks - then.ticks);
  snprintf(out, sizeof out, "%.*f ms", ms < 10 ? 2 : ms < 100 ? 1 : 0, ms);
}

void report_slow(std::uint64_t number, std::uint64_t length, std::uint64_t median) {
  int saved = errno;
  char step[32], usual[32], text[sizeof(Trigger::text)];
  write_ms(length, step);
  write_ms(median, usual);
  snprintf(text, sizeof text, "step %llu took %s, the median is %s", static_cast<unsigned long long>(number), step,
           usual);
  request_trigger(kBySlowStep, text);
  errno = saved;
}

unsigned kept_steps(const Steps& s) { return s.count < kStepsKept ? s.count : kStepsKept; }

// Whether a step of that length takes `percent` of the median of those before it. That median is at most so long as more than half
// of them are: no sorting, which would cost more than the rest of the step's mark.
bool is_slow(const Steps& s, std::uint64_t length, std::uint64_t percent) {
  const unsigned kept = kept_steps(s);
  if (percent == 0 || s.count < kStepsNeeded) return false;
  const std::uint64_t bound = length * 100 / percent;
  unsigned within = 0;
  for (unsigned i = 0; i < kept; ++i) within += s.lengths[i] <= bound;
  return within > kept / 2;
}

bool finish_step(const Hook& hook, std::uint64_t begin, std::uint64_t end, std::uint64_t number, const void* site) {
  Steps& s = t_steps;
  write_record(hook, begin, end, number, 0, reinterpret_cast<std::uint64_t>(site));
  const std::uint64_t length = end - begin;
  const std::uint64_t usual =
      HP_UNLIKELY(is_slow(s, length, g_options.slow_step_pct)) ? median_of(s.lengths, kept_steps(s)) : 0;
  s.lengths[s.count % kStepsKept] = length;
  // The number wraps from twice the ring to once the ring, so that it goes on saying that the ring is full.
  if (++s.count == 2 * kStepsKept) s.count = kStepsKept;
  if (HP_UNLIKELY(usual != 0)) report_slow(number, length, usual);
  return true;
}

}  // namespace

std::uint64_t median_of(const std::uint64_t* numbers, unsigned count) {
  std::uint64_t sorted[kStepsKept];
  for (unsigned i = 0; i < count; ++i) {
    unsigned place = i;
    for (; place > 0 && sorted[place - 1] > numbers[i]; --place) sorted[place] = sorted[place - 1];
    sorted[place] = numbers[i];
  }
  return sorted[count / 2];
}

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
  return begin != 0 && finish_step(g_hook_hostprobe_step, begin, end, number, site);
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

void forget_steps() { t_steps = Steps{}; }

}  // namespace hostprobe::probe
