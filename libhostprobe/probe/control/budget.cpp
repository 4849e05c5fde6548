// budget.cpp: see budget.h.
#include "probe/control/budget.h"

#include <stdio.h>

#include "probe/record/hook.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/sources/switches.h"
#include "probe/writer/file/events.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint32_t kRounds = 4;  // of which one records launches
constexpr std::uint64_t kLookNs = 1000000000;
constexpr std::uint64_t kStartNs = 5000000000;  // a start has costs of its own, and a short program is over before

constexpr char kTexts[][2][48] = {  // when it is shed, when it comes back; no pointers, which a start would relocate
    {"", ""},
    {"context switches are not recorded", "context switches are recorded again"},
    {"1 in 8 samples and call stacks", "all samples and call stacks again"},
    {"no samples, < 100 us aggregated", "samples and short waits again"},
    {"launches are sampled, 1 in 4", "all launches are recorded again"}};

HP_OF_PROCESS Shedding g_shedding;
HP_OF_PROCESS std::uint32_t g_round = 0;

HP_OF_PROCESS constinit CostWindow g_window{};

void tell(std::uint32_t before, std::uint64_t cost) {
  std::uint32_t level = g_shedding.level;
  const char* what = level > before ? kTexts[level][0] : level < before ? kTexts[before][1] : kTexts[kShedSwitches][0];
  char text[sizeof EventRow::text];
  if (snprintf(text, sizeof text, "%s: hostprobe costs %.2f %% of wall time, the budget is %g %%", what,
               static_cast<double>(cost) / 1000, static_cast<double>(g_options.budget) / 1000) < 0)
    text[0] = 0;
  note_event(kEventDetail, 0, level, cost, text);
}

void move_recording(std::uint32_t before, std::uint32_t after) {
  __atomic_compare_exchange_n(&g_gate.recording, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Where somebody else has shut the gate meanwhile it stays shut.
void record_launches(bool wanted) {
  if (wanted) return move_recording(kNoLaunches, kEverything);
  move_recording(kSampleDue, kEverything);
  move_recording(kEverything, kNoLaunches);
}

void look_at_cost() {
  const CostReading now = read_cost();
  if (now.ns < g_header.first.monotonic_ns + kStartNs) return;
  if (g_window.count > 0 && now.ns < g_window.readings[g_window.count - 1].ns + kLookNs) return;
  g_window.add(now);
  if (!g_window.is_long_enough(g_shedding.level)) return;
  const std::uint32_t before = g_shedding.level;
  const std::uint64_t cost = g_window.cost();
  g_shedding.switches_weigh = switches_weigh(cost);
  if (!weigh(g_shedding, cost, g_options.budget)) return;
  shed_detail(static_cast<Shed>(g_shedding.level), g_shedding.sheds_switches);
  tell(before, cost);
  g_window = {};
  g_window.add(now);
}

}  // namespace

void CostWindow::add(const CostReading& reading) {
  if (count == kReadings) {
    for (unsigned i = 1; i < kReadings; ++i) readings[i - 1] = readings[i];
    --count;
  }
  readings[count++] = reading;
}

bool weigh(Shedding& s, std::uint64_t cost, std::uint64_t budget) {
  bool over = budget != 0 && cost > budget;
  bool far_over = over && cost > budget * Shedding::kFarOver;
  bool under = budget == 0 || cost < budget / 2;
  s.over = over ? s.over + 1 : 0;
  s.under = under ? s.under + 1 : 0;
  const bool by_switches = s.switches_weigh && !s.sheds_switches;
  if ((far_over || s.over >= Shedding::kWindowsOver) && (by_switches || s.level < kShedLaunches)) {
    if (s.level == kShedNothing)
      s.level = by_switches ? kShedSwitches : kShedStacks;
    else if (!by_switches)
      ++s.level;
    s.sheds_switches = s.sheds_switches || by_switches;
    if (s.gave_back && s.patience() < Shedding::kLongest) ++s.doublings;
    s.gave_back = false;
    s.over = 0;
    return true;
  }
  if (s.level == kShedNothing || (budget != 0 && s.under < s.patience())) return false;
  s.level -= s.level - 1 == kShedSwitches && !s.sheds_switches ? 2 : 1;
  s.sheds_switches = s.sheds_switches && s.level != kShedNothing;
  s.gave_back = true;
  s.under = 0;
  return true;
}

void keep_to_budget() {
  look_at_cost();
  ++g_round;
  record_launches(g_shedding.level < kShedLaunches || g_round % kRounds == 0);
}

}  // namespace hostprobe::probe
