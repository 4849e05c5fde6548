// driver_forks: looks the driver up, forks, and works in the child and in the parent with what was found before.
#include "driver_by_lookup.h"

int main() {
  open_library(RTLD_NOW);
  use_procaddress(true);
  const Driver driver = find_driver(find_by_procaddress, false);
  const pid_t child = fork();
  if (child == 0) {
    work_with(driver, 4);
    exit(3);
  }
  work_with(driver, 5);
  print_end_of("child", child);
}
