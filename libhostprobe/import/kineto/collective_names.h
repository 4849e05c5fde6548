// collective_names.h: what PyTorch calls an operation and a type of data, in NCCL's words.
//
// Room 3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hostprobe::analysis {

// "_allgather_base" is AllGather; "" for what is no operation that moves data ("wait", "init").
std::string collective_operation(std::string_view name);

// As in nccl.h: "BFloat16" and "c10::BFloat16" are 9; 255 where NCCL has none.
int collective_type(std::string_view name);

}  // namespace hostprobe::analysis
