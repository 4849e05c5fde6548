// symbols_local: opened RTLD_LOCAL by looks_up_symbols; its symbols are visible by RTLD_DEFAULT only to itself.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) int only_here() { return 7; }
extern "C" __attribute__((visibility("default"))) int found_by_default() {
  auto* found = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "only_here"));
  return found == nullptr ? -1 : found();
}
