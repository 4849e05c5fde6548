// driver_uses_variables: calls the driver through the variables that its library exports under the functions' names.
#define cuLaunchKernel declared_cuLaunchKernel
#define cuGraphLaunch declared_cuGraphLaunch
#define cuStreamSynchronize declared_cuStreamSynchronize
#define cuCtxSynchronize declared_cuCtxSynchronize
#include "driver_work.h"
#undef cuLaunchKernel
#undef cuGraphLaunch
#undef cuStreamSynchronize
#undef cuCtxSynchronize

extern "C" {
extern PFN_cuLaunchKernel_v4000 cuLaunchKernel;
extern PFN_cuGraphLaunch_v10000 cuGraphLaunch;
extern PFN_cuStreamSynchronize_v2000 cuStreamSynchronize;
extern PFN_cuCtxSynchronize_v2000 cuCtxSynchronize;
Driver fill_variables();
}

int main() {
  Driver driver = fill_variables();
  driver.launch = cuLaunchKernel;
  driver.graph_launch = cuGraphLaunch;
  driver.stream_synchronize = cuStreamSynchronize;
  driver.context_synchronize = cuCtxSynchronize;
  work_with(driver, 5);
  printf("done\n");
}
