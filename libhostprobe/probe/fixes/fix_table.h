// fix_table.h: all fixes, in the order of fixes.def.
//
// Room 2 (probe/). Nothing here knows one of them by name.
#pragma once

#include <cstddef>

#include "probe/fixes/row/fix.h"

namespace hostprobe::probe {

// The one in that row of the table; null: there are no more.
const Fix* fix_at(unsigned row);
// Null: there is none of that name.
const Fix* fix_named(const char* name);
// "there is no fix 'NAME'; there is: …"
void write_unknown(const char* name, char* out, std::size_t bytes);

}  // namespace hostprobe::probe
