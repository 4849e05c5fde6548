// pickle.h: pickles of plain types, protocols 0 to 5.
//
// Room 3. A pickle is a program, and one that may call anything: this reader knows the instructions that make numbers, texts, lists and
// maps, and stops at every other one. Nothing is ever called or loaded. Of one that is cut short what was put together is kept.
#pragma once

#include <string_view>

#include "plain_value.h"

namespace hostprobe::analysis {

PlainReading read_pickle(std::string_view bytes, PlainDocument& document);

}  // namespace hostprobe::analysis
