// driver_procaddress 1|2 [own]: one dlsym of cuGetProcAddress (its first or second form), the rest by asking it, or, with
// `own`, by asking the pointer it answered for its own name, as cudart does.
#include "driver_by_lookup.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool second = argv[1][0] == '2';
  open_library(RTLD_NOW);
  use_procaddress(second);
  if (argc > 2) use_its_own_answer(second);
  work_with(find_driver(find_by_procaddress, false), 8);
  work_with(find_driver(find_by_procaddress, true), 9);
  printf("done\n");
}
