// nccl_type.h: how many bytes an element has, by its number in nccl.h.
//
// Room 1 (format/). The number stands in the call word of a record (record.h). The only table of it.
#pragma once

#include <cstdint>

namespace hostprobe {

// By ncclDataType_t; 0: not known.
constexpr std::uint64_t bytes_of_nccl_type(std::uint64_t type) {
  constexpr std::uint8_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type < sizeof kBytes ? kBytes[type] : 0;
}

}  // namespace hostprobe
