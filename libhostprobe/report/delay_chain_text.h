// delay_chain_text.h: the way of a delay through a job, as a table and as data.
//
// Room 3.
#pragma once

#include <cstddef>
#include <string>

#include "answer/run.h"
#include "json_numbers.h"

namespace hostprobe::analysis {

// "": there is no chain.
std::string delay_chain_text(const RunAnswer& run, std::size_t width);
Json delay_chain_json(const RunAnswer& run);

}  // namespace hostprobe::analysis
