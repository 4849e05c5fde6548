// driver_mixed: linked to the driver, and asks for it by dlsym on a handle, RTLD_DEFAULT and RTLD_NEXT, and by both forms
// of cuGetProcAddress with both flags, all in one process.
#include "driver_by_lookup.h"
#include "driver_by_plt.h"

int main() {
  work_with(driver_by_plt(), 2);
  open_library(RTLD_NOW | RTLD_NOLOAD);
  void* const handle = g_library;
  for (void* library : {handle, static_cast<void*>(RTLD_DEFAULT), static_cast<void*>(RTLD_NEXT)}) {
    g_library = library;
    work_with(find_driver(find_by_dlsym, false), 3);
    work_with(find_driver(find_by_dlsym, true), 4);
  }
  g_library = handle;
  for (bool second : {false, true}) {
    use_procaddress(second);
    work_with(find_driver(find_by_procaddress, false), 5);
    work_with(find_driver(find_by_procaddress, true), 6);
    use_its_own_answer(second);
    work_with(find_driver(find_by_procaddress, false), 7);
  }
  call_ptsz_functions(set_up(driver_by_plt()));
  printf("done\n");
}
