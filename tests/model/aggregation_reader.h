// aggregation_reader.h: what the two halves of the model in aggregation.h share: what a call and a record are, and where the reader
// of the living process stands.
#pragma once

#include <bit>

#include "aggregation.h"

namespace hostprobe::model::aggregation {

inline constexpr int kMostCalls = 8;

inline Byte bit(int call) { return static_cast<Byte>(1u << call); }
inline Byte id_of(int owner, int call) { return static_cast<Byte>(owner * kMostCalls + call + 1); }
inline int count(Byte mask) { return std::popcount(mask); }
inline void set(Byte& mask, Byte bits) { mask = static_cast<Byte>(mask | bits); }

inline bool complete(const Chunk& chunk, int slot) {
  return chunk.slots[slot].lap != 0 && chunk.slots[slot].lap == chunk.lap;
}

enum ReaderAt : Byte {
  kBegin,
  kAttach,
  kCopyHead,
  kCopyRecords,
  kLookAgain,
  kLookSerial,
  kCopyRow,
  kLookAggregated,
  kLookOwner,
  kLookSerialAgain,
  kReadFile,
  kDone,
};
inline bool looks_at_sums(const Reader& r) { return r.at > kLookSerial && r.at <= kLookSerialAgain; }

// What the reader may do next.
void add_reader_step(const State& state, const Setup& setup, std::vector<Next>& next);

}  // namespace hostprobe::model::aggregation
