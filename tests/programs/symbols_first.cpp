// symbols_first: the library in front for looks_up_symbols: has same_name and asks for the next one behind it.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) int same_name() { return 1; }
extern "C" __attribute__((visibility("default"))) int next_of_same_name() {
  auto* next = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "same_name"));
  return next == nullptr ? -1 : next();
}
