// fixes.cpp: see fixes.h.
#include "probe/fixes/fixes.h"

#include <stdio.h>
#include <string.h>

#include "probe/fixes/gc.h"
#include "probe/record/doors.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"

namespace hostprobe::probe {
namespace {

constexpr char kNames[] = "gc";

// False: there is none of that name.
bool want(const char* name, bool on) {
  if (same(name, "none")) return true;
  if (!same(name, "gc")) return false;
  want_gc_fix(on);
  return true;
}

}  // namespace

void begin_fixes() {
  char list[sizeof g_options.fix];
  memcpy(list, g_options.fix, sizeof list);
  char* rest = nullptr;
  for (char* name = strtok_r(list, ", ", &rest); name != nullptr; name = strtok_r(nullptr, ", ", &rest))
    if (!want(name, true))
      say("HOSTPROBE_FIX: there is no fix '%.40s', and nothing is changed for it; there is: %s", name, kNames);
}

void tend_fixes(bool last) { tend_gc_fix(last); }

bool ask_for_fix(const char* words, char* why, std::size_t bytes) {
  const char* name = after(words, "on ");
  const bool on = name != nullptr;
  if (name == nullptr) name = after(words, "off ");
  if (name != nullptr && want(name, on)) return true;
  if (name == nullptr)
    snprintf(why, bytes, "fix wants on or off and a name, not '%.60s'", words);
  else
    snprintf(why, bytes, "there is no fix '%.40s'; there is: %s", name, kNames);
  return false;
}

}  // namespace hostprobe::probe
