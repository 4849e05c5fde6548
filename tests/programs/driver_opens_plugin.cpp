// driver_opens_plugin PATH lazy|now|deepbind [TIMES]: knows nothing of the driver; opens the plug-in at PATH, lets it work
// and closes it, as often as said. A plug-in that is opened again mostly lies where it lay before.
#include <dlfcn.h>

#include "victim.h"

static int flags_of(const char* way) {
  if (strcmp(way, "lazy") == 0) return RTLD_LAZY | RTLD_LOCAL;
  return RTLD_NOW | RTLD_LOCAL | (strcmp(way, "deepbind") == 0 ? RTLD_DEEPBIND : 0);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  wait_moments(3);
  for (int times = argc > 3 ? atoi(argv[3]) : 1; times > 0; --times) {
    void* plugin = dlopen(argv[1], flags_of(argv[2]));
    if (plugin == nullptr) {
      printf("dlopen: %s\n", dlerror());
      return 1;
    }
    reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_work"))();
    printf("close: %d\n", dlclose(plugin));
  }
  printf("done\n");
}
