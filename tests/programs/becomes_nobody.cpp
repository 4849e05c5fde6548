// becomes_nobody: a library whose constructor gives up root, while the loader's lock is held and hostprobe's own thread has
// long been waiting for it.
#include "victim.h"

__attribute__((constructor)) static void become_nobody() {
  for (int i = 0; i < 6000; ++i) nap();
  if (setresuid(65534, 65534, 65534) != 0) abort();
}
