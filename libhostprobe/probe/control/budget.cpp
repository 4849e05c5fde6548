// budget.cpp: see budget.h.
#include "probe/control/budget.h"

#include <stdio.h>

#include "probe/record/hook.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
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

void tell(std::uint32_t before, const Cost& cost, const Load& load) {
  const std::uint32_t level = g_shedding.level;
  const char* what = level > before ? kTexts[level][0] : level < before ? kTexts[before][1] : kTexts[kShedSwitches][0];
  const bool by_cpu = load.cpu > load.threads;
  const std::uint64_t told = by_cpu ? cost.cpu : cost.threads;
  const double bound = static_cast<double>(g_options.budget) / 1000 * (by_cpu ? Load::kCpuOfBudget : 1);
  char text[sizeof EventRow::text];
  if (snprintf(text, sizeof text, "%s: hostprobe takes %.2f %% of %s, %g %% is allowed", what,
               static_cast<double>(told) / 1000, by_cpu ? "CPU time" : "threads' time", bound) < 0)
    text[0] = 0;
  note_event(kEventDetail, 0, level, told, text);
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
  const Cost cost = g_window.cost();
  const Load load = load_of(cost, g_options.budget);
  if (!weigh(g_shedding, load)) return;
  shed_detail(static_cast<Shed>(g_shedding.level), g_shedding.sheds_switches);
  tell(before, cost, load);
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

Load load_of(const Cost& cost, std::uint64_t budget) {
  if (budget == 0) return {};
  Load load{.limited = true};
  load.threads = cost.threads * Load::kAllowed / budget;
  load.cpu = cost.cpu * Load::kAllowed / (budget * Load::kCpuOfBudget);
  for (unsigned level = 0; level < kShedLevels; ++level) load.worth[level] = cost.of_level[level] >= Load::kWorthIt;
  return load;
}

namespace {

// Switches first, else what is shed next; where that is not worth it, the level behind it. kShedNothing: there is none.
std::uint32_t next_to_shed(const Shedding& s, const Load& load) {
  if (load.worth[kShedSwitches] && !s.sheds_switches) return kShedSwitches;
  for (std::uint32_t level = (s.level > kShedSwitches ? s.level : kShedSwitches) + 1; level < kShedLevels; ++level)
    if (load.worth[level]) return level;
  return kShedNothing;
}

void shed(Shedding& s, std::uint32_t level) {
  s.sheds_switches = s.sheds_switches || level == kShedSwitches;
  if (level > s.level) s.level = level;
  if (s.gave_back && s.patience() < Shedding::kLongest) ++s.doublings;
  s.gave_back = false;
  s.over = 0;
}

}  // namespace

bool weigh(Shedding& s, const Load& load) {
  const std::uint64_t worst = load.worst();
  const bool over = worst > Load::kAllowed, under = worst < Load::kAllowed / 2;
  s.over = over ? s.over + 1 : 0;
  s.under = under ? s.under + 1 : 0;
  if (worst > Load::kAllowed * Shedding::kFarOver || s.over >= Shedding::kWindowsOver)
    if (const std::uint32_t level = next_to_shed(s, load); level != kShedNothing) {
      shed(s, level);
      return true;
    }
  if (s.level == kShedNothing || (load.limited && s.under < s.patience())) return false;
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
