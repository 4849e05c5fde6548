// frequency.h: how fast CPUs ran, measured (kBlockFrequency).
//
// Room 1 (format/). Written by the probe's writer, read by analysis/trace/.
#pragma once

#include <cstdint>

namespace hostprobe {

//  block:  | FrequencyRow × n |
// One addition that needs the result of the one before takes a cycle on every x86-64 and aarch64, so `additions` in `chain_ticks` are the CPU's
// effective frequency as a multiple of the tick rate, also where the frequency is hidden.
struct FrequencyRow {
  std::uint64_t ticks;
  std::uint32_t additions;
  std::uint32_t chain_ticks;  // the quickest of a few chains, on which the next quickest agreed
  std::uint32_t tid;          // who ran on that CPU
  std::uint16_t cpu;
  std::uint16_t disturbed;  // measurements dropped since the row before
};
static_assert(sizeof(FrequencyRow) == 24);

}  // namespace hostprobe
