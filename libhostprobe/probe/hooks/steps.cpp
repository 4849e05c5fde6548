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

namespace hostprobe::probe {
namespace {

constexpr unsigned kStepsNeeded = 8;  // before a median means anything

struct Steps {
  std::uint64_t last_end_ticks;  // 0: none yet, or nothing was recorded meanwhile
  std::uint64_t number;          // of the one under way
  std::uint32_t count;           // of all steps
  std::uint64_t lengths[kStepsKept];
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

// Of the steps before this one; 0: too few.
std::uint64_t usual_length(const Steps& s) {
  return s.count < kStepsNeeded ? 0 : median_of(s.lengths, s.count < kStepsKept ? s.count : kStepsKept);
}

void record_step(std::uint64_t begin, std::uint64_t end, std::uint64_t number, const void* site) {
  write_record(g_hook_hostprobe_step, begin, end, number, 0, reinterpret_cast<std::uint64_t>(site));
}

bool finish_step(Steps& s, std::uint64_t begin, std::uint64_t end, std::uint64_t number, const void* site) {
  record_step(begin, end, number, site);
  std::uint64_t length = end - begin, percent = g_options.slow_step_pct;
  std::uint64_t usual = percent == 0 ? 0 : usual_length(s);
  s.lengths[s.count % kStepsKept] = length;
  // The number wraps from twice the ring to once the ring, so that it goes on saying that the ring is full.
  if (++s.count == 2 * kStepsKept) s.count = kStepsKept;
  if (usual != 0 && length * 100 >= usual * percent) report_slow(number, length, usual);
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
  mark_used(g_hook_hostprobe_step);
  std::uint64_t begin = s.last_end_ticks, end = ticks();
  s.last_end_ticks = end;
  s.number = number;
  return begin != 0 && finish_step(s, begin, end, number, site);
}

bool end_step(const void* site) {
  Steps& s = t_steps;
  std::uint64_t begin = s.last_end_ticks;
  s.last_end_ticks = 0;
  if (begin == 0 || !recording_or_begun(Moment::kGpu)) return false;
  return finish_step(s, begin, ticks(), s.number, site);
}
void forget_steps() { t_steps = Steps{}; }

}  // namespace hostprobe::probe
