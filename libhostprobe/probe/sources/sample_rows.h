// sample_rows.h: what running threads were found doing, until it is in the file.
//
// Room 2 (probe/). The writer thread only. In mode trace the rows go to the file four times a second; in mode flight the last ones are
// kept, and go into a dump, or to the file when the process ends.
#pragma once

#include <cstdint>

#include "format/samples.h"

namespace hostprobe::probe {

inline constexpr std::uint32_t kSampleRows = 8192;  // 256 KiB, touched only as far as they are used

// Where all are taken the oldest goes.
void keep_sample(const SampleRow& row);

// All that are not older than so many ticks (0: however old); what the file does not take stays.
void write_samples(std::uint64_t most_ticks = 0);
// Into a dump: those that mode flight keeps.
void dump_samples();

}  // namespace hostprobe::probe
