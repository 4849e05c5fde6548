// identity.cpp: see identity.h.
#include "probe/runtime/identity.h"

#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

HP_START_DATA constinit ClockPair g_load_clock{};
HP_KEPT_BY_CHILDREN std::uint32_t g_forked_from = 0;

}  // namespace

HP_START_CODE ClockPair load_clock() { return g_load_clock; }
HP_START_CODE void note_load(const ClockPair& clock) { g_load_clock = clock; }

std::uint32_t forked_from() { return g_forked_from; }

void note_fork(std::uint32_t parent, const ClockPair& clock) {
  g_forked_from = parent;
  g_load_clock = clock;
}

}  // namespace hostprobe::probe
