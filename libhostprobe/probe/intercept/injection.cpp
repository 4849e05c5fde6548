// injection.cpp: see injection.h.
#include "probe/intercept/injection.h"

#include <stdlib.h>

#include "probe/intercept/loader.h"
#include "probe/record/record_slot.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/options.h"

// Called by its slot: its address is taken too, and a second kind of .plt would not fit layout.ld. clang has no such attribute.
#if __has_attribute(noplt)
extern "C" char* getenv(const char*) noexcept __attribute__((noplt));
#endif

namespace hostprobe::probe {

char* getenv_or_our_path(const char* name) {
  char* value = getenv(name);
  if (value != nullptr || name == nullptr || !same(name, "NVTX_INJECTION64_PATH")) return value;
  dl_phdr_info own{};
  if (!g_options.nvtx || !recording_or_begun(Moment::kPlain)) return nullptr;
  // By the name that the loader has for it: it then opens nothing anew.
  return find_object(reinterpret_cast<const void*>(&getenv_or_our_path), own) ? const_cast<char*>(own.dlpi_name)
                                                                              : nullptr;
}

}  // namespace hostprobe::probe
