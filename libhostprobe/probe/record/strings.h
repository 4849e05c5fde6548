// strings.h: texts that records name by number (kernels, thread types, Python frames), kept in the segment.
//
// Room 2 (probe/). Texts are only ever added, without locks, from any thread; the same text gets the same id. The hot
// path never comes here: a kernel's name is looked up once and remembered by its handle.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe::probe {

// Id of the text, at most 65 535; 0 when the area is full or the text is empty.
std::uint32_t string_id(const char* text, std::size_t bytes);

}  // namespace hostprobe::probe
