// detail.cpp: see detail.h.
#include "probe/record/detail.h"

#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kShortWaitUs = 100;
constexpr std::uint32_t kRarer = 8;  // in a minute still enough to name what takes a tenth of a thread's time

HP_OF_PROCESS Shed g_level{kShedNothing};
HP_OF_PROCESS bool g_switches = false;

}  // namespace

void shed_detail(Shed level, bool switches) {
  g_level = level;
  g_switches = switches;
}

Shed detail_shed() { return g_level; }

bool switches_shed() { return g_switches; }

std::uint32_t times_rarer() { return g_level >= kShedStacks ? kRarer : 1; }

std::uint64_t limit_us(std::uint64_t wanted_us) {
  return g_level >= kShedShortWaits && wanted_us < kShortWaitUs ? kShortWaitUs : wanted_us;
}

}  // namespace hostprobe::probe
