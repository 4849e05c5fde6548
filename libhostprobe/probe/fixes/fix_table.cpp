// fix_table.cpp: see fix_table.h.
#include "probe/fixes/fix_table.h"

#include <stdio.h>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {
namespace {

constexpr const Fix* kFixes[] = {
#define HP_FIX(Name, ...) &k##Name##Fix,
#include "hostprobe/fixes.def"
};

// "gc, pin, …"
void write_names(char* out, std::size_t bytes) {
  std::size_t used = 0;
  out[0] = 0;
  for (const Fix* fix : kFixes) {
    const int wrote = snprintf(out + used, bytes - used, "%s%s", used == 0 ? "" : ", ", fix->name);
    if (wrote < 0 || static_cast<std::size_t>(wrote) >= bytes - used) return;
    used += static_cast<std::size_t>(wrote);
  }
}

}  // namespace

const Fix* fix_at(unsigned row) { return row < sizeof kFixes / sizeof *kFixes ? kFixes[row] : nullptr; }

const Fix* fix_named(const char* name) {
  for (const Fix* fix : kFixes)
    if (same(name, fix->name)) return fix;
  return nullptr;
}

void write_unknown(const char* name, char* out, std::size_t bytes) {
  char names[96];
  write_names(names, sizeof names);
  snprintf(out, bytes, "there is no fix '%.40s'; there is: %s", name, names);
}

}  // namespace hostprobe::probe
