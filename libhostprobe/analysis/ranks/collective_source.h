// collective_source.h: the collective calls of one thread, one after the other, read from its trace as they are asked for.
//
// Room 3. For collective_join.h, which reads those of all ranks side by side. Only blocks with such calls are unpacked, and
// one block at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "collective_kernels.h"
#include "collectives.h"

namespace hostprobe::analysis {

// False: there are no more.
using CollectiveSource = std::function<bool(CollectiveCall&)>;

enum class CollectiveCalls { kOfAll, kMessagesToo };

// One per thread that made any. The timeline and its trace must outlive them. With GPU times where `kernels` has some.
// kOfAll: only what all ranks of a communicator call together.
std::vector<CollectiveSource> collective_sources(const Timeline& timeline,
                                                 std::shared_ptr<const CollectiveKernels> kernels = nullptr,
                                                 CollectiveCalls which = CollectiveCalls::kOfAll);

}  // namespace hostprobe::analysis
