// driver_stays [hangs]: launches a kernel every 2 ms until SIGTERM; `hangs`: 50 times, and then only waits.
#include "driver_by_plt.h"

static volatile sig_atomic_t g_done = 0;

int main(int argc, char** argv) {
  signal(SIGTERM, [](int) { g_done = 1; });
  const Driver driver = driver_by_plt();
  const DriverState state = set_up(driver);
  sem_t never_posted;
  sem_init(&never_posted, 0, 0);
  for (int i = 0; g_done == 0; ++i) {
    if (argc < 2 || i < 50)
      check(driver.launch(state.kernel, 1, 1, 1, 32, 1, 1, 0, state.stream, nullptr, nullptr), "cuLaunchKernel");
    if (i == 50) tell("ready");
    wait_a_moment(&never_posted, 2000000);
  }
  printf("done\n");
}
