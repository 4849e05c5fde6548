// unpack.h: packed records become records again.
//
// Room 3. Called for every packed block when a file is read, which tells whether it is sound, and again by whoever walks the
// records: so a trace of any length needs memory for one block. probe/pack.cpp draws the bytes. They come from a file that
// anybody may have written, so no number in them is trusted: at most kPackedMost records of 64 bytes come out of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/file.h"

namespace hostprobe::analysis {

// Appends `count` records to `out` (their laps are 0). `bytes` begins with the PackedHead. False: they contradict themselves
// or the codec is unknown, and `out` is as it was.
bool unpack(const std::byte* bytes, std::size_t size, std::uint32_t count, std::vector<Record>& out);

}  // namespace hostprobe::analysis
