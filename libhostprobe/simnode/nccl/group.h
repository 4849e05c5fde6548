// Groups: what a thread calls between ncclGroupStart and ncclGroupEnd is carried out by the outermost ncclGroupEnd, first
// the communicators to be made, then per communicator one kernel launch with all of its operations. A call outside of a
// group is a group of one. For non-blocking communicators another thread carries it out and the call says ncclInProgress.
#pragma once
#include "communicator.h"
#include "work.h"

#include <functional>
#include <memory>

namespace simnode::nccl {

struct Call {
  std::shared_ptr<Communicator> communicator;
  CUstream stream;
  std::vector<Work> works;
};

// Something that makes a communicator: its result becomes the communicator's state.
struct Making {
  std::shared_ptr<Communicator> communicator;
  ncclComm_t* handle;
  std::function<ncclResult_t()> body;
};

void group_start();
ncclResult_t group_end();
ncclResult_t group_estimate(float* microseconds);  // ncclGroupSimulateEnd: drops the group instead of launching it

ncclResult_t add_to_group(Call call);
ncclResult_t add_to_group(Making making);
// An argument check that failed inside a group also fails its end.
ncclResult_t note_error(ncclResult_t result);

}  // namespace simnode::nccl
