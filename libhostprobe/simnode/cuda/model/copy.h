// Copies and fills as Work.
#pragma once
#include "work.h"

namespace simnode {

// Both check their operands; with the node's lock held.
CUresult copy_work(const CUDA_MEMCPY3D& copy, Work* work, bool* pageable_from, bool* pageable_to);
CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS& fill, Work* work);

}  // namespace simnode
