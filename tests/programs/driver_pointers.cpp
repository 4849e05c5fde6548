// driver_pointers: linked to libcuda.so.1, but calls it only through function pointers that lie in its data: a writable
// variable, a constant table (which the loader makes read-only after relocation), and an address taken in code.
#include "driver_by_plt.h"

static PFN_cuLaunchKernel_v4000 g_writable = cuLaunchKernel;
static const struct {
  PFN_cuLaunchKernel_v4000 launch;
  PFN_cuGraphLaunch_v10000 graph_launch;
  PFN_cuStreamSynchronize_v2000 synchronize;
} kTable = {cuLaunchKernel, cuGraphLaunch, cuStreamSynchronize};

int main() {
  Driver driver = driver_by_plt();
  asm volatile("" : "+m"(g_writable));
  driver.launch = g_writable;
  work_with(driver, 4);
  const auto* table = &kTable;
  asm volatile("" : "+r"(table));
  driver.launch = table->launch;
  driver.graph_launch = table->graph_launch;
  driver.stream_synchronize = table->synchronize;
  work_with(driver, 5);
  PFN_cuLaunchKernel_v4000 in_code = cuLaunchKernel;
  asm volatile("" : "+r"(in_code));
  driver.launch = in_code;
  work_with(driver, 6);
  printf("done\n");
}
