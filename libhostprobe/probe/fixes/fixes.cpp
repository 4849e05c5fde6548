// fixes.cpp: see fixes.h.
#include "probe/fixes/fixes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/fixes/auto.h"
#include "probe/fixes/fix_table.h"
#include "probe/fixes/launching/launch_targets.h"
#include "probe/fixes/placement/pinned_threads.h"
#include "probe/fixes/waiting/thread_slack.h"
#include "probe/record/doors.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"
#include "settings/fix_list.h"

namespace hostprobe::probe {
namespace {

// What stands behind "auto:", which are names of fixes, or "" behind "auto"; null: it is another fix.
const char* names_of_auto(const char* name) {
  const char* rest = after(name, "auto");
  if (rest == nullptr || (*rest != 0 && *rest != ':')) return nullptr;
  return *rest == 0 ? rest : rest + 1;
}

// False: there is none of that name, as `why` says.
bool want(const char* name, bool on, char* why, std::size_t bytes) {
  if (same(name, "none")) return true;
  if (const char* names = names_of_auto(name)) return want_auto(on, names, why, bytes);
  const Fix* fix = fix_named(name);
  if (fix == nullptr) return write_unknown(name, why, bytes), false;
  fix->want(on);
  return true;
}

}  // namespace

void begin_fixes() {
  note_first_slack();
  char name[sizeof g_options.fix], why[192];
  note_job(environ);
  const char* at = g_options.fix;
  for (ListEntry entry; next_fix(at, entry);) {
    memcpy(name, entry.begin, entry.bytes);
    name[entry.bytes] = 0;
    if (!want(name, true, why, sizeof why)) say("HOSTPROBE_FIX: %s; nothing is changed for it", why);
  }
}

void leave_fixes_to_child() {
  leave_fixes_before_exec();
  withdraw_masks();
}

void leave_fixes_before_exec() {
  leave_pinned_cpus();
  leave_own_slack();
}

void tend_fixes(bool last) {
  const Fix* fix;
  for (unsigned row = 0; (fix = fix_at(row)) != nullptr; ++row) fix->tend(last);
  tend_auto(last);
}

void leave_fixes() { leave_launch_queue(); }

bool ask_for_fix(const char* words, char* why, std::size_t bytes) {
  const char* name = after(words, "on ");
  const bool on = name != nullptr;
  if (name == nullptr) name = after(words, "off ");
  if (name != nullptr) return want(name, on, why, bytes);
  snprintf(why, bytes, "fix wants on or off and a name, not '%.60s'", words);
  return false;
}

}  // namespace hostprobe::probe
