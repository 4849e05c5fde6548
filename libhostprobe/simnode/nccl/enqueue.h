// From the operations of one communicator in one group to one kernel launch on the program's stream.
#pragma once
#include "group.h"

namespace simnode::nccl {

// The modelled cost of the host's part, spent on the calling thread; where a missing_rank fault keeps the rank away; then
// the connections, which block until the peers come too.
ncclResult_t prepare(Communicator& communicator, const std::vector<Call>& calls);
ncclResult_t launch(const std::shared_ptr<Communicator>& communicator, const std::vector<Call>& calls);

}  // namespace simnode::nccl
