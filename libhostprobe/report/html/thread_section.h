// thread_section.h: what the threads of a run did with their time, where they waited, and what the machine took from them.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

void add_threads(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
