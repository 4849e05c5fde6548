// driver_plt: linked to libcuda.so.1, calls it directly.
#include "driver_by_plt.h"

int main() {
  const Driver driver = driver_by_plt();
  work_with(driver, 10);
  call_ptsz_functions(set_up(driver));
  printf("done\n");
}
