// driver_opens_plugin PATH lazy|now|deepbind: knows nothing of the driver; opens the plug-in at PATH and lets it work.
#include <dlfcn.h>

#include "victim.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  wait_moments(3);
  const int flags = strcmp(argv[2], "lazy") == 0       ? RTLD_LAZY | RTLD_LOCAL
                    : strcmp(argv[2], "deepbind") == 0 ? RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND
                                                       : RTLD_NOW | RTLD_LOCAL;
  void* plugin = dlopen(argv[1], flags);
  if (plugin == nullptr) {
    printf("dlopen: %s\n", dlerror());
    return 1;
  }
  reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_work"))();
  printf("done\n");
}
