// driver_uses_functions: calls the functions of the driver's names that its own library exports.
#define cuLaunchKernel declared_cuLaunchKernel
#define cuGraphLaunch declared_cuGraphLaunch
#define cuStreamSynchronize declared_cuStreamSynchronize
#include "driver_work.h"
#undef cuLaunchKernel
#undef cuGraphLaunch
#undef cuStreamSynchronize

extern "C" {
Driver real_driver();
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void**, void**);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuStreamSynchronize(CUstream);
}

int main() {
  Driver driver = real_driver();
  driver.launch = cuLaunchKernel;
  driver.graph_launch = cuGraphLaunch;
  driver.stream_synchronize = cuStreamSynchronize;
  work_with(driver, 6);
  printf("done\n");
}
