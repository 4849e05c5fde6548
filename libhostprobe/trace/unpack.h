// unpack.h: packed records become records again.
//
// Room 3. Called for every packed block when a file is read, which tells whether it is sound, and again by whoever walks the
// records: so a trace of any length needs memory for one block. probe/pack.cpp draws the bytes. They come from a file that
// anybody may have written, so no number in them is trusted: at most kPackedMost records of 64 bytes come out of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "format/file.h"
#include "memory_budget.h"
#include "records.h"

namespace hostprobe::analysis {

// Appends `count` records to `out` (their laps are 0). `bytes` begins with the PackedHead. False: they contradict themselves
// or the codec is unknown, and `out` is as it was.
// `expanded`: what expanded_rows() made of them, or nullptr.
bool unpack(const std::byte* bytes, std::size_t size, std::uint32_t count, Records& out,
            const std::uint8_t* expanded = nullptr);

// The block without its compression, which is half of the work of unpacking. Nothing: it is not compressed, it contradicts
// itself, or the budget is used up.
std::optional<HeldBytes> expanded_rows(const std::byte* bytes, std::size_t size, std::uint32_t count,
                                       MemoryBudget& budget);

}  // namespace hostprobe::analysis
