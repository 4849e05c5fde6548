// driver_dlsym handle|default|next: not linked to the driver; opens it and finds every function by dlsym.
#include "driver_by_lookup.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool global = strcmp(argv[1], "handle") != 0;
  open_library(RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (strcmp(argv[1], "default") == 0) g_library = RTLD_DEFAULT;
  if (strcmp(argv[1], "next") == 0) g_library = RTLD_NEXT;
  work_with(find_driver(find_by_dlsym, false), 6);
  work_with(find_driver(find_by_dlsym, true), 7);
  printf("done\n");
}
