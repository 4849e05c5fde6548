// json_values.h: a JSON text as plain values.
//
// Room 3. By RapidJSON. Of a text that is damaged or cut short what stands before the damage is kept.
#pragma once

#include <string_view>

#include "plain_value.h"

namespace hostprobe::analysis {

// `read_bytes` says where the value ended, so that a text with one on each line can be read on from there.
PlainReading read_json_values(std::string_view text, PlainDocument& document);

}  // namespace hostprobe::analysis
