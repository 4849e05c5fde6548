// new_objects.cpp: see new_objects.h.
#include "probe/writer/new_objects.h"

#include "probe/hooks/python_shim.h"
#include "probe/intercept/loader.h"
#include "probe/intercept/resolve.h"
#include "probe/intercept/routes.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/sanitizer.h"
#include "probe/runtime/start_objects.h"
#include "probe/stacks/python_frames.h"
#include "probe/writer/ending.h"
#include "probe/writer/file/modules.h"

namespace hostprobe::probe {

bool look_at_new_objects() {
  HP_OF_PROCESS static bool g_looked = false;
  if (g_has_sanitizer || (g_looked && !modules_changed())) return true;
  g_looked = true;
  enter_loader();
  scan_new_objects(ScanBy::kLookup);
  const bool opens = allocator_is_libcs();
  LoaderVisit visit(kPatienceMs);
  if (visit && opens) {
    pin_libraries();
    python_frames_find();
  } else {
    const link_map *last, *first = start_objects(last);
    python_frames_find_among(first, last);
  }
  if (visit) {
    find_own_dlsym();
    find_python();
  }
  return leave_loader();
}

}  // namespace hostprobe::probe
