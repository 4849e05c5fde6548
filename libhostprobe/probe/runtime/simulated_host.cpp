// simulated_host.cpp: see simulated_host.h.
#include "probe/runtime/simulated_host.h"

#include <stdlib.h>
#include <string.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/rank.h"

namespace hostprobe::probe {

HP_START_DATA constinit ClockError g_clock_error{};

namespace {

HP_KEPT_BY_CHILDREN int g_host = -1;

// The number at this place of a list; 0 where the list ends before.
double number_at(const char* list, int place) {
  for (; list != nullptr && place > 0; --place) {
    list = strchr(list, ',');
    if (list != nullptr) ++list;
  }
  return list == nullptr ? 0 : strtod(list, nullptr);
}

__attribute__((noinline)) void read_simulated_host(char** environment, const char* text) {
  int hosts = atoi(text), rank = rank_from(environment), ranks = world_size_from(environment);
  if (hosts < 1 || rank < 0 || ranks <= rank) return;
  if (hosts > ranks) hosts = ranks;
  g_host = static_cast<int>(static_cast<long>(rank) * hosts / ranks);
  g_clock_error.offset_ns =
      static_cast<std::int64_t>(number_at(value_of(environment, "SIMNODE_CLOCK_OFFSET_MS"), g_host) * 1e6);
  g_clock_error.ppm = number_at(value_of(environment, "SIMNODE_CLOCK_PPM"), g_host);
}

}  // namespace

HP_START_CODE void find_simulated_host(char** environment) {
  const char* text = value_of(environment, "SIMNODE_HOSTS");
  if (text != nullptr) read_simulated_host(environment, text);
}

int simulated_host() { return g_host; }

}  // namespace hostprobe::probe
